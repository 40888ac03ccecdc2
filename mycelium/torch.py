"""SpanMetric: the scorer as a torchmetrics metric."""

from __future__ import annotations

import hashlib
from typing import Any

try:
    import torch
    from torchmetrics import Metric
except ModuleNotFoundError as error:
    if error.name not in ("torch", "torchmetrics"):
        raise
    raise ImportError('mycelium.torch needs torch and torchmetrics: pip install "mycelium-eval[torch]"') from error

from mycelium.accumulators import OPTIONS, TYPED_OPTIONS, accumulator, result_names
from mycelium.states import count

__all__ = ["SpanMetric"]

_OPTIONS = frozenset([*OPTIONS, *TYPED_OPTIONS])
_NAMES = {"references": "target", "predictions": "preds"}


class SpanMetric(Metric):  # type: ignore[misc, unused-ignore]
    """Score predicted spans against reference spans, batch by batch and over all processes.

    The state is one vector of 64-bit integers that processes add up, so that the result has the same bits as
    :func:`mycelium.evaluate` of all examples, on however many processes and in whatever order they were seen.

    Parameters
    ----------
    metrics, profile, average, **options
        What to score, and how: the options of :class:`mycelium.Accumulator`. Everything else goes to
        :class:`torchmetrics.Metric` (``sync_on_compute``, ``process_group``, ...). With ``types`` spans are typed, and
        the options those of :class:`mycelium.TypedAccumulator`.
    output : str, optional
        One key of the result, such as ``"character_f1"``: ``compute`` then returns its value alone, as wrappers want
        it that compare values (``MinMaxMetric``, the best step of a ``MetricTracker``).

    Notes
    -----
    * ``compute`` returns a dict with the keys of :meth:`mycelium.Report.flat`. Before any example its values are NaN
      (torchmetrics warns of it), and so are those that ``forward`` returns for a batch without examples.
    * ``half``, ``set_dtype`` and their like leave the counters as they are.
    * Metrics of equal settings share their state in a :class:`torchmetrics.MetricCollection`, others never do.
    * A sampler that repeats examples to even out processes has them counted twice.

    Raises
    ------
    TypeError, ValueError
        When an option is unknown or its value is refused.

    Examples
    --------
    >>> from mycelium.torch import SpanMetric
    >>> metric = SpanMetric(metrics=["iou", "character"])
    >>> metric.update(preds=[[[2, 8]]], target=[[[0, 10]]])
    >>> metric.update(preds=[[[4, 7]], []], target=[[[4, 7]], []])
    >>> metric.compute()["iou"]
    tensor(0.8667, dtype=torch.float64)
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False

    def __init__(
        self,
        *,
        metrics: Any = None,
        profile: str | None = None,
        average: str | None = None,
        output: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**{name: value for name, value in options.items() if name not in _OPTIONS})
        own = {name: value for name, value in options.items() if name in _OPTIONS}
        self._scores = accumulator(metrics=metrics, profile=profile, average=average, **own)
        settings = self._scores.settings
        soft = [key for key, metric in settings.metrics if "soft" in metric.needs]
        if soft:
            raise ValueError(f"{soft[0]} reads probabilities, which update does not take")
        self._keys = result_names(self._scores)
        if output is not None and output not in self._keys:
            raise ValueError(f"there is no output {output!r}; there are {', '.join(self._keys)}")
        self._output = output
        # In a collection, metrics share a state when states of the same name hold the same numbers after one batch; so
        # each kind of settings has a name of its own.
        identity = repr((settings.signature(), [key for key, _ in settings.metrics]))
        self._state = f"counts_{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
        self._examples = self._scores.state_names.index("examples")
        self.add_state(self._state, torch.from_numpy(self._scores.state()), dist_reduce_fx="sum")

    @property
    def counts(self) -> torch.Tensor:
        """What has been counted, shape (s,): the vector of :meth:`mycelium.Accumulator.state`."""
        counts: torch.Tensor = getattr(self, self._state)
        return counts

    def update(self, preds: Any, target: Any, text: Any = None) -> None:
        """Add a batch of examples.

        Parameters
        ----------
        preds, target : batches of span sets
            What :func:`mycelium.as_spans` reads, n rows each; also lists of integer tensors of shape (k, 2), and
            integer tensors of shape (n, k, 2). Tensors hold no labels: typed spans are lists, dicts or Arrow columns.
        text : sequence of str, optional
            The n texts; bounds are checked against them.

        Raises
        ------
        TypeError, ValueError
            When the batch cannot be used as it is; nothing of it is counted then.
        """
        columns = {"references": _on_host(target), "predictions": _on_host(preds), "text": text}
        state = torch.from_numpy(count(self._scores, columns, _NAMES))
        setattr(self, self._state, self.counts + state.to(self.counts.device))

    def compute(self) -> dict[str, torch.Tensor] | torch.Tensor:
        """Return the scores over all examples of all processes.

        Returns
        -------
        dict of str to tensor of shape (), or one such tensor
            Of type float64; float32 on devices that have nothing longer.
        """
        counts = self.counts.cpu().numpy()
        if counts[self._examples]:
            self._scores.reset()
            self._scores.add_state(counts)
            values = self._scores.compute().flat()
        else:
            values = dict.fromkeys(self._keys, float("nan"))
        dtype = torch.float32 if self.counts.device.type == "mps" else torch.float64
        scores = {key: torch.tensor(value, dtype=dtype, device=self.counts.device) for key, value in values.items()}
        return scores if self._output is None else scores[self._output]

    def forward(self, *args: Any, **kwargs: Any) -> dict[str, torch.Tensor] | torch.Tensor:
        """Add a batch as :meth:`update` does, and return its own scores."""
        before = dict(self.__dict__)
        try:
            scores: dict[str, torch.Tensor] | torch.Tensor = super().forward(*args, **kwargs)
        except Exception:
            # torchmetrics sets the sums aside meanwhile; an error must not lose them.
            self.__dict__.update(before)
            raise
        return scores

    def merge_state(self, incoming_state: Any) -> None:
        """Add what another metric with the same settings, or its ``metric_state``, has counted.

        Raises
        ------
        ValueError
            When the settings differ.
        """
        if isinstance(incoming_state, SpanMetric) and incoming_state._state != self._state:
            ours, theirs = (metric._scores.settings.signature() for metric in (self, incoming_state))
            raise ValueError(f"metrics with different settings cannot be merged: {ours} and {theirs}")
        super().merge_state(incoming_state)
        # torchmetrics would go on to return what was computed before, and take this metric for one never updated.
        self._computed = None
        self._update_count += incoming_state._update_count if isinstance(incoming_state, Metric) else 1

    def set_dtype(self, dst_type: str | torch.dtype) -> SpanMetric:
        """Do nothing: counters of any other type would not be exact."""
        return self

    def _apply(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        self._computed = None  # to be computed again, not converted
        return super()._apply(fn, *args, **kwargs)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self._computed = None
        super()._load_from_state_dict(*args, **kwargs)


def _on_host(batch: Any) -> Any:
    """Return tensors as arrays, whether the batch is one or a list of them."""
    if isinstance(batch, torch.Tensor):
        return batch.numpy(force=True)
    if isinstance(batch, (list, tuple)) and any(map(torch.is_tensor, batch)):
        return [row.numpy(force=True) if torch.is_tensor(row) else row for row in batch]
    return batch
