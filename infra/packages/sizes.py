"""What the assets weigh, and what Lambda takes."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

MB = 1024 * 1024

MAX_UNZIPPED = 250 * MB
"""Of a function and its layers together. Source for both: "Lambda quotas", Lambda's developer guide."""
MAX_ZIPPED = 50 * MB
"""Of one asset that is uploaded by itself; through S3, as the CDK does, it is held by the first alone."""


class Asset(msgspec.Struct, frozen=True, kw_only=True):
    """One folder that was built, and the hashes of it and of what it was made from."""

    name: str
    unzipped: int
    zipped: int
    digest: str
    made_from: str


class Sizes(NamedTuple):
    """All assets of a deployment, in bytes."""

    layers: list[Asset]
    functions: list[Asset]

    @property
    def unzipped(self) -> int:
        """The most that a function comes to with all layers."""
        return sum(layer.unzipped for layer in self.layers) + max(each.unzipped for each in self.functions)

    @property
    def broken(self) -> list[str]:
        """The limits of Lambda that are not kept, in words."""
        said = [
            f"{each.name} has {each.zipped:,} bytes zipped, more than {MAX_ZIPPED:,}"
            for each in [*self.layers, *self.functions]
            if each.zipped > MAX_ZIPPED
        ]
        if self.unzipped > MAX_UNZIPPED:
            said.append(f"a function with its layers has {self.unzipped:,} bytes, more than {MAX_UNZIPPED:,}")
        return said
