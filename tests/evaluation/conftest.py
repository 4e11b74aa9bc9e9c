"""Files that several tests of evaluations read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.evaluation.engines import cache, cluster, folder  # noqa: F401


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Embeddings of 20 images with two captions each, as a file with ids that are words."""
    made = tmp_path_factory.mktemp("own")
    rng = np.random.default_rng(5)
    content = rng.standard_normal((20, 6)).astype(np.float32)
    np.savez(
        made / "A.npz",
        image_embeddings=content,
        text_embeddings=np.repeat(content, 2, axis=0) + rng.standard_normal((40, 6)).astype(np.float32),
        image_ids=[f"im{n:02}" for n in range(20)],
        text_ids=[f"im{n // 2:02}#{n % 2}" for n in range(40)],
    )
    return made
