from __future__ import annotations

from baton_sdk.cli.outage import Outage


def test_an_outage_is_told_once_and_again_after_a_while():
    said: list[str] = []
    now = [0.0]
    outage = Outage(said.append, "trying again", clock=lambda: now[0])
    for now[0] in (0.0, 1.0, 29.0, 31.0, 32.0):
        outage(OSError(f"at {now[0]:g}"), 1.0)
    assert said == ["at 0; trying again", "at 31; trying again"]
