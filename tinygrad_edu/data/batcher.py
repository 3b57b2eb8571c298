"""`Batcher`: requests that come one by one are answered together."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any

from ..common.wording import shown
from ..errors import ArgumentError
from ..inputs.arguments import whole
from .collate import default_collate


class Batcher:
    """Answers requests in batches: ``with Batcher(model, 32, max_wait=0.005) as answer: answer(x)``.

    ``function`` takes a batch, as ``collate`` makes it of up to ``batch_size`` requests, and gives one answer for each,
    along its first axis. A batch goes when it is full, or when the first of its requests has waited ``max_wait``
    seconds: a longer wait makes fuller batches and later answers. Requests may come from any thread, and each waits
    for its own answer only. The function runs in one thread, with the settings, such as `no_grad`, that were in force
    where the Batcher was made. `close`, or the end of the block, answers what is left.

    ``batches`` says how many requests each batch had, ``waits`` how many seconds each request waited for its answer.

    Raises `ArgumentError` for a size below 1 and for a wait below 0.

    >>> import tinygrad_edu as tg
    >>> with Batcher(lambda x: x * 2, batch_size=2, max_wait=60.0) as answer:
    ...     later = [answer.submit(tg.tensor(float(i))) for i in range(3)]
    >>> [one.result().item() for one in later], answer.batches
    ([0.0, 2.0, 4.0], [2, 1])
    """

    def __init__(
        self, function: Callable[[Any], Any], batch_size: int, *, max_wait: float = 0.01,
        collate: Callable[[list[Any]], Any] = default_collate,
    ) -> None:  # fmt: skip
        self.function, self.collate = function, collate
        self.batch_size = whole("Batcher", "batch_size", batch_size)
        if self.batch_size < 1:
            raise ArgumentError(f"Batcher(batch_size={batch_size!r})", "a batch has at least one request", "give 1")
        if isinstance(max_wait, bool) or not isinstance(max_wait, (int, float)) or not max_wait >= 0:
            raise ArgumentError(f"Batcher(max_wait={shown(max_wait, 40)})", "it is a time in seconds", "give 0 or more")
        self.max_wait = float(max_wait)
        self.batches: list[int] = []
        self.waits: list[float] = []
        self._requests: deque[tuple[float, Any, Future[Any]]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=copy_context().run, args=(self._serve,), name="Batcher", daemon=True)
        self._thread.start()

    def submit(self, request: Any) -> Future[Any]:
        """Ask, and go on: ``result()`` of what this returns waits for the answer. Raises RuntimeError once closed."""
        answer: Future[Any] = Future()
        with self._changed:
            if self._closed:
                raise RuntimeError("this Batcher is closed: make a new one")
            self._requests.append((time.monotonic(), request, answer))
            self._changed.notify()
        return answer

    def __call__(self, request: Any) -> Any:
        """Ask, and wait for the answer."""
        return self.submit(request).result()

    def map(self, requests: Iterable[Any]) -> Iterator[Any]:
        """The answers to many requests, in order; no more than two batches are asked for ahead."""
        waiting: deque[Future[Any]] = deque()
        for request in requests:
            waiting.append(self.submit(request))
            if len(waiting) > 2 * self.batch_size:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def close(self) -> None:
        """Answer what is left, and end. Closing twice is fine."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def __enter__(self) -> Batcher:
        return self

    def __exit__(self, *raised: Any) -> None:
        self.close()

    def _serve(self) -> None:
        while (batch := self._next()) is not None:
            self._answer(batch)

    def _next(self) -> list[tuple[float, Any, Future[Any]]] | None:
        """The requests of the next batch; None once it is closed and nothing is left."""
        with self._changed:
            while not self._requests:
                if self._closed:
                    return None
                self._changed.wait()
            due = self._requests[0][0] + self.max_wait
            while len(self._requests) < self.batch_size and not self._closed:
                if (left := due - time.monotonic()) <= 0:
                    break
                self._changed.wait(left)
            return [self._requests.popleft() for _ in range(min(self.batch_size, len(self._requests)))]

    def _answer(self, batch: list[tuple[float, Any, Future[Any]]]) -> None:
        there = [one for one in batch if one[2].set_running_or_notify_cancel()]  # who cancelled wants no answer
        if not there:
            return
        try:
            answers = self.function(self.collate([request for _, request, _ in there]))
            if len(answers) != len(there):
                why = f"it gave {len(answers)} answers to {len(there)} requests"
                raise ArgumentError("a Batcher's function", why, "keep the first axis: one row for each request")
            parts = [answers[i] for i in range(len(there))]
        except BaseException as error:  # whoever asked gets it
            for _, _, future in there:
                future.set_exception(error)
            return
        now = time.monotonic()
        self.batches.append(len(there))
        self.waits += [now - asked for asked, _, _ in there]
        for (_, _, future), part in zip(there, parts, strict=True):
            future.set_result(part)
