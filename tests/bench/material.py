"""What runs say in the bench: the same bytes each time, repetitive as logs are or prose as agents write."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

KB = 1024
PROSE_SOURCE = Path(__file__).parents[2] / "LICENSE"
LOG_LINE = "2026-11-29T16:00:00.000Z INFO worker-7 fetched page 42 of 117 in 35 ms, status 200, cache miss; "


def repetitive(size: int) -> str:
    """``size`` characters of one log line over and over."""
    return (LOG_LINE * (size // len(LOG_LINE) + 1))[:size]


def proses(size: int) -> Iterator[str]:
    """Different texts of ``size`` characters each: words of the licence, every one as likely, in random
    order. Without grammar they compress a little less than what a person writes."""
    words = sorted({word for word in PROSE_SOURCE.read_text(encoding="ascii").split() if '"' not in word})
    rng = random.Random(size)
    while True:
        text = ""
        while len(text) < size:
            text += rng.choice(words) + " "
        yield text[:size]


def prose(size: int) -> str:
    """The first of them."""
    return next(proses(size))


def messages(texts: Iterator[str], count: int) -> str:
    """The body of an append of ``count`` messages."""
    return json.dumps([{"type": "stdout", "data": {"line": next(texts)}} for _ in range(count)])


def lines(kind: str, size: int) -> Iterator[str]:
    """Texts of ``size`` characters without end, ``kind`` being "repetitive" or "prose"."""
    if kind == "prose":
        return proses(size)
    return iter(lambda: repetitive(size), None)
