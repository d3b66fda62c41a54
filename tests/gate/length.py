"""Refuse a module too long to be read in one sitting: `python -m tests.gate.length [ROOT]`."""

import sys
from collections.abc import Iterator
from pathlib import Path

ROOMS = {"layers": 400, "infra": 400, "functions": 400, "tests": 500}


def too_long(root: Path) -> Iterator[str]:
    """One line per module over its room's limit: path, length, limit."""
    for room, limit in ROOMS.items():
        for module in sorted((root / room).rglob("*.py")):
            length = len(module.read_text(encoding="utf-8").splitlines())
            if length > limit:
                yield f"{module.relative_to(root)}: {length} lines, at most {limit} are allowed"


def main() -> int:
    """Print what is too long; the exit code for make."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path.cwd()
    found = list(too_long(root))
    print("\n".join(found) or "length: every module is within its limit")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
