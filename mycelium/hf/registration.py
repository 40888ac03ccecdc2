"""Making the literal ``evaluate.load("mycelium")`` work, on request.

``evaluate`` has no entry points. What it cannot find on the Hub it looks for in its cache of modules, under
``evaluate_modules/metrics/evaluate-metric--NAME/<64 characters>/NAME.py``; the newest file wins, and a folder of that
kind without the file makes all of them fail. Hence folders appear and disappear here in one step, complete.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

__all__ = ["path", "register", "unregister"]

_FOLDER = "evaluate-metric--mycelium"
#: What the scripts of this library hold, in whatever version, and nobody else's.
_MARK = b"from mycelium.hf.module import Mycelium"


def path() -> str:
    """Return the path of the evaluate module, for ``evaluate.load``.

    It works offline, from any folder, and needs no registration.

    Examples
    --------
    >>> import mycelium.hf
    >>> mycelium.hf.path().endswith("mycelium.py")
    True
    """
    return str(Path(__file__).with_name("mycelium.py"))


def register() -> str:
    """Make ``evaluate.load("mycelium")`` find this library.

    The module is put into the cache of ``evaluate``, where that looks when the Hub has no module of the name: below
    ``HF_MODULES_CACHE``, or ``HF_HOME``, or the home folder. Another cache needs its own registration; a new version of
    the library does not. May be repeated, also by several processes at once.

    Returns
    -------
    str
        The path of the registered file.

    Raises
    ------
    ImportError
        When ``evaluate`` is not installed.
    """
    script = Path(path()).read_bytes()
    parent = _parent()
    for folder in (parent, *list(parent.parents)[:3]):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").touch()
    for folder in _versions(parent):
        if not (folder / "mycelium.py").exists():
            # One such folder hides all others.
            _remove(folder)
    target = parent.joinpath(sha256(script).hexdigest())
    with tempfile.TemporaryDirectory(prefix=".new-", dir=parent) as temporary:
        made = Path(temporary) / "made"
        made.mkdir()
        (made / "__init__.py").touch()
        (made / "mycelium.py").write_bytes(script)
        try:
            os.rename(made, target)
        except OSError:
            # It is there already. Put the file again, so that it is the newest, and whole whatever it was.
            os.replace(made / "mycelium.py", target / "mycelium.py")
            (target / "__init__.py").touch()
    return str(target / "mycelium.py")


def unregister() -> list[str]:
    """Undo :func:`register`.

    Returns
    -------
    list of str
        The paths of the files that were removed, none when nothing was registered. Modules of others under the same
        name stay.

    Raises
    ------
    ImportError
        When ``evaluate`` is not installed.
    """
    removed = []
    for folder in _versions(_parent()):
        script = folder / "mycelium.py"
        with contextlib.suppress(FileNotFoundError):
            if _MARK in script.read_bytes():
                _remove(folder)
                removed.append(str(script))
    return removed


def _parent() -> Path:
    """Return the folder of all modules that ``evaluate`` has cached under the name, wherever its cache is."""
    try:
        from evaluate import config
    except ImportError as error:
        raise ImportError('this needs the library evaluate: pip install "mycelium-eval[hf]"') from error

    return Path(config.HF_MODULES_CACHE, config.MODULE_NAME_FOR_DYNAMIC_MODULES, "metrics", _FOLDER)


def _versions(parent: Path) -> Iterator[Path]:
    """Yield the folders that ``evaluate`` takes for versions of the module."""
    if parent.is_dir():
        yield from sorted(folder for folder in parent.iterdir() if len(folder.name) == 64 and folder.is_dir())


def _remove(folder: Path) -> None:
    """Remove a folder in one step: under another name it is none of the versions."""
    with (
        contextlib.suppress(FileNotFoundError),
        tempfile.TemporaryDirectory(prefix=".old-", dir=folder.parent) as aside,
    ):
        shutil.move(folder, Path(aside) / "gone")
