"""A page for every tip in the registry, and indexes by theme, source and symptom."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tinygrad_edu.cli.tips import arguments
from tinygrad_edu.common.wording import ratio_with_spread, seconds_text
from tinygrad_edu.tips import GUIDES, THEMES, Claim, Size, Tip, all_tips, run, source_of
from tinygrad_edu.tips.facts import FACTS
from tinygrad_edu.tips.guides import SECTIONS
from tinygrad_edu.tips.words import claimed, context_text, letters_of
from tinygrad_edu.views.board import Drawing
from tinygrad_edu.views.marks import freeze
from tinygrad_edu.views.tips.examples import picture

GUIDE_ADDRESSES = {  # of the guides that stand on a page of their own
    "G": "https://mygrad.readthedocs.io/en/latest/performance_tips.html",
    "L": "https://lux.csail.mit.edu/stable/manual/performance_pitfalls",
}
TIMES = Path(__file__).parents[1] / "tip_times.json"
HEAD = """# Tips

Each tip has two ways to do the same: **A**, what people write, and **B**, what the tip proposes. Counts are the same on
every machine, and `tinygrad-edu tips check` checks them. Time is measured on your machine, by
`tinygrad-edu tips run SLUG`, or by `show_tip(slug)` in a notebook, where you predict first.

See also the tips [by source](sources.md), [by symptom](symptoms.md) and [by the headings of their guides](guides.md),
those that [a run of your program can show to apply](advised.md), [what is counted](facts.md) and
[all claims](catalogue.md).
"""
COUNTED = """# What is counted

Every claim of a tip is about one of these facts. *Counted* and *simulated* ones are the same on every machine;
*measured* ones are true of one machine at one time; *recorded* ones were measured on a machine that is not here.
The name is what a `Claim` takes, and the key in the output of `tinygrad-edu tips run SLUG --json`.

| name | in words | unit | how it is found | known by |
|---|---|---|---|---|
"""
CATALOGUE = """# The whole catalogue

