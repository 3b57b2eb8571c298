"""What a broadcast lab claims, read off its drawing and its text, and held against NumPy and the engine."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu.common.wording import brief, bytes_text, exact
from tinygrad_edu.views.broadcast import frame
from tinygrad_edu.views.broadcast.model import LabState
from tinygrad_edu.views.frame import Figure

NUMPY = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
FEW, MANY = 3, 5  # places of the first axis of three, and of the two others, before those between are left out


def shown_places(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The places of c that are drawn: all along a short axis, else the first ones and the last."""
    limits = [FEW, MANY, MANY][3 - len(shape) :]
    along = [range(n) if n <= most else [*range(most - 2), n - 1] for n, most in zip(shape, limits, strict=True)]
    return list(itertools.product(*along))


def derived(a: Any, b: Any, op: str, g: Any) -> tuple[list[Any], list[Any]]:
    """The engine's gradients of a and b, and every term, by NumPy: both are compared first."""
    leaves = [tg.tensor(x).requires_grad_() for x in (a, b)]
    c = {"+": tg.add, "-": tg.sub, "*": tg.mul, "/": tg.div}[op](*leaves)
    c.backward(tg.tensor(g.astype(c.detach().numpy().dtype)))
    found = [leaf.grad.numpy() for leaf in leaves]
    with np.errstate(all="ignore"):
        slopes = {"+": (1, 1), "-": (1, -1), "*": (b, a), "/": (1 / b, -a / (b * b))}[op]
    terms = [np.broadcast_to(g * slope, g.shape) for slope in slopes]
    for x, gradient, term in zip((a, b), found, terms, strict=True):
        lead = term.ndim - x.ndim
        axes = tuple(i for i in range(term.ndim) if i < lead or x.shape[i - lead] == 1)
        np.testing.assert_allclose(gradient, term.sum(axes, keepdims=True).reshape(x.shape), rtol=1e-4, atol=1e-5)
    return found, terms


def assert_claims(state: LabState, a: Any, b: Any, g: Any) -> None:
    """Every claim of the picture of this state is true of these arrays. ``g`` is what arrives at c."""
    shown = frame(state)
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        assert_refused(shown.text, shown.wide.svg(), a.shape, b.shape)
        return
    with np.errstate(all="ignore"):
        c = NUMPY[state.op](a, b)
    assert_table(shown.text, (a, b, c))
    assert "is the shape of a’s gradient" in shown.ask
    if 0 in shape:
        assert "c has no elements: there is nothing to draw." in shown.text
        assert "<g " not in shown.wide.svg()
        return
    for figure in (shown.wide, shown.narrow):
        assert_forward(figure, (a, b, c), state.op)
    if state.backward is None:
        assert "∂a[" not in shown.text and "gradient" not in re.findall('class="([^"]*)"', shown.wide.svg())
        assert str(a.shape) in re.search("^choices: (.*)$", shown.text, re.M)[1]  # type: ignore[index]
        return
    gradients, terms = derived(a, b, state.op, g)
    for figure in (shown.wide, shown.narrow):
        assert_backward(figure, (a, b), gradients, terms, g)
    assert_sums(shown.text, (a, b), gradients, g)
    assert_why(shown.why, a.shape, b.shape, shape)


