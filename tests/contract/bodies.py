"""For each operation that does not take an empty body, by its id: the least that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BODIES: Mapping[str, Any] = {
    "startRun": {"workflow": "w"},
    "finishRun": {"status": "failed"},
    "suspendRun": {"event": "news"},
    "appendToStream": {"type": "x"},
    "republish": {"workflow": "w"},
    "claimRuns": {"worker_id": "w", "workflows": ["w"]},
    "claimRun": {"worker_id": "w"},
    "renewLease": {"worker_id": "w", "attempt": 1},
    "releaseRun": {"worker_id": "w", "attempt": 1},
    "putWorker": {"workflows": [{"name": "w"}]},
    "createToken": {"role": "viewer"},
}
