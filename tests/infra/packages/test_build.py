"""What is built anew and what is left alone, what is cut, and what is refused; without network or Node."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from infra.manifest import FUNCTIONS
from infra.packages import bytecode, cuts, trees, wheels
from infra.packages.build import build
from infra.packages.failed import Failed
from infra.packages.layout import function_dir, layer_dir
from infra.packages.platforms import LAMBDA, Platform
from infra.packages.sizes import MB, Asset, Sizes


class Workshop:
    """A small checkout, and tools that only write down that they were used."""

    def __init__(self, root: Path) -> None:
        self.checkout, self.dist = root / "checkout", root / "dist"
        self.lock = self.checkout / "layers/deps/requirements.txt"
        self.core = self.checkout / "layers/core/python/baton/__init__.py"
        self.write(self.lock, "six==1.17.0")
        self.write(self.core, "")
        for function in FUNCTIONS:
            self.write(self.handler(function.name), "def handler(event, context): ...\n")
        self.used: list[str] = []
        self.breaks = False

    def handler(self, name: str) -> Path:
        return self.checkout / "functions" / name / "handler.py"

    @staticmethod
    def write(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def install(self, lock: Path, into: Path, platform: Platform) -> None:
        assert platform == LAMBDA
        if self.breaks:
            raise Failed("no network")
        self.used.append("pip")
        self.write(into / "six.py", lock.read_text())
        for service in ("ec2", *cuts.services()):
            self.write(into / "botocore/data" / service / "service-2.json", "{}")

    def compile_all(self, root: Path) -> None:
        self.used.append("node")

    def build(self) -> Sizes:
        self.used.clear()
        return build(checkout=self.checkout, dist=self.dist)


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    made = Workshop(tmp_path)
    monkeypatch.setattr(wheels, "install", made.install)
    monkeypatch.setattr(bytecode, "compile_all", made.compile_all)
    return made


def changed(before: Sizes, after: Sizes) -> list[str]:
    pairs = zip([*before.layers, *before.functions], [*after.layers, *after.functions], strict=True)
    return [one.name for one, other in pairs if one.digest != other.digest]


def test_what_is_up_to_date_is_left_alone(workshop: Workshop):
    first = workshop.build()
    assert workshop.used == ["pip", "node", "node"]
    assert workshop.build() == first
    assert workshop.used == []


def test_a_change_in_a_handler_changes_the_asset_of_its_function_and_no_other(workshop: Workshop):
    first = workshop.build()
    workshop.write(workshop.handler("start"), "def handler(event, context): return 1\n")
    assert changed(first, workshop.build()) == ["functions/start"]
    assert workshop.used == []


def test_a_change_in_core_leaves_the_layer_of_what_it_needs_alone(workshop: Workshop):
    first = workshop.build()
    workshop.write(workshop.core, "changed = True\n")
    assert changed(first, workshop.build()) == ["core"]
    assert workshop.used == ["node"]


def test_what_a_machine_leaves_in_the_sources_changes_nothing_and_is_not_deployed(workshop: Workshop):
    first = workshop.build()
    workshop.write(workshop.core.parent / "__pycache__" / "of.cpython-311.pyc", "bytecode")
    workshop.write(workshop.handler("start").parent / "__pycache__" / "of.cpython-311.pyc", "bytecode")
    assert workshop.build() == first
    assert [path.name for path in trees.files(function_dir("start", workshop.dist))] == ["handler.py"]


def test_what_was_touched_after_it_was_built_is_built_again(workshop: Workshop):
    first = workshop.build()
    (function_dir("start", workshop.dist) / "handler.py").write_text("import os\n")
    (layer_dir("deps", workshop.dist) / "python/six.py").unlink()
    assert workshop.build() == first
    assert workshop.used == ["pip", "node"]


def test_a_build_that_fails_leaves_what_was_there(workshop: Workshop):
    workshop.build()
    layer = layer_dir("deps", workshop.dist)
    before = trees.digest(layer)
    workshop.write(workshop.lock, "six==1.16.0")
    workshop.breaks = True
    with pytest.raises(Failed, match="no network"):
        workshop.build()
    assert trees.digest(layer) == before
    assert [path.name for path in layer.parent.iterdir() if path.name not in ("deps", "core")] == []
    workshop.breaks = False
    workshop.build()
    assert (layer / "python/six.py").read_text() == "six==1.16.0"


def test_the_asset_of_a_function_that_is_no_more_goes(workshop: Workshop):
    workshop.build()
    workshop.write(workshop.dist / "functions/gone/handler.py", "")
    workshop.build()
    assert not (workshop.dist / "functions/gone").exists()


def test_a_hash_is_of_names_rights_and_contents_not_of_times(tmp_path: Path):
    path = tmp_path / "a.py"
    path.write_text("1")
    path.chmod(0o644)
    whole = trees.digest(tmp_path)
    os.utime(path, (1, 1))
    assert trees.digest(tmp_path) == whole
    path.chmod(0o600)
    assert trees.digest(tmp_path) != whole
    trees.settle(tmp_path)
    assert trees.digest(tmp_path) == whole
    path.write_text("2")
    assert trees.digest(tmp_path) != whole
    path.write_text("1")
    path.rename(tmp_path / "b.py")
    assert trees.digest(tmp_path) != whole


def test_cut_are_descriptions_of_services_that_no_function_may_call_and_what_an_installer_noted(
    tmp_path: Path,
):
    kept = ["botocore/data/endpoints.json", "x-1.dist-info/METADATA", "x-1.dist-info/LICENSE"]
    kept += [f"botocore/data/{service}/service-2.json" for service in cuts.services()]
    for name in [*kept, "botocore/data/ec2/service-2.json", "bin/jp.py", "x-1.dist-info/RECORD"]:
        Workshop.write(tmp_path / name, "")
    cuts.cut(tmp_path)
    assert [str(path.relative_to(tmp_path)) for path in trees.files(tmp_path)] == sorted(kept)


def test_a_service_that_botocore_does_not_describe_is_refused(tmp_path: Path):
    Workshop.write(tmp_path / "botocore/data/dynamodb/service-2.json", "")
    with pytest.raises(LookupError, match="events"):
        cuts.cut(tmp_path)


def test_a_lock_with_conditions_is_refused(tmp_path: Path):
    lock = tmp_path / "requirements.txt"
    lock.write_text("six==1.17.0 ; python_full_version < '3.13' \\\n    --hash=sha256:00\n")
    with pytest.raises(Failed, match="condition"):
        wheels.install(lock, tmp_path / "out", LAMBDA)


def test_what_lambda_would_not_take_is_told():
    layer = Asset(name="deps", unzipped=249 * MB, zipped=51 * MB, digest="", made_from="")
    small = Asset(name="functions/start", unzipped=1, zipped=1, digest="", made_from="")
    large = replace(small, name="functions/finish", unzipped=2 * MB)
    assert len(Sizes(layers=[layer], functions=[small]).broken) == 1
    assert len(Sizes(layers=[layer], functions=[small, large]).broken) == 2
    assert Sizes(layers=[replace(layer, zipped=1)], functions=[small]).broken == []
