"""What exec shows is read or not read: nobody but the outlet's own thread waits for it longer than told."""

from __future__ import annotations

import io
import os
import time

import pytest

from baton_sdk.cli.exec.outlet import Outlet, Screen

KB = 1024


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as reader, os.fdopen(writing, "wb") as stream:
        yield reader, stream


def read(reader, size):
    found = bytearray()
    while len(found) < size:
        found += reader.read(size - len(found))
    return bytes(found)


def test_what_nobody_reads_is_kept_to_a_bound_whole_up_to_a_point_and_our_own_words_always(pipe):
    reader, stream = pipe
    outlet = Outlet(stream, room=1, most=256 * KB)
    before = passed = b""
    while not outlet.dropped:
        before, chunk = passed, os.urandom(32 * KB)
        outlet.pass_on(chunk, lambda: True)
        passed += chunk
    assert len(before) >= 256 * KB
    outlet.say(b"end")
    assert not outlet.drain(time.monotonic())
    assert read(reader, len(before) + 3) == before + b"end"
    outlet.pass_on(b"no hole in the middle", lambda: True)
    assert outlet.drain(None)
    outlet.say(b".")
    assert read(reader, 1) == b"."
    outlet.end()


def test_a_reader_is_waited_for_until_told_otherwise(pipe):
    _, stream = pipe
    outlet = Outlet(stream, room=1, most=KB**2)
    outlet.pass_on(bytes(128 * KB), lambda: False)  # more than the pipe takes
    asked = iter([False, False, True])
    outlet.pass_on(b"x", lambda: next(asked))
    assert next(asked, None) is None
    assert not outlet.dropped


def test_room_comes_with_reading_and_nothing_is_lost_where_the_file_does_not_block(pipe):
    reader, stream = pipe
    os.set_blocking(stream.fileno(), False)
    outlet = Outlet(stream, room=1)
    sent, got = os.urandom(256 * KB), b""
    outlet.pass_on(sent, lambda: False)

    def nobody_hurries():
        nonlocal got
        got += reader.read(64 * KB)
        return False

    outlet.pass_on(b"end", nobody_hurries)
    assert got + read(reader, len(sent) + 3 - len(got)) == sent + b"end"
    assert outlet.drain(None)
    outlet.end()


def test_a_reader_who_has_gone_is_not_waited_for(pipe):
    reader, stream = pipe
    reader.close()
    outlet = Outlet(stream, room=1)
    for _ in range(4):
        outlet.pass_on(bytes(128 * KB), lambda: False)
    assert outlet.drain(None)
    assert not outlet.dropped
    outlet.end()


@pytest.mark.parametrize("one", [True, False])
def test_both_streams_into_one_pipe_keep_their_order_and_into_two_do_not_wait_for_each_other(
    one, pipe, monkeypatch
):
    _, stream = pipe
    other = io.TextIOWrapper(io.BytesIO())
    with os.fdopen(os.dup(stream.fileno()), "w") as same, os.fdopen(os.dup(stream.fileno()), "w") as out:
        monkeypatch.setattr("sys.stdout", out)
        monkeypatch.setattr("sys.stderr", same if one else other)
        screen = Screen()
        assert (screen.stdout is screen.stderr) is one
        screen.stdout.pass_on(bytes(128 * KB), lambda: False)  # more than the pipe takes
        screen.stderr.say(b"behind it")
        assert screen.stderr.drain(time.monotonic() + 0.2) is not one
        screen.end()
        monkeypatch.undo()
