r"""Scoring where the data is: one function from a batch of Arrow rows to a row of integers, and two that add them up.

Every engine that hands Arrow batches to a function can score with it: ``datasets.map``, Polars, Spark, Ray. What comes
back is a small table of 64-bit integers, the sums behind a report, which add up in any order and any number of pieces::

    references  predictions                mycelium  examples  iou.score.0  iou.score.1
    [[0, 9]]    [[0, 4]]      statistics
    []          []            ---------->  {...}            2            1     29826161  \
    ...                                                                                   > merge, report
                              ---------->  {...}            3            2            0  /

The report has the same bits as :func:`mycelium.evaluate` of all the rows at once. The settings travel with the numbers,
in the column ``mycelium``: engines drop the metadata of a schema, but no column.
"""

try:
    import pyarrow as _pyarrow  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "pyarrow":
        raise
    raise ImportError('mycelium.arrow needs pyarrow: pip install "mycelium-eval[arrow]"') from error

from mycelium.arrow.functions import merge, report, statistics

__all__ = ["merge", "report", "statistics"]
