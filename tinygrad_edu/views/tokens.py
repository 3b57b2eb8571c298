"""The visual tokens, once: two themes, and what each mark looks like. Stylesheet and static pictures come from here."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

# name: (light, dark). T may carry text (at least 4.5 : 1 on paper), M is for marks only (3 : 1): its labels are ink.
TOKENS = {
    "paper": ("#ffffff", "#1c1e21"),
    "ground": ("#f4f5f6", "#26292d"),
    "ink": ("#1b1f24", "#eceef0"),  # T
    "ink-2": ("#59616b", "#a9b1bb"),  # T
    "line": ("#d5d9de", "#43484f"),
    "line-2": ("#7b838d", "#878f99"),  # M
    "focus": ("#1976d2", "#64b5f6"),
    "blue": ("#1a53a3", "#7eb1f7"),  # T
    "magenta": ("#a81c62", "#f78cba"),  # T
    "vermilion": ("#a82a06", "#ff7d4a"),  # T
    "grey": ("#434b57", "#c9d0da"),  # T
    "ochre": ("#a06c0a", "#d89c36"),  # M
    "teal": ("#2f9488", "#3d998c"),  # M
    "violet": ("#957de0", "#8470d6"),  # M
    "olive": ("#8d9128", "#dbe38c"),  # M
    # A little of a hue over paper, for fills behind ink.
    "wash-blue": ("#e4ebf4", "#303b4c"),
    "wash-magenta": ("#f5e4ec", "#483440"),
    "wash-vermilion": ("#f5e5e1", "#493129"),
    "wash-ochre": ("#eee4d3", "#504129"),
    "wash-teal": ("#c5e1de", "#25403f"),
}
HOST = {  # where JupyterLab sets a value, it wins
    "paper": "--jp-layout-color1",
    "ink": "--jp-ui-font-color1",
    "focus": "--jp-brand-color1",
}
TEXT_TOKENS = ("ink", "ink-2", "blue", "magenta", "vermilion", "grey")
MARK_TOKENS = ("line-2", "ochre", "teal", "violet", "olive")

UI = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
MONO = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace'

# What a class in a figure means, as SVG properties. A value that names a token is themed.
MARKS: dict[str, dict[str, str]] = {
    "text": {"fill": "ink", "font-family": UI, "font-size": "12px"},
    "m": {"font-family": MONO},
    "b": {"font-weight": "600"},
    "f13": {"font-size": "13px"},
    "f16": {"font-size": "16px"},
    "f24": {"font-size": "24px"},
    "t2": {"fill": "ink-2"},
    "tv": {"fill": "blue"},
    "tg": {"fill": "magenta"},
    "ta": {"fill": "vermilion"},
    "tp": {"fill": "paper"},
    "paper": {"fill": "paper"},
    "hair": {"stroke": "line", "stroke-width": "1", "fill": "none"},
    "rule": {"stroke": "line-2", "stroke-width": "1", "fill": "none"},
    "axis": {"stroke": "ink", "stroke-width": "1.25", "fill": "none"},
    "axis-recorded": {"stroke": "ink", "stroke-width": "4", "fill": "none"},
    "axis-gap": {"stroke": "paper", "stroke-width": "1.5", "fill": "none"},
    "name": {"fill": "ink"},
    "card": {"fill": "paper", "stroke": "blue", "stroke-width": "1.5"},
    "later": {"fill": "paper", "stroke": "line-2", "stroke-width": "1", "stroke-dasharray": "3 3"},
    "now-forward": {"fill": "wash-blue", "stroke": "blue", "stroke-width": "3"},
    "now-backward": {"fill": "wash-magenta", "stroke": "magenta", "stroke-width": "3"},
    "receives": {"fill": "wash-magenta", "stroke": "blue", "stroke-width": "1.5"},
    "ghost": {"fill": "none", "stroke": "line-2", "stroke-width": "1", "stroke-dasharray": "1 3"},
    "gradient": {"fill": "wash-magenta"},
    "picked": {"fill": "wash-blue", "stroke": "blue", "stroke-width": "2.5"},
    "cell": {"fill": "wash-ochre", "stroke": "ochre", "stroke-width": "1"},
    "tick": {"stroke": "ochre", "stroke-width": "1", "fill": "none"},
    "frame": {"fill": "none", "stroke": "ink", "stroke-width": "2.5"},
    "dot": {"fill": "line-2"},
    "floor": {"fill": "ground"},
    "floortop": {"stroke": "grey", "stroke-width": "2.5", "fill": "none"},
    "fwd": {"stroke": "blue", "stroke-width": "1.5", "fill": "none"},
    "idle": {"stroke": "line-2", "stroke-width": "1", "fill": "none"},
    "bwd": {"stroke": "magenta", "stroke-width": "1.5", "fill": "none", "stroke-dasharray": "6 4"},
    "bwd-now": {"stroke": "magenta", "stroke-width": "3", "fill": "none", "stroke-dasharray": "8 5"},
    "fh": {"fill": "blue"},
    "ih": {"fill": "line-2"},
    "bh": {"fill": "none", "stroke": "magenta", "stroke-width": "1.5"},
    "module": {"fill": "none", "stroke": "line", "stroke-width": "1"},
    "hit": {"fill": "none", "pointer-events": "all"},
    "on": {"fill": "line"},
    "wash": {"fill": "wash-vermilion"},
    "edge-alert": {"fill": "vermilion"},
    "span": {"stroke": "ink", "stroke-width": "2.5", "fill": "none"},
    "knob": {"fill": "ink"},
    "ring": {"fill": "ground", "stroke": "ink", "stroke-width": "2"},
    "you": {"stroke": "ink", "stroke-width": "1.25", "fill": "paper"},
    "youline": {"stroke": "ink", "stroke-width": "1.5", "fill": "none", "stroke-dasharray": "2 3"},
    "result": {"fill": "blue"},
    "resultline": {"stroke": "blue", "stroke-width": "2.5", "fill": "none"},
    "hole": {"fill": "ground", "stroke": "line-2", "stroke-width": "1.5", "stroke-dasharray": "5 4"},
    "mark-a": {"fill": "paper", "stroke": "grey", "stroke-width": "1.5"},
    "dotted": {"stroke": "ink", "stroke-width": "1.5", "stroke-dasharray": "1.5 2.5", "fill": "none"},
    "focus": {"stroke": "focus", "stroke-width": "2.5", "fill": "none"},
    "run-a": {"fill": "paper", "stroke": "grey", "stroke-width": "1"},
    "line-a": {"stroke": "grey", "stroke-width": "1.5", "fill": "none"},
    "line-b": {"stroke": "blue", "stroke-width": "1.5", "fill": "none"},
    "middle-a": {"stroke": "grey", "stroke-width": "2.5", "fill": "none"},
    "middle-b": {"stroke": "blue", "stroke-width": "2.5", "fill": "none"},
    "cross": {"stroke": "ink", "stroke-width": "1.5", "fill": "none"},
    "own-parameter": {"fill": "blue", "stroke": "paper", "stroke-width": "1"},
    "own-optimiser": {"fill": "violet", "stroke": "paper", "stroke-width": "1"},
    "own-gradient": {"fill": "magenta", "stroke": "paper", "stroke-width": "1"},
    "own-activation": {"fill": "ochre", "stroke": "paper", "stroke-width": "1"},
    "own-data": {"fill": "line-2", "stroke": "paper", "stroke-width": "1"},
    "own-edge": {"fill": "none", "stroke": "paper", "stroke-width": "1"},
    "hatch": {"stroke": "line-2", "stroke-width": "1.5", "fill": "none"},
    "own-again": {"fill": "paper", "stroke": "ochre", "stroke-width": "1.25"},
    "own-workspace": {"fill": "paper", "stroke": "line-2", "stroke-width": "0.75"},
    "work-host": {"fill": "line", "stroke": "grey", "stroke-width": "1"},
    "work-copy": {"fill": "wash-ochre", "stroke": "ochre", "stroke-width": "1.25"},
    "work-asked": {"fill": "paper", "stroke": "ochre", "stroke-width": "1.25"},
    "work-read": {"fill": "paper", "stroke": "teal", "stroke-width": "1.25"},
    "work-kernel": {"fill": "wash-teal", "stroke": "teal", "stroke-width": "1.25"},
    "waitline": {"stroke": "ink", "stroke-width": "1.5", "fill": "none"},
    "dt-bool": {"fill": "none", "stroke": "grey", "stroke-width": "1.5"},
    "dt-int": {"fill": "olive"},
    "dt-f16": {"fill": "teal"},
    "dt-bf16": {"fill": "violet"},
    "dt-f32": {"fill": "blue"},
    "dt-f64": {"fill": "vermilion"},
    "backrule": {"stroke": "ink", "stroke-width": "1.5", "fill": "none", "stroke-dasharray": "6 4"},
    "sign-off": {"fill": "none", "stroke": "line", "stroke-width": "1.25"},
    "sign-tensor": {"fill": "none", "stroke": "blue", "stroke-width": "1.75"},
    "sign-buffer": {"fill": "wash-ochre", "stroke": "ochre", "stroke-width": "1.75"},
    "sign-device": {"fill": "ground", "stroke": "line-2", "stroke-width": "1"},
    "sign-queue": {"fill": "wash-teal", "stroke": "teal", "stroke-width": "1.75"},
}


def presentation(classes: str, theme: int = 0) -> dict[str, str]:
    """The SVG attributes of these classes, for pictures without the stylesheet."""
    found: dict[str, str] = {}
    for name in classes.split():
        found.update(MARKS.get(name, {}))
    return {key: TOKENS[value][theme] if value in TOKENS else value for key, value in found.items()}


def _rules(scope: str, value_of: object) -> str:
    assert callable(value_of)
    return "\n".join(
        f"{scope} {'text' if name == 'text' else '.' + name} {{ "
        + "; ".join(f"{key}: {value_of(value)}" for key, value in marks.items())
        + " }"
        for name, marks in MARKS.items()
    )


def dark_style() -> str:
    """For static pictures: the dark values, used where the reader's system is dark."""
    rules = _rules(".edu-static", lambda value: TOKENS[value][1] if value in TOKENS else value)
    return f"@media (prefers-color-scheme: dark) {{ {' '.join(rules.split())} }}"


