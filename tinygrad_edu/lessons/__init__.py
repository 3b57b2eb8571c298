"""Exercise checks: ``check("fork", answer)`` says whether an answer holds, and knows the usual wrong ones.

No solution is stored here. A check computes what is right with the engine, or tries the learner's function on cases;
a wrong answer that is known by name gets a hint, and nothing ever ends in a traceback.
"""

from .checking import TASKS, Task, Verdict, check
from . import autograd  # noqa: F401  isort: skip  (registers its tasks)

__all__ = ["TASKS", "Task", "Verdict", "check"]
