import numpy as np

from vsebench.scenes.draws import Draws
from vsebench.scenes.regions import DIM, MIXING, regions
from vsebench.scenes.sample import scenes
from vsebench.scenes.settings import Settings


def test_without_noise_the_inverse_gives_the_attributes():
    settings = Settings(50, noise=0.0, miss=0.0)
    for image, scene in enumerate(scenes(settings)):
        found = regions(scene, settings, Draws(0, "regions", image))
        features = found.vectors @ MIXING.astype(np.float32) / 4
        assert features.shape == (1 + sum(g.number for g in scene.groups), DIM)
        expected = []
        for group, centres in zip(scene.groups, scene.centres, strict=True):
            for x, y in centres:
                row = [0.0] * 29 + [x / 256, y / 256, (36, 80)[group.size] / 256]
                row[group.shape] = row[10 + group.colour] = row[19 + group.size] = row[21 + group.texture] = 1.0
                expected.append(row)
        row = [0.0] * 29 + [0.5, 0.5, 1.0]
        row[25 + scene.background] = 1.0
        assert sorted(features.tolist()[:-1]) == sorted(expected) and features.tolist()[-1] == row
        centre = (found.boxes[:, :2] + found.boxes[:, 2:]) / 2
        assert np.array_equal(centre, features[:, 29:31])
        assert np.array_equal(found.boxes[:, 2:] - found.boxes[:, :2], features[:, [31, 31]])