All tips of the five guides. B is what to use, and the claim is what is [checked](facts.md): where nothing else is said,
A and B also give the same numbers.
"""
LEXERS = {
    "PyTorch": "python",
    "JAX": "python",
    "mlax": "python",
    "MyGrad": "python",
    "tch-rs": "rust",
    "torch-rs": "rust",
    "Lux": "julia",
    "Lux.jl": "julia",
}


def link(tip: Tip) -> str:
    """A line of a list."""
    return f"[{tip.title}]({tip.slug}.md): {tip.why}"


def bullets(lines: Iterable[str]) -> str:
    """A list; long lines stay lines."""
    return "\n".join(f"- {line}" for line in lines) + "\n"


def code(text: str, lexer: str = "python") -> str:
    """A block of code."""
    return f"```{lexer}\n{text}\n```\n"


def folded(summary: str, text: str) -> str:
    """A text shown after a click."""
    return f"<details>\n<summary>{summary}</summary>\n\n{text}\n</details>\n"


def command(tip: Tip, setting: Mapping[str, Any]) -> str:
    """The command line that runs the tip with this setting."""
    return f"tinygrad-edu tips run {tip.slug} {arguments(setting)}".rstrip()


def question(tip: Tip) -> str:
    """The prediction. Its answer is computed while the page is made, and folded away."""
    result, asked = run(tip, clock=False), tip.question
    counted = [judged.words for judged in result.claims if judged.counted]
    setting = ", ".join(f"`{k}={v}`" for k, v in result.setting.items())
    found = f"Counted with {setting}:\n\n{bullets(counted)}" if counted else f"Run with {setting}."
    answer = (
        f"**{asked.said(asked.answer(result))}.** {asked.refutation}\n\n"
        f"The tempting answer: {asked.said(asked.tempting)}.\n\n"
        f"{found}\n"
        f"*Can you say why?* {tip.explain}\n"
    )
    return f"{asked.ask}\n\n{bullets(asked.offered)}\n{folded('Show the answer', answer)}"


def parameters(tip: Tip) -> str:
    """The parameters as a table."""
    rows = ["| parameter | default | values | meaning |", "|---|---|---|---|"]
    for p in tip.every_parameter:
        values = f"{p.low} to {p.high}" if isinstance(p, Size) else ", ".join(p.options)
        rows.append(f"| `{p.name}` | {p.default} | {values} | {p.words} |")
    return "\n".join(rows) + "\n"


def claim(tip: Tip, one: Claim) -> str:
    """A claim; for one about time, a note that it may not hold."""
    doubt = "" if one.counted else ". Measured where it runs, and never assumed"
    return f"{context_text(one)}: {claimed(one, letters_of(tip, one))}{doubt}"


def outcomes(tip: Tip) -> str:
    """What is expected of ways that do not just give the right numbers."""
    words = {"differs": "gives other numbers", "raises": "stops with an error", "free": "gives a result"}
    told = [
        f"{tip.letters[name]} {words[way.outcome.kind]}" for name, way in tip.ways.items() if way.outcome.kind in words
    ]
    return "; ".join(told) or "A and B give the same numbers"


def slips(tip: Tip) -> str:
    """Where guides are wrong, if they are."""
    told = (f"### A slip, corrected\n\n{GUIDES[s.guide]}: {s.words}\n\n{code(source_of(s.run))}" for s in tip.slips)
    return "\n".join(told)


def others(tip: Tip) -> str:
    """The other ways, and the mistakes."""
    told = (f"**{tip.letters[w.name]}**, {w.name}: {w.words}\n\n{code(source_of(w.run))}" for w in tip.also)
    return "\n".join(told)


def lexer(framework: str) -> str:
    """The lexer that colours the code of a framework."""
    return LEXERS.get(framework.split()[0], "text")


def page(tip: Tip) -> str:
    """The page of one tip."""
    limits = [f"{x.words} The verdict is then *{x.verdict}*: `{command(tip, x.setting)}`" for x in tip.limits]
    sources = [f"{guide(s.guide)}, *{s.section}*: {s.says}" for s in tip.sources]
    same = [f"### {e.framework}\n\n{code(e.code, lexer(e.framework))}\nAs of {e.date}.\n" for e in tip.elsewhere]
    return "\n".join([
        f"# {tip.title}\n\n`{tip.slug}` · {THEMES[tip.theme]} · drawn by [{tip.picture.widget}](../widgets.md)\n",
        f"*For:* {', '.join(tip.symptoms)}.\n",
        in_pytorch(tip),
        recorded(tip),
        f"## Two ways\n\n**A**, what people write:\n\n{code(source_of(tip.slow))}",
        f"**B**, what the tip proposes:\n\n{code(source_of(tip.fast))}",
        others(tip),
        f"All get the same inputs. `{command(tip, {})}` runs them:\n\n{parameters(tip)}",
        code(source_of(tip.inputs)),
        f"## Predict first\n\n{question(tip)}",
        f"## Why\n\n{tip.why}\n\n{tip.about}\n",
        *(shown(tip, place, drawing) for place, drawing in enumerate(picture(tip), 1)),
        f"## The claims\n\n{bullets([claim(tip, one) for one in tip.claims] or [outcomes(tip)])}",
        f"## Where it fails\n\n{bullets(limits)}",
        f"## What the guides say\n\n{bullets(sources)}{figures(tip)}\n{slips(tip)}",
        "## The same elsewhere\n",
        *same,
    ])  # fmt: skip


def guide(letter: str) -> str:
    """A guide's name, with its address if it has one."""
    return f"[{GUIDES[letter]}]({GUIDE_ADDRESSES[letter]})" if letter in GUIDE_ADDRESSES else GUIDES[letter]


def shown(tip: Tip, place: int, drawing: Drawing) -> str:
    """A picture of the tip, under its caption."""
    words = re.sub(r"[\[\]\n]", " ", drawing.figure.description)
    return f"{drawing.caption}:\n\n![{words}]({tip.slug}-{place}.svg)\n"


def pictures(tip: Tip) -> dict[str, str]:
    """Its pictures, by the names of their files."""
    drawn = (drawing.figure for drawing in picture(tip))
    return {f"{tip.slug}-{place}.svg": freeze(figure.svg(live=False)) for place, figure in enumerate(drawn, 1)}


def in_pytorch(tip: Tip) -> str:
    """What holds in PyTorch, in a sentence or two."""
    if tip.torch is None or tip.differs_in_torch:
        return f"*In PyTorch:* {tip.differs_in_torch}\n"
    run_there = f"`{command(tip, {})} --framework torch`"
    return f"*In PyTorch:* it holds too. {run_there} runs the same code there, on your machine.\n"


