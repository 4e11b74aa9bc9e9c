"""The wording of messages, one file a folder of tests: ``messages.json``.

A test hands what was said to the fixture ``pinned``, which compares it with the stored text of this test. After a
wording has changed, ``python -m pytest tests/FOLDER --update-messages`` stores the texts anew (without ``-n``), and the
reviewer reads the diff of that file. Only the beginning is compared with a stored text that was cut by hand, because
the rest is the wording of another package.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

NAME = "messages.json"
Pinned = Callable[[object], None]  # the fixture ``pinned``
Refuses = Callable[..., Any]  # the fixture ``refuses``


class Messages:
    """The stored messages of all folders; ``update`` stores those of the tests that run."""

    def __init__(self, update: bool) -> None:
        self.update = update
        self.stored: dict[Path, dict[str, list[str]]] = {}
        self.said: dict[Path, dict[str, list[str]]] = {}

    def of(self, folder: Path) -> dict[str, list[str]]:
        """The stored messages of a folder, by test."""
        if folder not in self.stored:
            path = folder / NAME
            self.stored[folder] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        return self.stored[folder]

    def check(self, folder: Path, test: str, text: str) -> None:
        """Compare the next message of a test with the stored one."""
        said = self.said.setdefault(folder, {}).setdefault(test, [])
        said.append(text)
        if not self.update:
            stored = self.of(folder).get(test, [])
            assert len(stored) >= len(said), f"no message is stored for {test}: run with --update-messages\n{text}"
            assert stored[len(said) - 1]
            assert text.startswith(stored[len(said) - 1])

    def write(self) -> None:
        """Store what was said, beside the messages of tests that did not run."""
        for folder, said in self.said.items():
            for test, texts in said.items():  # what was cut by hand stays cut
                before = self.of(folder).get(test, [])
                pairs = zip(before, texts, strict=False)
                texts[: len(before)] = [old if old and new.startswith(old) else new for old, new in pairs]
            tests = {path.name for path in folder.glob("test_*.py")}
            kept = {test: texts for test, texts in self.of(folder).items() if test.partition("::")[0] in tests}
            text = json.dumps(dict(sorted({**kept, **said}.items())), indent=0, ensure_ascii=False)
            (folder / NAME).write_text(text + "\n", encoding="utf-8")
