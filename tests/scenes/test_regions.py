"""Features of regions: what is in them, how much noise, and how many objects are missed."""

import hashlib

import numpy as np
import pytest

from vsebench.scenes.regions import DIM, MIXING, regions
from vsebench.scenes.sample import Draws, scenes
from vsebench.scenes.settings import Settings
from vsebench.scenes.world import Group, Scene

BACK, FRONT = Group(1, 2, 1, 3, 1), Group(0, 8, 1, 0, 1)
CELL = (0, 0, 256, 256)
COVERED = Scene(2, (BACK, FRONT), (((100, 100),), ((136, 100),)), (CELL, CELL))
MANY = Scene(1, (Group(3, 4, 0, 2, 4),), (tuple((30 + 44 * n, 60) for n in range(4)),), (CELL,))


def expected_features(scene):
    """(object, 32) of the objects in the order of the scene, then the image."""
    rows = []
    for group, centres in zip(scene.groups, scene.centres, strict=True):
        for x, y in centres:
            row = [0.0] * 29 + [x / 256, y / 256, (36, 80)[group.size] / 256]
            row[group.shape] = row[10 + group.colour] = row[19 + group.size] = row[21 + group.texture] = 1.0
            rows.append(row)
    image = [0.0] * 29 + [0.5, 0.5, 1.0]
    image[25 + scene.background] = 1.0
    return [*rows, image]


def features(found):
    return found.vectors.astype(np.float64) @ MIXING / 4


def test_bytes():
    settings = Settings(40)
    digest = hashlib.sha256()
    for n in range(40):
        found = regions((COVERED, MANY)[n % 2], settings, Draws(0, "regions", n))
        assert found.vectors.dtype == found.boxes.dtype == np.float32
        assert found.vectors.shape == (len(found.boxes), DIM) and found.boxes.shape[1] == 4
        digest.update(found.vectors.tobytes() + found.boxes.tobytes())
    assert digest.hexdigest()[:32] == "8603ec1832248ffee61df63a036989f3"


def test_without_noise_the_inverse_gives_the_attributes():
    settings = Settings(60, noise=0.0, miss=0.0)
    for image, scene in enumerate(scenes(settings)):
        found = regions(scene, settings, Draws(0, "regions", image))
        have, want = (found.vectors @ MIXING.astype(np.float32) / 4).tolist(), expected_features(scene)
        assert sorted(have[:-1]) == sorted(want[:-1]) and have[-1] == want[-1]
        x, y, side = np.array(have)[:, 29:].T
        assert np.array_equal(found.boxes, np.stack([x - side / 2, y - side / 2, x + side / 2, y + side / 2], 1))
        assert found.boxes.min() >= 0 and found.boxes.max() <= 1


def test_mixing_is_orthogonal_and_uses_every_dimension():
    assert np.array_equal(MIXING, MIXING.T) and set(MIXING.ravel().tolist()) == {1, -1}
    assert np.array_equal(MIXING @ MIXING, 32 * np.eye(DIM))
    found = regions(MANY, Settings(10, noise=0.0, miss=0.0), Draws(0))
    assert (np.abs(found.vectors) > 0).mean() > 0.9


@pytest.mark.parametrize("noise", [0.1, 0.3, 5.0])
def test_noise(noise):
    settings = Settings(10, noise=noise, miss=0.0)
    rest = {"behind": [], "front": [], "image": []}
    want = expected_features(COVERED)
    for n in range(2000):
        found = regions(COVERED, settings, Draws("noise", n))
        behind = int(found.boxes[0, 0] > found.boxes[1, 0])  # the object behind is left of the other
        for name, row, clean in zip(rest, (behind, 1 - behind, 2), want, strict=True):
            rest[name].append((features(found)[row] - clean) / noise)
    for name, times in (("behind", 2), ("front", 1), ("image", 1)):
        values = np.array(rest[name])
        for part, deviation in ((values[:, :29], times), (values[:, 29:], times / 4)):
            assert abs(part.mean()) < 5 * deviation / part.size**0.5
            assert part.std() == pytest.approx(deviation, rel=0.03)
            assert (
                2.6 < (part**4).mean() / part.var() ** 2 < 3.2
            )  # 2.9 for a sum of 12 uniform numbers, 3 for a normal one
        spread = np.corrcoef(values.T) - np.eye(DIM)
        assert np.abs(spread).max() < 5.5 / len(values) ** 0.5


def test_objects_are_missed_independently():
    settings = Settings(10, noise=0.0, miss=0.3)
    runs = 3000
    kept = np.array([len(regions(MANY, settings, Draws("miss", n)).vectors) - 1 for n in range(runs)])
    assert kept.min() == 1 and kept.max() == 4
    # Of 4 objects a binomial number stays; where none would, one does.
    probability = np.array([4 * 0.7 * 0.3**3 + 0.3**4, 6 * 0.7**2 * 0.3**2, 4 * 0.7**3 * 0.3, 0.7**4])
    counts = np.bincount(kept, minlength=5)[1:]
    assert (np.abs(counts - runs * probability) < 5 * (runs * probability * (1 - probability)) ** 0.5).all()


def test_one_object_stays_and_each_may():
    settings = Settings(10, noise=0.0, miss=0.9)
    lefts = [regions(MANY, settings, Draws("one", n)).boxes[:-1, 0] for n in range(400)]
    alone = [float(left[0]) for left in lefts if len(left) == 1]
    assert min(map(len, lefts)) == 1 and len(alone) > 200
    counts = np.unique(alone, return_counts=True)[1]
    assert len(counts) == 4 and counts.min() > len(alone) / 8


def test_the_order_of_objects_says_nothing():
    settings = Settings(10, noise=0.0, miss=0.0)
    first = [regions(COVERED, settings, Draws("order", n)).boxes[0, 0] for n in range(400)]
    assert 140 < sum(x < 0.3 for x in first) < 260


def test_noise_does_not_change_what_is_missed():
    for n in range(50):
        a, b = (regions(MANY, Settings(10, noise=noise), Draws(n)) for noise in (0.0, 1.0))
        assert np.array_equal(a.boxes, b.boxes)