def recorded(tip: Tip) -> str:
    """The time on the machine that the records are from."""
    found = json.loads(TIMES.read_text(encoding="utf-8"))
    row = next((row for row in found["tips"] if row["slug"] == tip.slug), None)
    if row is None or not row["claims_time"] or row["slow"] is None:
        return ""
    ratio = ratio_with_spread(row["ratio"], tuple(row["middle"]))
    said = {"faster": "B is faster", "slower": "A is faster"}.get(row["time_verdict"], "no difference")
    times = f"A {seconds_text(row['slow'])}, B {seconds_text(row['fast'])}; A over B {ratio}: {said}"
    return f"*Recorded* on {found['date']} ({found['machine'][0]}): {times}.\n"


def figures(tip: Tip) -> str:
    """What the guides say of how much it is."""
    told = [f"{GUIDES[f.guide]}: {', '.join(filter(None, (f'{f.times:g}× {f.fact}', f.words)))}" for f in tip.figures]
    return bullets(told) if told else ""


def listing(title: str, groups: Mapping[str, list[Tip]]) -> str:
    """Tips under headings. A heading without tips is left out."""
    parts = [f"## {name}\n\n{bullets(map(link, tips))}" for name, tips in groups.items() if tips]
    return "\n".join([f"# {title}\n", *parts])


def catalogue(tips: Iterable[Tip]) -> str:
    """Every tip in a table by theme, with its claims."""
    there = {tip.slug: tip for tip in tips}
    parts = [CATALOGUE, f"There are {len(there)}.\n"]
    for theme, words in THEMES.items():
        rows = ["| tip | B | claim |", "|---|---|---|"]
        for tip in (tip for tip in there.values() if tip.theme == theme):
            claims = "; ".join(claim(tip, one).partition(". Measured")[0] for one in tip.claims)
            rows.append(f"| [{tip.slug}]({tip.slug}.md) | {tip.title} | {claims or outcomes(tip)} |")
        parts.append(f"## {words}\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def advised(tips: Iterable[Tip]) -> str:
    """The tips that a run can show to apply, by theme."""
    groups = {words: [t for t in tips if t.theme == theme and t.applies is not None] for theme, words in THEMES.items()}
    return listing("Tips that a run can show to apply", groups)


def guides() -> str:
    """Every heading of the five guides, and each block of code, with its tips."""

    def links(slugs: Iterable[str]) -> str:
        return ", ".join(f"[{slug}]({slug}.md)" for slug in slugs)

    parts = [
        "# The five guides, heading by heading\n\nThe tips come from five guides. Here is each heading, and "
        "each block of code below it, with the tips that show what is said there. Tips say where a guide is wrong.\n"
    ]
    for letter, words in GUIDES.items():
        rows = ["| heading | its text | its code, block by block |", "|---|---|---|"]
        for one in (section for section in SECTIONS if section.guide == letter):
            text = "*a title*" if one.bare else links(one.text)
            rows.append(f"| {one.heading} | {text} | {'<br>'.join(map(links, one.blocks))} |")
        parts.append(f"## {words[0].upper()}{words[1:]}\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def facts() -> str:
    """Every fact in a table."""
    rows = [f"| `{f.name}` | {f.words} | {f.unit or 'a number'} | {f.how} | {f.known} |" for f in FACTS.values()]
    return COUNTED + "\n".join(rows) + "\n"


def pages() -> dict[str, str]:
    """File name and content of every page about tips."""
    tips = all_tips()
    themes = {words: [t for t in tips if t.theme == theme] for theme, words in THEMES.items()}
    sources = {guide: [t for t in tips if letter in t.guides] for letter, guide in GUIDES.items()}
    symptoms = sorted({symptom for tip in tips for symptom in tip.symptoms}, key=str.lower)
    by_theme = listing("Tips", themes).replace("# Tips\n", HEAD, 1)
    tree = "\n".join(
        [
            "```{toctree}",
            ":hidden:",
            "",
            "sources",
            "symptoms",
            "facts",
            "guides",
            "advised",
            "catalogue",
            *(tip.slug for tip in tips),
            "```",
            "",
        ]
    )
    made = {
        "index.md": f"{by_theme}\n{tree}",
        "sources.md": listing("Tips by source", sources),
        "catalogue.md": catalogue(tips),
        "facts.md": facts(),
        "advised.md": advised(tips),
        "guides.md": guides(),
        "symptoms.md": listing("Tips by symptom", {s: [t for t in tips if s in t.symptoms] for s in symptoms}),
    }
    drawn = {name: svg for tip in tips for name, svg in pictures(tip).items()}
    return made | drawn | {f"{tip.slug}.md": page(tip) for tip in tips}
