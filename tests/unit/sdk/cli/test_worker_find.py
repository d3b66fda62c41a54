"""``baton worker MODULE``: which worker is meant, and what is wrong where none is."""

from __future__ import annotations

import itertools
import sys

import pytest
import typer

from baton_sdk.cli.worker.find import find


class Worker:
    """Stands for the real one."""


numbers = itertools.count()


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of its own name in the current folder, and that name; forgotten with the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)

    def module(text, folder=""):
        name = f"app_of_test_{next(numbers)}"
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{name}.py").write_text(f"from {__name__} import Worker\n{text}\n")
        return name

    yield module
    for name in set(sys.modules) - before:
        if name.startswith(("app_of_test_", "jobs")):
            del sys.modules[name]


def refused(spec):
    with pytest.raises(typer.BadParameter) as caught:
        find(spec, Worker)
    return caught.value.message


def test_the_one_worker_of_a_module_is_found_whatever_its_name(module):
    name = module("it = Worker()\nalso = it\nother = 1")
    assert find(name, Worker) is sys.modules[name].it


def test_a_worker_is_found_in_a_package_below(module):
    name = module("w = Worker()", folder="jobs")
    assert isinstance(find(f"jobs.{name}", Worker), Worker)


def test_of_several_one_is_named(module):
    name = module("a = Worker()\nb = Worker()")
    assert refused(name) == f"{name} has 2 Workers: say {name}:a or {name}:b"
    assert find(f"{name}:b", Worker) is sys.modules[name].b


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ("", "has no Worker: make one, like `worker = baton_sdk.Worker()`"),
        (":w", "has no w"),
        (":", "has no name"),
    ],
)
def test_a_module_without_it_is_told(after, said, module):
    name = module("x = 1")
    assert f"{name} {said}" in refused(name + after)


def test_what_is_named_must_be_a_worker(module):
    name = module("x = 1")
    assert refused(f"{name}:x") == f"{name}:x is no Worker, but int"


@pytest.mark.parametrize("spec", ["nobody_has_this", "nobody_has_this.app", "nobody_has_this:worker"])
def test_a_module_that_is_not_there_is_told_with_the_place(spec, module, tmp_path):
    assert refused(spec) == f"there is no module nobody_has_this in {tmp_path}, nor is one installed"


def test_a_module_missing_in_a_package_that_is_there_is_told_whole(module, tmp_path):
    module("", folder="jobs")
    assert "no module jobs.nothing" in refused("jobs.nothing")


@pytest.mark.parametrize(
    ("spec", "meant"), [("app.py", "app"), ("jobs/app.py", "jobs.app"), ("./app.py:worker", "app")]
)
def test_a_file_is_not_a_module(spec, meant):
    assert refused(spec) == f"a module is wanted, not its file: {meant}"


@pytest.mark.parametrize("spec", ["", ".", ".app", "my-app", "a b", ":worker"])
def test_what_can_not_name_a_module_is_told(spec):
    assert "is not the name of a module" in refused(spec)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nobody_has_this", "No module named 'nobody_has_this'"),
        ("def f():\n    raise OSError('no disk')\nf()", "OSError: no disk"),
        ("def f(:", "SyntaxError"),
    ],
)
def test_a_module_that_fails_by_itself_shows_where_and_nothing_of_ours(text, said, module, capsys):
    name = module(text)
    with pytest.raises(typer.Exit) as caught:
        find(name, Worker)
    told = capsys.readouterr().err
    assert caught.value.exit_code == 1
    assert said in told and f"{name}.py" in told
    assert "importlib" not in told and "find.py" not in told
