"""What matplotlib does with tensors: it reaches for NumPy functions that are not ours."""

from __future__ import annotations

import pytest

import tinygrad_edu as tg

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed here")
CALLS = [
    "plot(x, y)", "plot(y)", "hist(y)", "hist(y, bins=x)", "imshow(m)", "scatter(x, y, c=y, s=y)", "bar(x, y)",
    "errorbar(x, y, yerr=y)", "fill_between(x, y, y + 1)", "contourf(m)", "pcolormesh(m)", "boxplot(y)",
    "axhline(y[0])", "xlim(x[0], x[-1])", "text(x[0], y[0], 'here')", "plot([y[0], y[1]])", "stackplot(x, y, y)",
    "hexbin(x, y)",
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_it_draws_tensors(call: str) -> None:
    matplotlib.use("Agg")
    from matplotlib import pyplot

    x = tg.linspace(0, 1, 20)
    try:
        eval(f"pyplot.{call}", {"pyplot": pyplot, "x": x, "y": x.sin().abs(), "m": tg.eye(6)})
        pyplot.gcf().canvas.draw()
    finally:
        pyplot.close("all")
