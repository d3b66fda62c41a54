"""The runs table as a rehearsal has it: read as ever, and never written."""

from __future__ import annotations

from baton.domain.run import Run, Step
from baton.store.dynamo import Write
from baton.store.runs import Changed, Creation, RunStore


class Rehearsal(RunStore):
    """What would be created or changed is looked at, and stays as it is."""

    def create(self, creation: Creation) -> bool:
        """Whether the run would be made: nothing stands at its id."""
        return self.get(creation.run.namespace, creation.run.id) is None

    def change(self, before: Run, step: Step, item: Write | None = None) -> Changed:
        """As if it were done."""
        return Changed.APPLIED
