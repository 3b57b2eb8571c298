"""Beside the graph: the code with its current line, what this step computes, and how a gradient adds up."""

from __future__ import annotations

from dataclasses import dataclass

from ...common.wording import number
from ..marks import MONO_12, Canvas, attributes, escape, shorten
from ..reel import Track, opening
from .model import GraphRun, Moment, Preview, Send
from .tracks import ROW
from .words import interesting, step_lines

LINES = 14  # of code in a still picture


@dataclass(frozen=True)
class Term:
    """One array of a sum of gradients."""

    value: Preview
    sign: str
    label: str
    caption: str
    result: bool = False


def terms(run: GraphRun, sends: tuple[Send, ...]) -> list[Term]:
    """What was held, all that arrives, and their sum; only the last where nothing is added."""
    if not sends:
        return []
    held = sends[0].held
    parts = [] if held is None else [Term(held, "", "held", "from before")]
    for send in sends:
        parts.append(Term(send.arriving, "+" * bool(parts), "arriving", "from this op"))
    if len(parts) == 1:
        parts = []
    total = Term(sends[-1].total, "=" * bool(parts), f"∂{run.label(sends[-1].target)}", "after this step", True)
    return [*parts, total]


# On a page --------------------------------------------------------------------------------------------------------


def code_html(run: GraphRun, rows: dict[str, Track], step: int) -> str:
    """The lines of code. The current one is marked by its track."""
    lines = []
    for i, line in enumerate(run.code):
        values = rows[f"r{i}"].at(step)
        lines.append(opening("li", f"r{i}", values, {}, data_current=ROW.current) + f"{escape(line) or ' '}</li>")
    head = attributes(class_="edu-lines", tabindex=0, aria_label="code", data_follow=True)
    return f"<ol{head}>{''.join(lines)}</ol>" if lines else ""


def steps_html(run: GraphRun, now: Moment) -> str:
    """What the step computes, and the sum."""
    lines = "".join(
        f'<p class="{"edu-formula" if "tg" in cls else "quiet"}">{escape(line)}</p>'
        for line, cls in step_lines(run, now, 10_000)
    )
    return lines + "".join(map(_term_html, terms(run, interesting(now))))


def _term_html(term: Term) -> str:
    rows = [[number(v) for v in row] for row in term.value.rows] if term.value.rows is not None else None
    if rows is None:
        rows = [[f"‖·‖ {number(term.value.norm)}"]]
    cells = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    kind = " ".join(filter(None, ("edu-term", "sum" if term.sign == "=" else "", "total" if term.result else "")))
    bracket = ' class="array"' if term.value.shape else ""
    return (
        f'<div class="{kind}"><span>{term.sign}</span><table{bracket}>{cells}</table>'
        f"<p><b>{escape(term.label)}</b><br>{escape(term.caption)}</p></div>"
    )


# In a still picture -----------------------------------------------------------------------------------------------


def draw_panel(canvas: Canvas, run: GraphRun, now: Moment, x: float, y: float, width: float) -> float:
    """The same, drawn. Of long code, the lines around the current one. Returns the lower edge."""
    characters = int((width - 44) / MONO_12)
    row = run.nodes[now.now].row if now.now is not None else None
    code = list(enumerate(run.code))
    if len(code) > LINES and row is not None:
        code = code[max(0, row - LINES // 2 + 1) : row + LINES // 2 + 1]
    code = code[:LINES]
    if code:
        canvas.rect(x, y, width, len(code) * 20 + 16, "floor")
        for i, (line_number, line) in enumerate(code):
            base = y + 8 + 20 * i
            if line_number == row:
                canvas.rect(x, base, width, 20, "on")
                canvas.rect(x, base, 3, 20, "knob")
            canvas.text(x + 24, base + 14, str(line_number + 1), "m" if line_number == row else "m t2", "end")
            canvas.text(x + 34, base + 14, shorten(line, characters), "m b" if line_number == row else "m")
        y += len(code) * 20 + 16 + 22
    for line, cls in step_lines(run, now, int(width / MONO_12)):
        canvas.text(x, y, line, cls)
        y += 18
    found = terms(run, interesting(now))
    y += 6 if found else 0
    for term in found:
        if term.sign == "=":
            canvas.line(x, y - 4, x + width, y - 4, "rule")
            y += 6
        y = _draw_term(canvas, term, x, y, width)
    return y


def _draw_term(canvas: Canvas, term: Term, x: float, y: float, width: float) -> float:
    """An array between brackets, or the norm of a large one; label and caption beside it."""
    p, weight = term.value, " b" if term.result else ""
    norm = [[f"‖·‖ {number(p.norm)}"]]
    rows = [[number(v) for v in row] for row in p.rows] if p.rows is not None else norm
    widths = [max(len(row[j]) for row in rows) * MONO_12 + 10 for j in range(len(rows[0]))]
    if sum(widths) > width - 120:
        rows, widths = norm, [len(norm[0][0]) * MONO_12 + 10]
    left, height = x + 18, 18 * len(rows) + 2
    if term.sign:
        canvas.text(x + 8, y + height / 2 + 5, term.sign, "f16", "middle")
    for i, row in enumerate(rows):
        at = left
        for j, value in enumerate(row):
            at += widths[j]
            canvas.text(at, y + 14 + 18 * i, value, f"m tg{weight}", "end")
    right = left + sum(widths) + 6
    if p.shape:
        canvas.path(
            f"M{left + 5} {y}H{left}V{y + height}H{left + 5}M{right - 5} {y}H{right}V{y + height}H{right - 5}",
            "rule",
            y + height,
        )
    canvas.text(right + 12, y + height / 2 - 3, shorten(term.label, 12), "m b" if term.result else "b")
    canvas.text(right + 12, y + height / 2 + 13, term.caption, "t2")
    return y + max(height, 34) + 12
