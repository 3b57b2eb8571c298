"""Exercise checks: ``check("fork", answer)`` says whether an answer holds, and knows the usual wrong ones.

No worked solution is stored here. A check computes what is right with the engine, or tries the learner's function on
cases; a wrong answer that is known by name gets a hint, and nothing ever ends in a traceback. ``reason("square")`` is
why a prediction comes out as it does: kept here, so that no notebook gives it away above its question.
"""

from .checking import TASKS, Task, Verdict, check
from .reasons import REASONS, reason

from . import arrays, autograd  # noqa: F401  isort: skip  (they register their tasks)

__all__ = ["REASONS", "TASKS", "Task", "Verdict", "check", "reason"]
