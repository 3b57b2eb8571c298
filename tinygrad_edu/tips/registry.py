"""Finding the tips: every file ``<theme>/<slug_with_underscores>.py`` below this package that defines ``TIP``.

Another package can bring its own, such as those of a course: it names the package that holds their files as an entry
point of the group ``tinygrad_edu.tips``.
"""

from __future__ import annotations

import importlib.util
import inspect
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from ..common.lines import own
from ..common.wording import said, suggestion
from .facts import FACTS, MEASURED
from .outcomes import EQUAL
from .shapes import FEWEST, SHAPES
from .tip import GUIDES, THEMES, VERDICTS, Claim, Tip, TipError
from .ways import prepares

WHY_WORDS = 25  # at most, in the one sentence


GROUP = "tinygrad_edu.tips"  # the entry point by which a package brings tips of its own


@cache
def all_tips() -> tuple[Tip, ...]:
    """Every tip, ordered by theme, then by file name; after those of this package, those of others.

    A faulty one is left out, with a warning. `find` and `own_tips` say what is wrong with it.
    """
    found: dict[str, Tip] = {}
    for name in _own_files():
        _try_to_add(found, name, ours=True)
    for point in entry_points(group=GROUP):
        _add_all(found, point)
    return tuple(found.values())


def own_tips() -> tuple[Tip, ...]:
    """Every tip of this package. Raises `TipError` for a faulty one."""
    found: dict[str, Tip] = {}
    for name in _own_files():
        add(found, name, getattr(importlib.import_module(name), "TIP", None))
    return tuple(found.values())


def _own_files() -> list[str]:
    """The names of the modules of this package that hold tips."""
    homes = [f"{__package__ or ''}.{theme}" for theme in THEMES]
    there = [home for home in homes if importlib.util.find_spec(home) is not None]  # of some themes there is no tip yet
    return [name for home in there for name in _files(importlib.import_module(home))]


def _files(home: ModuleType) -> list[str]:
    """The names of a package's modules, in order."""
    return [f"{home.__name__}.{name}" for name in sorted(info.name for info in pkgutil.iter_modules(home.__path__))]


def _add_all(found: dict[str, Tip], point: EntryPoint) -> None:
    """Register the tips of another package: every module of the one that its entry point names."""
    try:
        names = _files(point.load())
    except Exception as error:  # somebody else's code: the course goes on without it
        warnings.warn(f"the tips of {point.value} are left out: {said(error)}", stacklevel=2)
        return
    for name in names:
        _try_to_add(found, name, ours=False)


def _try_to_add(found: dict[str, Tip], module: str, *, ours: bool) -> None:
    """Register the tip of a file, or warn that it is left out: all others can be used without it."""
    try:
        add(found, module, getattr(importlib.import_module(module), "TIP", None), ours=ours)
    except TipError as error:
        warnings.warn(f"the tip in {module} is left out: {error.sentence()}", stacklevel=2)
    except Exception as error:
        warnings.warn(f"the tip in {module} is left out: {said(error)}", stacklevel=2)


def add(found: dict[str, Tip], module: str, tip: Any, *, ours: bool = True) -> None:
    """Register the ``TIP`` of a file. Raises `TipError` if it is not a tip, is faulty, or is there already."""
    if not isinstance(tip, Tip):
        raise TipError(f"the file of {module}", "it defines no TIP", "end it with TIP = Tip(…)")
    if tip.slug in found:
        raise TipError(f"the tip {tip.slug}", "there is already one with that name", "give it another slug")
    theme, name = module.split(".")[-2:]
    faults = list(faults_of(tip))
    if ours and (tip.theme != theme or tip.slug.replace("-", "_") != name):
        faults.append(f"it is in {theme}/{name}.py, but belongs in {tip.theme}/{tip.slug.replace('-', '_')}.py")
    if faults:
        raise TipError(f"the tip {tip.slug}", "; ".join(faults), "see 'Add a tip' in CONTRIBUTING.md")
    own[tip.slow.__code__.co_filename] = False  # what the learner reads: errors name lines of it
    found[tip.slug] = tip


def faults_of(tip: Tip) -> Iterable[str]:
    """What a tip lacks or has wrong, in words. Raises `TipError` for a limit's setting that does not fit."""
    yield from _faults_of_words(tip)
    yield from _faults_of_functions(tip)
    yield from _faults_of_claims(tip)


def _faults_of_words(tip: Tip) -> Iterable[str]:
    if tip.theme not in THEMES:
        yield f"its theme is {tip.theme!r}, which is not one of {', '.join(THEMES)}"
    filled = ["slug", "title", "why", "about", "explain", "sources", "claims", "limits", "symptoms", "elsewhere"]
    if tip.outcomes:  # what A and B do is then what the tip says
        filled.remove("claims")
    yield from (f"{name} is empty" for name in filled if not getattr(tip, name))
    if len(tip.why.split()) > WHY_WORDS:
        yield f"why has {len(tip.why.split())} words, and one sentence of {WHY_WORDS} is enough"
    for letter in (*tip.guides, *(slip.guide for slip in tip.slips), *(figure.guide for figure in tip.figures)):
        if letter not in GUIDES:
            yield f"{letter!r} is not one of the guides {', '.join(GUIDES)}"
    try:
        tip.question.parse(tip.question.tempting)
    except TipError:
        yield "the tempting answer is not among the choices"
    if "PyTorch" not in [elsewhere.framework.partition(" ")[0] for elsewhere in tip.elsewhere]:
        yield "it does not show how to do the same in PyTorch"


