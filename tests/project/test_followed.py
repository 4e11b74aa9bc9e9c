"""Fixes that name an option, an argument or a function of numpy, followed as they stand: each changes the outcome.

The tables are in ``tests/followed``, an entry for every such fix of the stored messages.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.followed import commands, evaluation, files, sets
from tests.followed.case import By, Followed, fix_of

ROOT = Path(__file__).resolve().parents[2]
FOLLOWED = [*evaluation.FOLLOWED, *files.FOLLOWED, *commands.FOLLOWED, *sets.FOLLOWED]
NAMES = re.compile(r"--[a-z]|\b[a-z_]+=|\bnp\.")  # an option, an argument or a function of numpy
NOT_YET: tuple[str, ...] = ()  # fixes that nothing follows; what has an entry leaves this list, and nothing joins it


def stored() -> dict[str, str]:
    """The fixes of all stored messages, and the test of each."""
    found: dict[str, str] = {}
    for path in sorted(ROOT.glob("tests/*/messages.json")):
        for test, texts in json.loads(path.read_text(encoding="utf-8")).items():
            found.update({fix: f"{path.parent.name}/{test}" for fix in map(fix_of, texts)})
    return found


@pytest.mark.parametrize("entry", [e for e in FOLLOWED if isinstance(e, Followed)], ids=lambda entry: entry.fix[:70])
def test_a_fix_changes_the_outcome(
    entry: Followed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_metrics: None
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VSEBENCH_CACHE", str(tmp_path / "cache"))
    entry.follow()


def test_every_fix_that_names_what_to_type_is_followed() -> None:
    patterns = [*(entry.fix for entry in FOLLOWED), *NOT_YET]
    named = {fix: test for fix, test in stored().items() if NAMES.search(fix)}
    missing = [f"{test}: {fix}" for fix, test in named.items() if not any(re.search(p, fix) for p in patterns)]
    what = "add an entry to tests/followed: the call that is refused, the fix as a call, and what comes of it"
    assert not missing, f"nothing follows {len(missing)} fixes; {what}\n" + "\n".join(missing)


def test_every_entry_is_of_a_stored_fix() -> None:
    fixes = list(stored())
    idle = [p for p in (*(e.fix for e in FOLLOWED), *NOT_YET) if not any(re.search(p, fix) for fix in fixes)]
    assert not idle, f"no stored fix is like these: remove them, or correct their words: {idle}"
    taken = [p for p in NOT_YET if all(any(re.search(e.fix, f) for e in FOLLOWED) for f in fixes if re.search(p, f))]
    assert not taken, f"these have an entry: remove them from NOT_YET: {taken}"


def test_the_tests_that_follow_a_fix_exist() -> None:
    texts = [path.read_text(encoding="utf-8") for path in ROOT.glob("tests/*/test_*.py")]
    named = Counter(name for text in texts for name in re.findall(r"^def (test_\w+)\(", text, re.MULTILINE))
    gone = [entry.test for entry in FOLLOWED if isinstance(entry, By) and named[entry.test] != 1]
    assert not gone, f"no test, or several, have these names: {gone}"
