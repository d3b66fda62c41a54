"""The gate's own check: a module that has grown too long is named."""

import pytest

from tests.gate.length import too_long


@pytest.mark.parametrize(
    ("room", "limit"), [("layers", 400), ("infra", 400), ("functions", 400), ("tests", 500)]
)
def test_one_line_over_the_limit_of_its_room_is_too_long(tmp_path, room, limit):
    module = tmp_path / room / "deep" / "module.py"
    module.parent.mkdir(parents=True)
    module.write_text("x = 1\n" * limit)
    assert list(too_long(tmp_path)) == []
    module.write_text("x = 1\n" * (limit + 1))
    assert list(too_long(tmp_path)) == [
        f"{room}/deep/module.py: {limit + 1} lines, at most {limit} are allowed"
    ]
