"""The page that tells who may do what tells what the contract does."""

import pytest

from baton.api.contract import OPERATIONS
from tests.gate import roles


def test_the_page_is_up_to_date():
    page = roles.PAGE.read_text(encoding="utf-8")
    assert roles.written(page) == page, "run `python -m tests.gate.roles --write`"


def test_each_operation_has_its_line():
    lines = roles.table().splitlines()[2:]
    assert len(lines) == len(OPERATIONS)
    assert "| `GET /v1/health` | anybody | `health`: Whether the service answers. |" in lines
    assert [line for line in lines if line.startswith("| `DELETE /v1/runs/{id}` | operator | `deleteRun`")]
    assert all(line.count("|") == 4 for line in lines)


def test_what_stands_around_the_table_stays():
    page = f"before\n{roles.HEAD}old\n{roles.END}\nafter\n"
    assert roles.written(page) == f"before\n{roles.HEAD}{roles.table()}{roles.END}\nafter\n"
    assert roles.written(roles.written(page)) == roles.written(page)


def test_a_page_without_a_place_for_it_is_refused():
    with pytest.raises(ValueError, match="no place"):
        roles.written("nothing here")


@pytest.mark.parametrize("upto_date", [True, False])
def test_it_says_how_to_bring_it_up_to_date(tmp_path, monkeypatch, capsys, upto_date):
    page = tmp_path / "README.md"
    page.write_text(roles.written(f"{roles.HEAD}{roles.END}") if upto_date else f"{roles.HEAD}{roles.END}")
    monkeypatch.setattr(roles, "PAGE", page)
    monkeypatch.setattr("sys.argv", ["roles"])
    assert roles.main() == (0 if upto_date else 1)
    assert ("--write" in capsys.readouterr().out) == (not upto_date)
    monkeypatch.setattr("sys.argv", ["roles", "--write"])
    assert roles.main() == 0
    monkeypatch.setattr("sys.argv", ["roles"])
    assert roles.main() == 0
