"""What the packages are built for."""

from __future__ import annotations

from typing import NamedTuple

GLIBCS = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
"""What wheels may ask of the system, the newest first. Lambda's python3.13 has glibc 2.34."""


class Platform(NamedTuple):
    """A Python on a Linux of one kind of processor: `3.13`, `aarch64`."""

    python: str
    machine: str

    @property
    def tags(self) -> tuple[str, ...]:
        """The platform tags of wheels that run there."""
        return tuple(f"{glibc}_{self.machine}" for glibc in GLIBCS)

    @property
    def cache_tag(self) -> str:
        """What stands in the names of its bytecode files: `cpython-313`."""
        return f"cpython-{self.python.replace('.', '')}"


LAMBDA = Platform("3.13", "aarch64")
"""What the functions run on: `python3.13`, `arm64` in AWS's words."""
