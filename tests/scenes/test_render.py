"""Images of scenes: the same bytes everywhere, and what a person would see in them."""

import hashlib
import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vsebench.scenes import shapes
from vsebench.scenes.draws import Draws
from vsebench.scenes.render import BACKGROUND_RGB, OBJECT_RGB, render
from vsebench.scenes.sample import MOON, _covering, scenes
from vsebench.scenes.settings import Settings
from vsebench.scenes.world import BACKGROUNDS, COLOURS, FRONT, RADIUS, SHAPES, TEXTURES, Group, Scene

SMALL, LARGE = 0, 1
PLAIN = 0
BRIGHTER = 16 + 8  # the most that light and noise change a pixel
# A point of every shape that is far from its edges, in thousandths of the radius.
WITHIN = dict.fromkeys(SHAPES, (0, 0)) | {"ring": (-700, 0), "moon": (-500, 0)}
CSS = {  # the colours that these names have on the web
    "red": (255, 0, 0), "orange": (255, 165, 0), "yellow": (255, 255, 0), "green": (0, 128, 0), "blue": (0, 0, 255),
    "purple": (128, 0, 128), "pink": (255, 192, 203), "white": (255, 255, 255), "black": (0, 0, 0),
}  # fmt: skip


def shows(*objects, background=0):
    """A scene of single objects, each with its centre."""
    groups = tuple(Group(*attributes, 1) for attributes, _ in objects)
    cells = ((0, 0, 256, 256),) * len(objects)
    return Scene(background, groups, tuple((centre,) for _, centre in objects), cells)


