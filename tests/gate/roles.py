"""The table of who may do what, in functions/README.md, as the contract has it: `python -m tests.gate.roles`
says whether the page is up to date, with `--write` it brings it so."""

import sys
from pathlib import Path

from baton.api.contract import OPERATIONS

PAGE = Path(__file__).parents[2] / "functions/README.md"
HEAD = "<!-- Made by `python -m tests.gate.roles --write`: change the contract, not this table. -->\n"
END = "<!-- end -->"


def table() -> str:
    """One line per operation, in the contract's order."""
    lines = ["| route | role | what |", "| --- | --- | --- |"]
    for row in OPERATIONS:
        role = "anybody" if row.role is None else row.role.name.lower()
        lines.append(f"| `{row.method} {row.path}` | {role} | `{row.id}`: {row.summary} |")
    return "\n".join(lines) + "\n"


def written(page: str) -> str:
    """The page with the table as it should be. Raises ValueError where it has no place for one."""
    before, head, rest = page.partition(HEAD)
    _, end, after = rest.partition(END)
    if not head or not end:
        raise ValueError("the page has no place for the table")
    return before + head + table() + end + after


def main() -> int:
    """Write the page, or tell whether it is up to date; the exit code for make."""
    page = PAGE.read_text(encoding="utf-8")
    if "--write" in sys.argv[1:]:
        PAGE.write_text(written(page), encoding="utf-8")
    elif written(page) != page:
        print(f"{PAGE.name} tells other roles than the contract: run `python -m tests.gate.roles --write`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
