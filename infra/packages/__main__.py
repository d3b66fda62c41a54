"""`make packages`: builds what is missing or stale, weighs it, refuses what Lambda would not take."""

from __future__ import annotations

import sys

from infra.packages.build import build
from infra.packages.failed import Failed
from infra.packages.sizes import MAX_UNZIPPED, MB


def main() -> int:
    """Build and report; the exit code for make."""
    try:
        sizes = build()
    except Failed as failure:
        print(f"packages: {failure}", file=sys.stderr)
        return 1
    print(f"{'':24}{'unzipped KB':>14}{'zipped KB':>12}")
    for each in [*sizes.layers, *sizes.functions]:
        print(f"{each.name:24}{each.unzipped / 1024:14,.1f}{each.zipped / 1024:12,.1f}")
    print(f"largest function and layers: {sizes.unzipped / MB:.1f} MB; Lambda takes {MAX_UNZIPPED // MB} MB")
    for said in sizes.broken:
        print(f"packages: {said}", file=sys.stderr)
    return 1 if sizes.broken else 0


if __name__ == "__main__":
    sys.exit(main())
