"""What the service answers about workflows, hand-offs and tokens; and a service that answers in turn."""

from __future__ import annotations

import httpx

from tests.unit.sdk.service import NOW


def answering(*answers):
    """A handler that gives these answers in turn, and the requests it saw."""
    seen, left = [], list(answers)

    def handler(request):
        seen.append(request)
        answer = left.pop(0)
        return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)

    return handler, seen


def workflow_json(name="report", **over):
    workflow = {
        "name": name, "namespace": "default", "description": None, "target": None, "subscribes": [],
        "batch": None, "backoff": None, "inactivity_timeout_seconds": None, "max_attempts": None,
        "retention_seconds": None, "announced": False, "created_at": NOW, "updated_at": NOW,
    }  # fmt: skip
    return workflow | over


def link_json(workflow="report", event="run.completed:build", **over):
    link = {"workflow": workflow, "event": event, "where": None, "input": None}
    return link | {"batch": None, "announced": False} | over


def republished_json(**over):
    counts = dict.fromkeys(("runs", "created", "existing", "re_owed", "skipped"), 0)
    return counts | {"refused": [], "busy": []} | over


def stats_json(**over):
    return {"owed": 0, "oldest_owed_seconds": None, "due": 0, "owing": [], "complete": True} | over


def owing_json(run_id="r1", **over):
    owing = {"run_id": run_id, "workflow": "build", "attempt": 1, "event": "run.completed:build"}
    return owing | {"subscribers": ["report"], "since": NOW, "why": "its publisher has not come by"} | over


def token_json(id="default_k7q2m4xz", **over):
    token = {
        "id": id, "namespace": "default", "role": "driver", "workflows": None, "description": None,
        "created_at": NOW, "created_by": None, "expires_at": None, "used_at": None,
    }  # fmt: skip
    return token | over


def whoami_json(**over):
    return {"namespace": "default", "role": "admin", "by": None, "token": None} | over


def audited_json(**over):
    done = {"at": NOW, "action": "token.created", "subject": "default_k7q2m4xz"}
    return done | {"by": "k7q2m4xz"} | over


def worker_json(worker_id="w1", **over):
    worker = {"worker_id": worker_id, "runtime": None, "workflows": ["build"]}
    return worker | {"seen_at": NOW, "expires_at": NOW} | over