def _faults_of_functions(tip: Tip) -> Iterable[str]:
    wanted = ["generator", *(parameter.name for parameter in tip.parameters)]
    if list(inspect.signature(tip.inputs).parameters) not in (wanted, [*wanted, "device"]):
        yield f"inputs does not take {', '.join(wanted)}"
    takes = list(inspect.signature(tip.slow).parameters)
    for role, function in _functions(tip):
        if list(inspect.signature(function).parameters) != takes:
            yield f"{role} does not take the arguments of slow: {', '.join(takes)}"
    for role, function in (("slow", tip.slow), ("fast", tip.fast)):
        if function.__name__ != role:
            yield f"the function of {role} is called {function.__name__}"
    for name in (*tip.outcomes, *(tip.torch or ())):
        if name not in (*tip.ways, "inputs", "truth"):
            yield f"there is no way {name!r}"
    if tip.torch is None and not tip.differs_in_torch:
        yield "it has no ways in PyTorch, and differs_in_torch does not say why"


def _faults_of_claims(tip: Tip) -> Iterable[str]:
    for claim in tip.claims:
        if claim.fact not in FACTS:
            yield f"a claim is about {claim.fact!r}, which is not one of {', '.join(FACTS)}"
        else:
            yield from _faults_of_claim(tip, claim)
    known = [claim for claim in tip.claims if claim.fact in FACTS]
    if not any(claim.counted for claim in known) and all(way.outcome == EQUAL for way in tip.ways.values()):
        yield "no claim is about a count, so nothing would be the same on every machine"
    counted = (*(name for name, fact in FACTS.items() if fact.known != MEASURED), "equal")
    for name in (name for slip in tip.slips for name in slip.shows):
        if name not in counted:
            yield f"the slip shows {name!r}, which is not one of {', '.join(counted)}"
    for figure in tip.figures:
        if figure.fact not in [claim.fact for claim in tip.claims]:
            yield f"a guide's figure is about {figure.fact!r}, and no claim is"
    for limit in tip.limits:
        if limit.verdict not in VERDICTS[1:]:
            yield f"a limit's verdict is {limit.verdict!r}, which is not one of {', '.join(VERDICTS[1:])}"
        tip.setting(limit.setting)  # raises, and says what is wrong


def _faults_of_claim(tip: Tip, claim: Claim) -> Iterable[str]:
    unknown = [name for name in claim.ways if name not in tip.ways]
    yield from (f"a claim is about the way {name!r}, which there is not" for name in unknown)
    tip.setting(claim.at)  # raises, and says what is wrong
    if claim.when in ("setup", "first") and not all(unknown or prepares(tip.ways[name].run) for name in claim.ways):
        yield f"a claim is about {claim.when!r}, and not both ways are prepared"
    if claim.over is not None:
        for size in claim.over.sizes:
            tip.setting({claim.over.name: size})
        if len(claim.over.sizes) < FEWEST:
            yield f"a claim is over {len(claim.over.sizes)} sizes, and a shape needs {FEWEST}"
        for shape in (claim.over.slow, claim.over.fast):
            if shape and shape not in SHAPES:
                yield f"a claim's shape is {shape!r}, which is not one of {', '.join(SHAPES)}"


def _functions(tip: Tip) -> list[tuple[str, Callable[..., Any]]]:
    functions = [(name, way.run) for name, way in tip.ways.items()]
    functions += [(f"guide {place}", slip.run) for place, slip in enumerate(tip.slips, 1)]
    return [*functions, ("truth", tip.truth)] if tip.truth else functions


def find(slug: str) -> Tip:
    """The tip of that name, or of that file: ``find("my_tip.py")``.

    Raises `TipError` that says what is wrong with its file, or suggests the nearest names.
    """
    if str(slug).endswith(".py"):
        return _tip_in(Path(slug))
    tips = {tip.slug: tip for tip in all_tips()}
    if slug not in tips:
        for name in _own_files():
            if name.rpartition(".")[2] == str(slug).replace("-", "_"):
                add({}, name, getattr(importlib.import_module(name), "TIP", None))
        raise unknown("tip", slug, tips)
    return tips[slug]


def _tip_in(path: Path) -> Tip:
    """The tip of a file that is in no package."""
    name = f"tip_files.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise TipError(f"the file {path}", "there is no such file", "give the path of a file that defines TIP")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, Tip] = {}
    add(found, name, getattr(module, "TIP", None), ours=False)
    return next(iter(found.values()))


def unknown(what: str, given: str, known: Iterable[str]) -> TipError:
    """The error for an unknown name, with the nearest known ones."""
    mend = suggestion(str(given).lower(), known, most=3, likeness=0.4)
    return TipError(f"the {what} {given!r}", f"there is no {what} with that name", mend)


def search(words: str = "", *, theme: str = "", source: str = "", symptom: str = "") -> tuple[Tip, ...]:
    """The tips that contain all ``words``, have this theme and guide, and have a symptom that contains the text.

    Raises `TipError` for an unknown theme or guide.
    """
    if theme and theme not in THEMES:
        raise unknown("theme", theme, THEMES)
    if source and source not in GUIDES:
        raise unknown("guide", source, GUIDES)
    return tuple(
        tip
        for tip in all_tips()
        if (not theme or tip.theme == theme)
        and (not source or source in tip.guides)
        and (not symptom or any(symptom.lower() in s.lower() for s in tip.symptoms))
        and all(word in _text(tip) for word in words.lower().split())
    )


def _text(tip: Tip) -> str:
    parts = (tip.slug, tip.title, tip.why, tip.about, *tip.symptoms, *(GUIDES[letter] for letter in tip.guides))
    return " ".join(parts).lower()
