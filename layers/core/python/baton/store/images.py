"""What the images of the runs table's stream hold."""

from __future__ import annotations

from baton.domain.run import Run
from baton.store.dynamo import Raw
from baton.store.rows import RunsItem, run_of


def run_in(image: Raw | None) -> Run | None:
    """The run whose row an image is of; None where it is of something else, or there is none."""
    return None if image is None or "lk" not in image else run_of(RunsItem.from_raw_data(image))


def announced_in(image: Raw | None) -> bool:
    """Whether the item calls for the live publisher."""
    return image is not None and "an" in image


def waiting_in(image: Raw | None) -> bool:
    """Whether the item is the row of a run that waits to be claimed: what is announced of it is no ending."""
    return image is not None and "qk" in image
