"""What is built for Lambda, looked at without running it: the right machine's, compiled, and nothing else."""

from __future__ import annotations

import _imp
import re
import struct
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import pytest

from infra.manifest import FUNCTIONS
from infra.packages import cuts, trees
from infra.packages.build import build
from infra.packages.bytecode import compile_all
from infra.packages.failed import Failed
from infra.packages.layout import CHECKOUT, LAYERS, function_dir, layer_dir
from infra.packages.platforms import LAMBDA
from infra.packages.sizes import MB, Sizes

pytestmark = pytest.mark.slow

ELF = b"\x7fELF"
AARCH64 = 183
"""`e_machine`. Source: "ELF for the Arm 64-bit Architecture", section 5.1."""
MAGIC = (3571).to_bytes(2, "little") + b"\r\n"
"""Of CPython 3.13, all its patch releases. Source: Include/internal/pycore_magic_number.h."""
UNCHECKED_HASH = 0b01
"""The bytecode names its source's hash, and nobody need look. Source: PEP 552."""

FOREIGN = re.compile(
    r"moto|aws_cdk|constructs|cdk_nag|jsii|pytest|_pytest|hypothesis|mypy|ruff|typer|rich|httpx|uvicorn|starlette"
    r"|baton_sdk|infra|tests|pip|setuptools|boto3|s3transfer",
    re.IGNORECASE,
)
"""What belongs to the client, the laptop, the deployment, the tests, or Lambda's own image."""


@pytest.fixture(scope="module")
def sizes() -> Sizes:
    return build()


def pythons() -> Iterator[Path]:
    for layer in LAYERS:
        yield layer_dir(layer) / "python"


def locked() -> dict[str, str]:
    """Names and versions of what the layer's lock names."""
    lock = (CHECKOUT / "layers/deps/requirements.txt").read_text()
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", lock, re.MULTILINE))


def test_there_is_an_asset_for_each_function_and_layer_and_lambda_takes_them(sizes: Sizes):
    assert [each.name for each in sizes.functions] == [f"functions/{each.name}" for each in FUNCTIONS]
    assert [each.name for each in sizes.layers] == list(LAYERS)
    assert sizes.broken == []
    assert sizes.unzipped < 25 * MB  # of the 250 that Lambda takes: a tenth, or somebody should look why


@pytest.mark.usefixtures("sizes")
def test_a_functions_asset_is_its_handler_alone():
    for function in FUNCTIONS:
        asset = function_dir(function.name)
        assert [path.name for path in trees.files(asset)] == ["handler.py"]
        source = CHECKOUT / "functions" / function.name / "handler.py"
        assert (asset / "handler.py").read_bytes() == source.read_bytes()


@pytest.mark.usefixtures("sizes")
def test_the_layers_hold_what_is_locked_and_nothing_of_others():
    [deps, core] = pythons()
    said = {each.name.lower().replace("_", "-"): each.version for each in distributions(path=[str(deps)])}
    assert said == locked()
    assert [path.name for path in core.iterdir()] == ["baton"]
    top = {path.name.removesuffix(".py") for path in deps.iterdir() if not path.name.endswith(".dist-info")}
    assert not [name for name in top if FOREIGN.fullmatch(name)]


@pytest.mark.usefixtures("sizes")
def test_every_wheel_is_pure_or_of_lambdas_python_and_processor():
    [deps, _] = pythons()
    for notes in deps.glob("*.dist-info/WHEEL"):
        tags = re.findall(r"^Tag: (\S+)$", notes.read_text(), re.MULTILINE)
        assert tags
        fitting = [f"cp313-cp313-{tag}" for tag in LAMBDA.tags]
        assert all(tag.endswith("-none-any") or tag in fitting for tag in tags), (notes, tags)


@pytest.mark.usefixtures("sizes")
def test_every_extension_module_is_for_arm64_and_its_name_is_one_that_lambdas_python_loads():
    binaries = [path for python in pythons() for path in trees.files(python) if path.read_bytes()[:4] == ELF]
    assert binaries
    for path in binaries:
        head = path.read_bytes()[:20]
        assert head[4:6] == b"\x02\x01", f"{path} is not of 64 bits, little endian"
        assert struct.unpack_from("<H", head, 18)[0] == AARCH64, path
        assert path.name.endswith(f".{LAMBDA.cache_tag}-{LAMBDA.machine}-linux-gnu.so")
    assert binaries == [
        path for python in pythons() for path in trees.files(python) if ".so" in path.suffixes
    ]


@pytest.mark.usefixtures("sizes")
def test_every_module_of_the_layers_has_the_bytecode_of_just_that_source():
    for python in pythons():
        modules = {path for path in trees.sources(python) if path.suffix == ".py"}
        compiled = {path for path in trees.files(python) if path.suffix == ".pyc"}
        assert compiled == {_bytecode(path) for path in modules}
        for path in modules:
            header = _bytecode(path).read_bytes()[:16]
            assert header[:4] == MAGIC
            assert int.from_bytes(header[4:8], "little") == UNCHECKED_HASH
            assert header[8:] == _imp.source_hash(int.from_bytes(MAGIC, "little"), path.read_bytes()), path


@pytest.mark.usefixtures("sizes")
def test_nothing_tells_where_or_when_it_was_built():
    for root in [*map(layer_dir, LAYERS), *(function_dir(each.name) for each in FUNCTIONS)]:
        for path in root.rglob("*"):
            assert path.stat().st_mtime == trees.EPOCH
            assert path.stat().st_mode & 0o777 == (0o755 if path.is_dir() else 0o644)
            assert path.name not in cuts.INSTALLERS
        content = b"".join(path.read_bytes() for path in trees.files(root))
        assert str(CHECKOUT).encode() not in content


def test_another_checkout_builds_the_same(tmp_path: Path, sizes: Sizes):
    checkout, dist = tmp_path / "elsewhere", tmp_path / "out"
    for folder in ("layers/core/python", "layers/deps", "functions"):
        (checkout / folder).mkdir(parents=True)
        trees.copy(CHECKOUT / folder, checkout / folder)
    assert build(checkout=checkout, dist=dist) == sizes
    for layer in LAYERS:
        assert trees.digest(layer_dir(layer, dist)) == trees.digest(layer_dir(layer))


def test_a_module_that_does_not_compile_is_refused_by_its_name(tmp_path: Path):
    (tmp_path / "sound.py").write_text("def f(): return 1\n")
    (tmp_path / "broken.py").write_text("def f(:\n")
    with pytest.raises(Failed, match=r"/opt/python/broken\.py"):
        compile_all(tmp_path)


def _bytecode(path: Path) -> Path:
    return path.parent / trees.BYTECODE / f"{path.stem}.{LAMBDA.cache_tag}.pyc"
