import numpy as np
import pytest

from vsebench.scenes.draws import Draws
from vsebench.scenes.render import render
from vsebench.scenes.sample import scenes
from vsebench.scenes.settings import Settings


@pytest.mark.parametrize("size", [16, 33, 64, 512])
def test_sizes(size):
    for image, scene in enumerate(scenes(Settings(10, size=size))):
        pixels = render(scene, size, Draws(0, "pixels", image))
        assert pixels.shape == (size, size, 3) and pixels.dtype == np.uint8
        assert np.array_equal(pixels, render(scene, size, Draws(0, "pixels", image)))
