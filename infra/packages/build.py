"""Builds the assets of a deployment into `dist/`: those that are missing, stale, or not what was built."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from infra.manifest import FUNCTIONS
from infra.packages import bytecode, cuts, trees, wheels
from infra.packages.layout import CHECKOUT, DIST, LAYERS, function_dir, layer_dir
from infra.packages.platforms import LAMBDA
from infra.packages.sizes import Asset, Sizes

LEDGER = "assets.json"


class Part(NamedTuple):
    """One asset to be: where it goes, a hash of all that it is made from, and what makes it in a folder."""

    name: str
    target: Path
    made_from: str
    make: Callable[[Path], None]


def build(*, checkout: Path = CHECKOUT, dist: Path = DIST) -> Sizes:
    """Bring ``dist`` up to date with ``checkout``, and say what each asset weighs. Several may call at once.

    Same input, same assets, byte for byte. What is there, was made from the same input and has not been
    touched since is left alone. Raises Failed, with what was there before still in place.
    """
    dist.mkdir(parents=True, exist_ok=True)
    with (dist / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = _read(dist / LEDGER)
        built = {part.name: _up_to_date(part, known.get(part.name)) for part in _parts(checkout, dist)}
        _forget_all_but(dist / "functions", {function.name for function in FUNCTIONS})
        (dist / LEDGER).write_bytes(msgspec.json.format(msgspec.json.encode(list(built.values()))))
    layers = [built.pop(name) for name in LAYERS]
    return Sizes(layers=layers, functions=list(built.values()))


def _parts(checkout: Path, dist: Path) -> Iterator[Part]:
    lock, core = checkout / "layers/deps/requirements.txt", checkout / "layers/core/python"
    here = Path(__file__).parent
    tools = trees.digest(here, sorted([*here.glob("*.py"), *here.glob("*.mjs")])), *sorted(cuts.services())

    def deps(root: Path) -> None:
        wheels.install(lock, root / "python", LAMBDA)
        cuts.cut(root / "python")
        bytecode.compile_all(root / "python")

    def core_layer(root: Path) -> None:
        trees.copy(core, root / "python")
        bytecode.compile_all(root / "python")

    yield Part("deps", layer_dir("deps", dist), _hash(lock.read_text(), *tools), deps)
    yield Part("core", layer_dir("core", dist), _hash(_of_sources(core), *tools), core_layer)
    for function in FUNCTIONS:
        yield _function(function.name, checkout, dist, tools)


def _function(name: str, checkout: Path, dist: Path, tools: Sequence[str]) -> Part:
    source = checkout / "functions" / name
    return Part(
        f"functions/{name}",
        function_dir(name, dist),
        _hash(_of_sources(source), *tools),
        lambda root: trees.copy(source, root),
    )


def _up_to_date(part: Part, known: Asset | None) -> Asset:
    if known and known.made_from == part.made_from and trees.digest(part.target) == known.digest:
        return known
    part.target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=part.target.parent) as scratch:
        root = Path(scratch) / part.target.name
        root.mkdir()
        part.make(root)
        trees.settle(root)
        # Last: a build that dies halfway leaves nothing that could be taken for one that did not.
        shutil.rmtree(part.target, ignore_errors=True)
        root.rename(part.target)
    return Asset(
        name=part.name,
        unzipped=trees.unzipped_bytes(part.target),
        zipped=trees.zipped_bytes(part.target),
        digest=trees.digest(part.target),
        made_from=part.made_from,
    )


def _forget_all_but(folder: Path, names: set[str]) -> None:
    """Of a function that is no more, its asset."""
    for path in folder.iterdir():
        if path.name not in names:
            shutil.rmtree(path)


def _read(ledger: Path) -> dict[str, Asset]:
    """What was built before. A ledger of another shape, or none, knows of nothing."""
    try:
        assets = msgspec.json.decode(ledger.read_bytes(), type=list[Asset])
    except (FileNotFoundError, msgspec.DecodeError):
        return {}
    return {asset.name: asset for asset in assets}


def _of_sources(root: Path) -> str:
    return trees.digest(root, trees.sources(root))


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
