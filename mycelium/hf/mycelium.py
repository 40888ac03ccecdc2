"""The evaluate module of mycelium: scores for hallucination-span detection.

evaluate copies this file into a cache and runs it there, so it only fetches the module from the installed library.
"""

# ruff: noqa: F401

if __name__ == "mycelium":
    # Somebody looked for the library and found this file, whose folder comes first on the path: look further.
    import importlib.util
    import os
    import sys

    _here = os.path.dirname(os.path.abspath(__file__))
    _others = [entry for entry in sys.path if os.path.abspath(entry) != _here]
    _specs = (finder.find_spec("mycelium", _others) for finder in sys.meta_path)
    _spec = next((spec for spec in _specs if spec is not None and spec.loader is not None), None)
    if _spec is None or _spec.loader is None:
        raise ImportError('the library is not installed: pip install "mycelium-eval[hf]"')
    sys.modules["mycelium"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["mycelium"])
else:
    try:
        from mycelium.hf.module import Mycelium
    except ImportError as _error:
        raise ImportError(
            'this evaluate module needs the library: pip install "mycelium-eval[hf]". If that is installed, something'
            ' else named "mycelium" comes before it on the path. If it was uninstalled for good, delete the folder that'
            f" holds {__file__}"
        ) from _error

import mycelium  # From: mycelium-eval
