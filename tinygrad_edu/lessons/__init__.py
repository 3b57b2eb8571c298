"""Exercise checks: ``check("fork", answer)`` judges an answer, and knows the usual wrong ones.

No worked solution is stored here. A check computes the right answer with the engine, or tries the learner's function
on cases. A known wrong answer gets a hint, and nothing ever ends in a traceback. ``reason("square")`` explains why a
prediction comes out as it does. The reasons are kept here, so no notebook gives one away above its question.
"""

from .answers import answers
from .checking import TASKS, Task, Verdict, check
from .reasons import REASONS, reason

from . import arrays, autograd, bounds, devices, dtypes, feeding, measuring, memory  # noqa: F401  isort: skip
from . import mutation, precision, tip_lab, welcome  # noqa: F401  isort: skip  (they register their tasks)

__all__ = ["REASONS", "TASKS", "Task", "Verdict", "answers", "check", "reason"]
