"""No input breaks a reader: valid ones, the cases that a search has found, and changed ones (see ``tests/fuzz``)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fuzz import change, contract
from tests.fuzz.targets import TARGETS, Target
from tests.messages import Refuses
from vsebench.errors import BadInput
from vsebench.files.formats import FORMATS
from vsebench.files.read_pairs import FORMS

CASES = Path(__file__).parents[1] / "fuzz" / "cases"
FOUND = sorted(path for path in CASES.rglob("*") if path.is_file())
DEEP = b"[" * 20_000
HEADER = json.dumps({"__metadata__": {"vsebench": DEEP.decode()}}).encode()
MADE = {  # cases that are too large to be stored
    "run-folder": contract.pack({"run.json": DEEP}),
    "checkpoint": len(HEADER).to_bytes(8, "little") + HEADER,
}
EVERY = pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)


def require(target: Target) -> None:
    if target.missing is not None:
        pytest.skip(f"{target.missing} is not installed")


@EVERY
def test_valid_inputs_are_read(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    require(target)
    read: list[str] = []
    kept = contract._kept

    def noted(call: Callable[[], Any], name: str) -> Any:
        def and_noted() -> Any:
            found = call()
            read.append(name)
            return found

        return kept(and_noted, name)

    monkeypatch.setattr(contract, "_kept", noted)
    for seed in target.seeds():
        read.clear()
        target(seed)
        assert read, f"no reader accepts {seed[:80]!r}"


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_inputs_that_once_broke_a_reader(path: Path) -> None:
    require(TARGETS[path.parent.name])
    TARGETS[path.parent.name](path.read_bytes())


@pytest.mark.parametrize("name", MADE)
def test_large_inputs_that_once_broke_a_reader(name: str) -> None:
    require(TARGETS[name])
    TARGETS[name](MADE[name])


@EVERY
def test_changed_inputs_break_no_reader(target: Target) -> None:
    require(target)
    seeds = target.seeds()

    @settings(
        max_examples=max(5, settings.default.max_examples // 2),
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(st.data())
    def search(data: st.DataObject) -> None:
        target(data.draw(change.changed(target, seeds)))

    search()


def test_every_format_has_a_target() -> None:
    covered = {name for target in TARGETS.values() for name in target.formats}
    read = {f.name for f in FORMATS.values() if f.arrays} | set(FORMS)
    assert covered == read


def test_the_contract_can_be_broken(tmp_path: Path, refuses: Refuses) -> None:
    """Each rule fails for a reader that does not keep it, so that the other tests show something."""

    def refuse(path: Path) -> None:
        raise BadInput("is damaged", where=path, fix="make it again")

    def unnamed(path: Path) -> None:
        raise BadInput("is damaged", fix="make it again")

    def helpless(path: Path) -> None:
        raise BadInput("is damaged", where=path)

    def unexpected(path: Path) -> None:
        raise KeyError("images")

    assert contract.reads(refuse, tmp_path) is None
    for reader in (unnamed, helpless, unexpected):
        refuses(contract.Broken, contract.reads, reader, tmp_path)


def test_limits_of_time_and_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "SECONDS", 0.0)
    with pytest.raises(contract.Broken, match="took"):
        contract.reads(lambda path: sum(range(1 << 20)), tmp_path)
    monkeypatch.setattr(contract, "SECONDS", 60)
    monkeypatch.setattr(contract, "MEMORY", 1 << 20)
    sizes = iter((0, 1 << 24))
    monkeypatch.setattr(contract, "_most_memory", lambda: next(sizes))
    with pytest.raises(contract.Broken, match="16 MiB"):
        contract.reads(lambda path: None, tmp_path)
