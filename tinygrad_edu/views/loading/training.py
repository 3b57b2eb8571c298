"""A loop that trains on what a loader gives: each step takes its time, as on an accelerator that works by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...data import Chores, DataLoader
from ...data.timeline import passes
from ...errors import ArgumentError, EduError
from ...observe.machine import Conditions, quiet
from .model import Run, Setting, run_of

EPOCHS, BATCHES, BATCH, RUNS = 2, 12, 8, 3
STEP = 0.006  # seconds of a step
COSTS = {"waits": 2.0, "NumPy": 17, "Python": 100}  # of a sample: about two milliseconds each on an ordinary computer
SET_HERE = {"num_workers", "prefetch_factor", "persistent_workers", "worker"}
Tell = Callable[[int, int, float], Any]


class Subject:
    """What is read, and what is done with a batch. Without arguments: samples that cost as much as is set."""

    def __init__(self, dataset: Any = None, step: Callable[[Any], Any] | None = None, batch_size: int = BATCH,
                 **options: Any) -> None:  # fmt: skip
        self.dataset, self.step, self.batch_size, self.options = dataset, step, batch_size, options
        if dataset is not None and not hasattr(dataset, "__len__"):
            why = "it is read for two epochs, batch by batch, and its length is asked for"
            raise ArgumentError("LoaderGantt(dataset=…)", why, "give a data set with a length")
        for name in SET_HERE & set(options):
            why, mend = "that is set by its knobs, from run to run", "write workers=2, or set the knob"
            raise ArgumentError(f"LoaderGantt({name}=…)", why, mend)

    def loader(self, setting: Setting) -> DataLoader:
        """The loader for a setting."""
        data = Chores(BATCHES * BATCH, setting.cost, COSTS[setting.cost]) if self.dataset is None else self.dataset
        more: dict[str, Any] = dict(self.options)
        if setting.workers:
            more |= {"prefetch_factor": setting.prefetch, "persistent_workers": setting.kept, "worker": setting.kind}
        return DataLoader(data, self.batch_size, num_workers=setting.workers, **more)

    def measure(self, setting: Setting, tell: Tell) -> tuple[tuple[Run, ...], Conditions, float]:
        """Some runs, after one epoch that does not count; fewer if it is stopped. With workers, how many samples a
        second there would be without, too.
        """
        runs: list[Run] = []
        with quiet(None) as conditions:
            with passes() as first:
                self._epoch(self.loader(replace(setting, workers=0)))
            alone = 0.0
            if setting.workers:
                alone = run_of(first).rate
                self._epoch(self.loader(setting))
            for turn in range(RUNS):
                if tell(turn, RUNS, (RUNS - turn) * (runs[-1].span if runs else 1.0)) is False and runs:
                    break
                loader = self.loader(setting)
                with passes() as seen:
                    for _ in range(EPOCHS):
                        self._epoch(loader)
                runs.append(run_of(seen))
        return tuple(runs), conditions, alone

    def _epoch(self, loader: DataLoader) -> None:
        for batch in loader:
            if self.step is None:
                time.sleep(STEP)
                continue
            try:
                self.step(batch)
            except EduError:
                raise
            except Exception as error:
                why = f"it raised {type(error).__name__}: {error}"
                raise ArgumentError("LoaderGantt(step=…)", why, "let it take a batch as the loader gives it") from error
