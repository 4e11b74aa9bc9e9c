"""What all tests of the trainer share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache for all tests of this folder, in which the scenes are built once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VSEBENCH_CACHE", str(tmp_path_factory.getbasetemp() / "cache-of-training"))
        yield
