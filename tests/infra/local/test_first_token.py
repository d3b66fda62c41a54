"""The first token's file: its owner's alone, whole or as it was, and nobody else's."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from infra.local.first_token import NotOurs, keep, look


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_it_is_its_owner_s_alone_also_where_there_was_one_that_all_could_read(tmp_path):
    path = tmp_path / "admin.token"
    path.write_text("an old one\n")
    path.chmod(0o644)
    with path.open() as reader:
        keep(path, "bt_new")
        assert reader.read() == "an old one\n"
    assert (path.read_text(), mode(path)) == ("bt_new\n", 0o600)
    assert list(tmp_path.iterdir()) == [path]


def make_link(path):
    path.symlink_to(path.parent / "target")


@pytest.mark.parametrize("make", [make_link, os.mkfifo, Path.mkdir])
def test_what_is_no_regular_file_stays_as_it_is(make, tmp_path):
    path = tmp_path / "admin.token"
    make(path)
    before = path.lstat()
    for refuses in (look, lambda path: keep(path, "bt_new")):
        with pytest.raises(NotOurs, match="stays as it is"):
            refuses(path)
    assert path.lstat() == before
    assert list(tmp_path.iterdir()) == [path]


def test_another_s_file_stays_as_it_is(tmp_path, monkeypatch):
    path = tmp_path / "admin.token"
    path.write_text("theirs")
    monkeypatch.setattr("os.geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(NotOurs, match="not a file of yours"):
        keep(path, "bt_new")
    assert path.read_text() == "theirs"


def test_a_folder_that_is_not_there_is_told_before_anything_is_made(tmp_path):
    with pytest.raises(NotOurs, match="no folder"):
        look(tmp_path / "nowhere" / "admin.token")
    look(tmp_path / "new.token")


def test_a_write_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(_from, _to):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        keep(tmp_path / "admin.token", "bt_new")
    assert list(tmp_path.iterdir()) == []