# The parts of the stylesheet in `css/`, in order: of two rules of equal weight the later one holds.
SHEETS = ("frame", "audience", "board", "walk", "desk", "narrow")


def components() -> str:
    """The rules for everything but the marks in figures."""
    folder = files(__package__).joinpath("css")
    return "\n".join(folder.joinpath(f"{name}.css").read_text(encoding="utf-8") for name in SHEETS)


@cache
def stylesheet() -> str:
    """The stylesheet for widgets on a page."""
    light_dark = "\n".join(
        f"  --edu-{name}: {_hosted(name, f'light-dark({light}, {dark})')};" for name, (light, dark) in TOKENS.items()
    )
    fallback = "\n".join(f"    --edu-{name}: {_hosted(name, light)};" for name, (light, _) in TOKENS.items())
    fallback_dark = "\n".join(f"    --edu-{name}: {_hosted(name, dark)};" for name, (_, dark) in TOKENS.items())
    marks = _rules(".edu svg", lambda value: f"var(--edu-{value})" if value in TOKENS else value)
    marks = marks.replace(UI, "var(--edu-font)").replace(MONO, "var(--edu-mono)")
    return (
        f".edu {{\n  color-scheme: light dark;\n{light_dark}\n}}\n"
        f"@supports not (color: light-dark(red, red)) {{\n  .edu {{\n{fallback}\n  }}\n"
        f"  @media (prefers-color-scheme: dark) {{ .edu {{\n{fallback_dark}\n  }} }}\n}}\n{components()}\n{marks}\n"
    )


def _hosted(name: str, value: str) -> str:
    return f"var({HOST[name]}, {value})" if name in HOST else value