def lab(colour):
    """CIELAB (D65) of an sRGB colour, in which distances are about as large as people see them."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in np.asarray(colour) / 255]
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz / (0.9505, 1, 1.089))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


def distance(a, b):
    return float(np.linalg.norm(lab(a) - lab(b)))


def digest(*arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()[:32]


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (16, "4db8fa41ccaf6397f61670dc3b43a3df"),
        (37, "188894e4e9384ddb703d0ef7ef21a3a0"),
        (64, "40680319d5f6526a057bd5adc954bae2"),
        (512, "97c12f147674570b3de56ef4785719d5"),
    ],
)
def test_bytes_of_images(size, expected):
    images = []
    for n in range(9):
        objects = [((s, (s + n) % 9, (s + n // 3) % 2, (s + n) % 4), (40 + 22 * n, 19 * s + 40)) for s in range(10)]
        images.append(render(shows(*objects, background=n % 4), size, Draws(0, "pixels", n)))
    assert all(image.shape == (size, size, 3) and image.dtype == np.uint8 for image in images)
    assert digest(*images) == expected


def test_bytes_of_stamps():
    found = [shapes.stamp(s, z, t, 128) for s, z, t in product(range(len(SHAPES)), range(2), range(len(TEXTURES)))]
    assert digest(*found) == "ccec8b8d86929be58f70a37059a6c8b9"


def test_colours_are_called_by_their_names():
    for name, (main, second, edge) in OBJECT_RGB.items():
        assert min(CSS, key=lambda other, colour=main: distance(CSS[other], colour)) == name
        for variant in (second, edge):  # lighter or darker, of the same hue
            (_, a, b), (_, u, v) = lab(main), lab(variant)
            if name in ("white", "black"):
                assert max(math.hypot(a, b), math.hypot(u, v)) < 1
            else:
                assert a * u + b * v > math.cos(math.radians(30)) * math.hypot(a, b) * math.hypot(u, v)
    assert set(CSS) == set(COLOURS) == set(OBJECT_RGB) and set(BACKGROUNDS) == set(BACKGROUND_RGB)


def test_every_object_stands_out_from_every_background():
    for (main, second, _), behind in product(OBJECT_RGB.values(), BACKGROUND_RGB.values()):
        assert distance(main, behind) > 30
        assert distance(np.mean([main, second], axis=0), behind) > 20
        assert distance(main, second) > 20


@pytest.mark.parametrize("size", [64, 200])
@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_a_plain_object_has_its_colour(shape, size):
    dx, dy = (d * RADIUS[LARGE] / 1000 for d in WITHIN[SHAPES[shape]])
    for colour, background in product(range(len(COLOURS)), range(len(BACKGROUNDS))):
        scene = shows(((shape, colour, LARGE, PLAIN), (100, 140)), background=background)
        pixels = render(scene, size, Draws(colour, background)).astype(int)
        x, y = int((100 + dx) * size / 256), int((140 + dy) * size / 256)
        assert np.abs(pixels[y, x] - OBJECT_RGB[COLOURS[colour]][0]).max() <= BRIGHTER
        assert np.abs(pixels[5, -5] - BACKGROUND_RGB[BACKGROUNDS[background]]).max() <= BRIGHTER


def test_kinds_of_objects_differ():
    for size in (SMALL, LARGE):
        every = [shapes.stamp(s, size, PLAIN, 64) > 0 for s in range(len(SHAPES))]
        for a, b in combinations(every, 2):
            assert (a != b).sum() > 0.15 * min(a.sum(), b.sum())
        for shape in range(len(SHAPES)):
            every = [shapes.stamp(shape, size, texture, 64) for texture in range(len(TEXTURES))]
            for a, b in combinations(every, 2):
                assert (a != b).sum() > 0.1 * (a > 0).sum()


def test_small_patterns_are_stronger_than_noise():
    for shape, colour in product(range(len(SHAPES)), range(len(COLOURS))):
        seen = [
            render(shows(((shape, colour, SMALL, texture), (128, 128))), 64, Draws(0))[27:37, 27:37].astype(int)
            for texture in range(len(TEXTURES))
        ]
        for a, b in combinations(seen, 2):  # of the same draws: the difference has no noise
            assert np.abs(a - b).max() > 3 * 7


@pytest.mark.parametrize(
    ("shape", "share"),
    [
        ("circle", math.pi / 4),
        ("ring", math.pi / 4 * (1 - 0.4**2)),
        ("square", 0.88**2),
        ("diamond", 0.8 / 2),
        ("triangle", 0.87 / 2),
        ("cross", 2 * 0.37 - 0.37**2),
    ],
)
def test_areas(shape, share):
    stamp = shapes.stamp(SHAPES.index(shape), LARGE, PLAIN, 512)
    assert (stamp > 0).mean() == pytest.approx(share, abs=0.003)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([name for name in SHAPES if name in shapes.POLYGONS]),
    st.integers(-1000, 1000),
    st.integers(-1000, 1000),
)
def test_polygons_contain_what_their_corners_surround(name, x, y):
    corners = shapes.POLYGONS[name]
    turned = 0.0  # the angle by which the direction to a corner turns on the way around
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
        ax, ay, bx, by = x0 - x, y0 - y, x1 - x, y1 - y
        if ax * by == ay * bx and ax * bx + ay * by <= 0:
            return  # on the outline
        turned += math.atan2(ax * by - ay * bx, ax * bx + ay * by)
    found = shapes.polygon(np.array([[x]]), np.array([[y]]), corners)
    assert bool(found[0, 0]) == (abs(turned) > math.pi)


@settings(max_examples=25, deadline=None)
@given(st.integers(16, 512), st.integers(0, 1), st.integers(0, 2**32), st.data())
def test_objects_stay_within_their_boxes(size, large, seed, data):
    r = RADIUS[large]
    centre = data.draw(st.tuples(st.integers(r, 256 - r), st.integers(r, 256 - r)))
    shape, texture = data.draw(st.integers(0, len(SHAPES) - 1)), data.draw(st.integers(0, len(TEXTURES) - 1))
    scene = shows(((shape, 0, large, texture), centre))
    changed = (render(scene, size, Draws(seed)) != render(Scene(0, (), (), ()), size, Draws(seed))).any(axis=2)
    ys, xs = np.nonzero(changed)
    for low, high, c in ((xs.min(), xs.max() + 1, centre[0]), (ys.min(), ys.max() + 1, centre[1])):
        assert low * 256 > (c - r) * size - 300 and high * 256 < (c + r) * size + 300  # up to a pixel
    inner = shapes.stamp(shape, large, texture, size) > 0
    assert changed.sum() == pytest.approx(inner.sum() / 16, abs=0.25 * inner.sum() / 16 + 4 * (xs.max() - xs.min() + 2))


def test_no_stamp_leaves_the_image():
    for size, r in product(range(16, 513), RADIUS):
        side = math.ceil(8 * r * size / 256)
        for centre in (r, r + 1, 100, 255 - r, 256 - r):
            first = shapes.start(centre, side, size)
            assert first >= 0 and first + side <= 4 * size
            assert abs(first + side / 2 - 4 * centre * size / 256) <= 0.5


def test_noise_and_light_are_small():
    for background in range(len(BACKGROUNDS)):
        image = render(Scene(background, (), (), ()), 128, Draws("noise", background)).astype(float)
        change = image - BACKGROUND_RGB[BACKGROUNDS[background]]
        assert np.abs(change).max() <= BRIGHTER
        y, x = np.mgrid[:128, :128] / 127 - 0.5
        design = np.stack([np.ones(x.size), x.ravel(), y.ravel()], 1)
        channels = change.reshape(-1, 3)
        plane, *_ = np.linalg.lstsq(design, channels, rcond=None)
        noise = channels - design @ plane
        assert np.abs(plane[0]).max() < 1.1 and np.abs(plane[1:]).max() < 16.5
        assert np.ptp(plane[1:], axis=1).max() < 1  # light has no colour
        assert np.abs(noise).max() < 9.5 and 3 < noise.std() < 3.6
        assert np.abs(np.corrcoef(noise.T) - np.eye(3)).max() < 0.05


def test_light_differs_between_images():
    edges = []
    for n in range(200):
        image = render(Scene(0, (), (), ()), 16, Draws(n)).astype(float).mean(axis=2)
        edges.append((image[:, 12:].mean() - image[:, :4].mean(), image[12:].mean() - image[:4].mean()))
    spread = np.array(edges)
    assert spread.min() < -8 and spread.max() > 8 and np.abs(spread).max() < 16
    assert np.abs(spread.mean(axis=0)).max() < 2 and abs(np.corrcoef(spread.T)[0, 1]) < 0.25


def test_what_is_drawn_later_covers_what_is_drawn_earlier():
    pairs = [(s, a, b) for s in scenes(Settings(300)) for relation, a, b in s.relations if relation == FRONT]
    assert len(pairs) > 30
    nothing = render(Scene(0, (), (), ()), 64, Draws(0))
    for scene, front, behind in pairs:
        both, only = (
            render(Scene(0, tuple(scene.groups[g] for g in k), tuple(scene.centres[g] for g in k), ()), 64, Draws(0))
            for k in ((behind, front), (front,))
        )
        drawn = np.pad((only != nothing).any(axis=2), 1)
        inner = np.logical_and.reduce([drawn[y : y + 64, x : x + 64] for y, x in product(range(3), repeat=2)])
        assert inner.sum() > 50 and np.array_equal(both[inner], only[inner])
        seen = (both != only).any(axis=2)
        assert seen.sum() > 30  # some of the other one remains to be seen


def test_what_is_covered_is_partly_hidden():
    """Of every shape behind every other, at every offset: neither hardly anything nor nearly everything."""
    outlines = {shape: shapes.stamp(shape, LARGE, PLAIN, 256) > 0 for shape in range(len(SHAPES)) if shape != MOON}
    offsets = set()
    for n in range(200):
        (x, y), (other_x, other_y) = (c for (c,) in _covering((0, 0, 256, 256), Draws("offset", n)))
        offsets.add((other_x - x, other_y - y))
    assert len(offsets) == 8
    for (dx, dy), behind, front in product(offsets, outlines.values(), outlines.values()):
        shifted = np.roll(np.pad(front, 4 * 40), (4 * dy, 4 * dx), axis=(0, 1))
        hidden = (np.pad(behind, 4 * 40) & shifted).sum() / behind.sum()
        assert 0.09 < hidden < 0.75


def test_random_bytes():
    draws = Draws(3, "bytes")
    first, second = draws.bytes(40), draws.bytes(40)
    assert (len(first), len(second)) == (40, 40) and first != second
    assert first == hashlib.shake_128(b"3/bytes#0").digest(40) and second == hashlib.shake_128(b"3/bytes#1").digest(40)
    again = Draws(3, "bytes")
    assert again.bytes(10) == first[:10]
    mixed = [Draws(3, "bytes").below(1000), again.below(1000)]
    assert mixed[0] != mixed[1]  # what bytes has used is not drawn again
