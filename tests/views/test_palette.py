"""The palette as a whole: text on every ground, marks beside each other, and what colour-blind people see of it."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from tests.views.test_tokens import contrast
from tinygrad_edu.views.tokens import MARK_TOKENS, TEXT_TOKENS, TOKENS

Colour = tuple[float, float, float]
THEMES = (0, 1)
WASHES = [name for name in TOKENS if name.startswith("wash-")]
each_theme = pytest.mark.parametrize("theme", THEMES, ids=["light", "dark"])

# Seen linear RGB from linear RGB: Machado, Oliveira and Fernandes (2009), severity 1.
EYES = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = TO_XYZ.sum(axis=1)

# Hues that stand beside each other in one figure, and the least distance between two of them for each kind of eye.
TOGETHER = {
    "roles": (("blue", "ochre", "grey", "teal"), (15, 17, 17)),
    "direction": (("blue", "magenta"), (34, 12, 20)),
    "dtype": (("grey", "olive", "teal", "violet", "blue", "vermilion"), (15, 16, 12)),
    "queue": (("grey", "ochre", "teal"), (29, 19, 20)),
    "owners": (("blue", "violet", "magenta", "ochre"), (22, 12, 14)),
}


def lab(colour: str, eyes: str = "normal") -> Colour:
    """CIE L*a*b* (D65) of an sRGB colour, as these eyes see it."""
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    ratios = TO_XYZ @ np.clip(EYES[eyes] @ linear, 0, 1) / WHITE
    x, y, z = (math.cbrt(t) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116 for t in ratios)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one: Colour, two: Colour) -> float:
    """CIEDE2000: about 1 is the least difference that can be seen side by side."""
    (l1, a1, b1), (l2, a2, b2) = one, two
    chroma = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * math.sqrt(chroma**7 / (chroma**7 + 25**7))
    c1, c2 = math.hypot(stretch * a1, b1), math.hypot(stretch * a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, stretch * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2
    light, chroma = (l1 + l2) / 2 - 50, (c1 + c2) / 2
    waves = ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63))
    t = 1 + sum(size * math.cos(math.radians(times * hue + shift)) for size, times, shift in waves)
    d_light = (l2 - l1) / (1 + 0.015 * light**2 / math.sqrt(20 + light**2))
    d_chroma = (c2 - c1) / (1 + 0.045 * chroma)
    d_hue = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn) / 2) / (1 + 0.015 * chroma * t)
    rotation = math.radians(60 * math.exp(-(((hue - 275) / 25) ** 2)))
    tilt = -2 * math.sqrt(chroma**7 / (chroma**7 + 25**7)) * math.sin(rotation)
    return math.sqrt(d_light**2 + d_chroma**2 + d_hue**2 + tilt * d_chroma * d_hue)


# From the test data of Sharma, Wu and Dalal (2005): those on which implementations differ.
KNOWN = [
    ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
    ((50.0, 0.0, 0.0), (50.0, -1.0, 2.0), 2.3669),
    ((50.0, 2.4900, -0.0010), (50.0, -2.4900, 0.0009), 7.1792),
    ((50.0, 2.4900, -0.0010), (50.0, -2.4900, 0.0011), 7.2195),
    ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
    ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
]


@pytest.mark.parametrize("one, two, expected", KNOWN)
def test_the_distance_is_that_of_its_authors(one: Colour, two: Colour, expected: float) -> None:
    assert distance(one, two) == pytest.approx(expected, abs=5e-5)
    assert distance(two, one) == pytest.approx(expected, abs=5e-5)


def test_lab_of_white_grey_and_red() -> None:
    assert lab("#ffffff") == pytest.approx((100, 0, 0), abs=1e-9)
    assert lab("#777777") == pytest.approx((50.03, 0, 0), abs=0.01)
    assert lab("#ff0000") == pytest.approx((53.24, 80.09, 67.20), abs=0.02)
    for eyes in EYES:
        assert lab("#777777", eyes)[1:] == pytest.approx((0, 0), abs=0.05)  # grey is grey to all


# Which text may stand on which wash: ink and the greys on all, a hue on its own, both directions on each other's.
GROUNDS = {
    **dict.fromkeys(("ink", "ink-2", "grey"), WASHES),
    "blue": ["wash-blue", "wash-magenta"],
    "magenta": ["wash-blue", "wash-magenta"],
    "vermilion": ["wash-vermilion"],
}


@each_theme
@pytest.mark.parametrize("token", TEXT_TOKENS)
def test_text_can_be_read_on_paper_on_ground_and_on_its_washes(token: str, theme: int) -> None:
    too_weak = {g: c for g in ("paper", "ground", *GROUNDS[token]) if (c := contrast(token, g, theme)) < 4.5}
    assert too_weak == {}


@each_theme
@pytest.mark.parametrize("text, ground", [("ink", "line"), ("grey", "line"), ("paper", "ink"), ("paper", "ochre")])
def test_text_can_be_read_on_a_highlighted_line_and_on_filled_marks(text: str, ground: str, theme: int) -> None:
    assert contrast(text, ground, theme) >= 4.5


@each_theme
@pytest.mark.parametrize("token", [*MARK_TOKENS, "focus"])
def test_marks_can_be_seen_on_paper_and_ground(token: str, theme: int) -> None:
    assert min(contrast(token, "paper", theme), contrast(token, "ground", theme)) >= 3


@pytest.mark.parametrize("group", TOGETHER)
def test_hues_that_stand_together_can_be_told_apart(group: str) -> None:
    hues, least = TOGETHER[group]
    for eyes, wanted in zip(EYES, least, strict=True):
        for theme in THEMES:
            seen = {hue: lab(TOKENS[hue][theme], eyes) for hue in hues}
            apart = {pair: round(distance(seen[pair[0]], seen[pair[1]]), 1) for pair in combinations(hues, 2)}
            assert {pair: d for pair, d in apart.items() if d < wanted} == {}, f"{eyes}, theme {theme}"
