"""``python -m mycelium`` is the command ``mycelium``."""

from mycelium.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