def assert_refused(text: str, svg: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """The axes that clash, and none else, are marked."""
    assert "▲ ShapeError" in text
    length = max(len(a), len(b))
    one, two = ((1,) * (length - len(s)) + s for s in (a, b))
    row = re.search("^  c (.*)$", text, re.M)
    assert row
    clash = [m != n and 1 not in (m, n) for m, n in zip(one, two, strict=True)]
    assert [word == "▲" for word in row[1].split()] == clash
    assert "<g " not in svg


def assert_table(text: str, arrays: tuple[Any, Any, Any]) -> None:
    """Bytes, stretched axes and strides are those of NumPy's own views."""
    shape = arrays[2].shape
    for name, array in zip("abc", arrays, strict=True):
        row = re.search(rf"^  {name} (.*)$", text, re.M)
        assert row and bytes_text(array.nbytes) in row[1]
        if name == "c":
            assert row[1].endswith("the result")
            assert list(map(int, row[1].split()[: len(shape)])) == list(shape)
            continue
        view = np.broadcast_to(array, shape)
        lead = len(shape) - array.ndim
        again = [i for i, n in enumerate(shape) if n != 1 and (i < lead or array.shape[i - lead] == 1)]
        told = re.search(r"ax[ie]s ([\d, ]+) stretched: stride ([\d, ]+), no extra bytes", row[1])
        assert [int(i) for i in told[1].split(", ")] == again if told else not again
        if told and 0 not in shape:
            assert {int(s) for s in told[2].split(", ")} == {view.strides[i] for i in again} == {0}


def groups(figure: Figure) -> list[tuple[str, str, str, list[str]]]:
    """Each number that is drawn: what it is linked to, its class, its text, and the terms beside it."""
    found = []
    for g in ET.fromstring(figure.svg()).iter("g"):
        if "data-link" in g.attrib:
            styles = [r.get("class") or "" for r in g.iter("rect") if r.get("class") != "hit"]
            texts = [t.text or "" for t in g.iter("text")]
            found.append((g.attrib["data-link"], styles[0], texts[0], texts[1:]))
    return found


def assert_forward(figure: Figure, arrays: tuple[Any, Any, Any], op: str) -> None:
    """Each place of c reads the numbers that NumPy reads there. A number is solid once, and dotted when read again."""
    a, b, c = arrays
    drawn = [g for g in groups(figure) if g[1] in ("card", "ghost", "picked")]
    expected = []
    for name, array in zip("abc", arrays, strict=True):
        position = np.broadcast_to(np.arange(array.size).reshape(array.shape), c.shape)
        seen: set[int] = set()
        for place in shown_places(c.shape):
            at, value = int(position[place]), np.broadcast_to(array, c.shape)[place]
            expected.append((f"{name}{at}", at in seen, brief(value)))
            seen.add(at)
    assert [(link, style == "ghost", text) for link, style, text, _ in drawn] == expected
    tips = [
        g.get("data-tip", "") for g in ET.fromstring(figure.svg()).iter("g") if g.get("data-link", "").startswith("c")
    ]
    at = shown_places(c.shape)
    parts = (tuple(brief(np.broadcast_to(one, c.shape)[place]) for one in arrays) for place in at)
    wanted = [f"{x} {op} {y} = {z}" for x, y, z in parts]
    assert [tip.split(" = ", 1)[1] for tip in tips if not tip.startswith("∂")] == wanted
    count = re.findall(r"([ab])(?:\[[\d, ]*\])? = \S+, read (once|\d+ times)", figure.svg())
    for name, array in (("a", a), ("b", b)):
        times = c.size // array.size
        assert {said for n, said in count if n == name} == {"once" if times == 1 else f"{times} times"}


def assert_backward(figure: Figure, arrays: tuple[Any, Any], gradients: list[Any], terms: list[Any], g: Any) -> None:
    """Gradients are the engine's; the terms beside each are those of its reads, block by block and line by line."""
    drawn = [one for one in groups(figure) if one[1] in ("gradient", "now-backward")]
    places = shown_places(g.shape)
    arrived = [one for one in drawn if one[0].startswith("c")]
    assert [(link, text) for link, _, text, _ in arrived] == [
        (f"c{np.ravel_multi_index(p, g.shape) if p else 0}", brief(g[p])) for p in places
    ]
    whole = len(places) == g.size
    for name, array, gradient, term in zip("ab", arrays, gradients, terms, strict=True):
        position = np.broadcast_to(np.arange(array.size).reshape(array.shape), g.shape)
        mine = [one for one in drawn if one[0].startswith(name)]
        assert [one[0] for one in mine] == [f"{name}{i}" for i in dict.fromkeys(int(position[p]) for p in places)]
        for link, _, text, beside in mine:
            number = int(link[1:])
            assert close(text, gradient.flat[number])
            reads = [p for p in places if position[p] == number]
            lines = [line for line in beside if not re.fullmatch(r"\[\d+\]", line)]
            said = [word for line in lines for word in re.findall(r"[+−]?\d[\d.]*(?:e−?\d+)?", line)]
            if array.size == g.size:
                assert beside == []
                continue
            assert len(said) == len(reads)
            assert all(value_of(word) in map(value_of, briefs(term[p])) for word, p in zip(said, reads, strict=True))
            heads = [line for line in beside if re.fullmatch(r"\[\d+\]", line)]
            blocks = list(dict.fromkeys(p[0] for p in reads)) if g.ndim == 3 else []
            summed = g.ndim == 3 and g.shape[0] != 1 and (array.ndim < 3 or array.shape[0] == 1)
            assert heads == [f"[{i}]" for i in blocks] * summed
            if summed and whole:  # the terms of a block stand under its head
                for block, part in zip(blocks, re.split(r"\[\d+\]", " ".join(beside))[1:], strict=True):
                    count = len(re.findall(r"[\d.]+(?:e−?\d+)?", part))
                    assert count == sum(p[0] == block for p in reads)


def value_of(word: str) -> float:
    return float(word.lstrip("+").replace("−", "-"))


def briefs(value: float) -> list[str]:
    """The words of five characters that can stand for a number, whichever way it was computed: it may lie at the edge
    between two of them."""
    return [brief(value + d) for d in (0.0, 1e-6 * abs(value), -1e-6 * abs(value), 1e-6, -1e-6)]


def close(text: str, value: float) -> bool:
    """Whether a word can stand for a number."""
    return text in briefs(value)


def assert_sums(text: str, arrays: tuple[Any, Any], gradients: list[Any], g: Any) -> None:
    """The shapes of the gradients, what is summed over which axes, and each number in the text."""
    shape = g.shape
    for name, array, gradient in zip("ab", arrays, gradients, strict=True):
        head = re.search(rf"^  ∂{name} (\([^)]*\)) (.*)$", text, re.M)
        assert head and head[1] == str(array.shape) == str(gradient.shape)
        lead = len(shape) - array.ndim
        again = [i for i, n in enumerate(shape) if n != 1 and (i < lead or array.shape[i - lead] == 1)]
        assert [int(n) for n in re.findall(r"\d+", head[2])] == again
        told = re.fullmatch(r"(?:Σ (.*) over ax[ei]s? [\d, ]+|(.*), no sum)", head[2])
        assert told and bool(told[1]) is bool(again)
        formula = (told[1] or told[2]).translate(str.maketrans({"∂": "d", "·": "*", "−": "-", "²": "**2"}))
        with np.errstate(all="ignore"):
            term = np.broadcast_to(eval(formula, {"dc": g, "a": arrays[0], "b": arrays[1]}), shape)
            summed = term.sum(axis=tuple(again)).reshape(array.shape)
        np.testing.assert_allclose(summed, gradient, rtol=1e-4, atol=1e-4)
        for index, said in re.findall(rf"^    ∂{name}(\[[\d, ]*\])? (\S+)", text, re.M):
            place = tuple(int(i) for i in re.findall(r"\d+", index))
            assert close(said, gradient[place])


def assert_why(why: str, a: tuple[int, ...], b: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """How often each number was read."""
    words = ("", "", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    found = re.match(r"Each number of `(\w)` was read \*\*(.*) times\*\*", why)
    times = {n: math.prod(shape) // math.prod(s) for n, s in (("a", a), ("b", b))}
    if found is None:
        assert set(times.values()) == {1}
        return
    count = times[found[1]]
    assert found[2] == (words[count] if count < len(words) else brief(count) if count >= 10**4 else exact(count))
