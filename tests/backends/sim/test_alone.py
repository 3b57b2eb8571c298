"""What one thread measures on the simulated device is not in the times of another that wants to be alone, too."""

from __future__ import annotations

import threading

import tinygrad_edu as tg
from tinygrad_edu import sim
from tinygrad_edu.lessons.device_programs import timed


def test_two_threads_take_turns_and_both_measure_what_one_alone_does() -> None:
    x = tg.ones(300, 300, device="sim")

    def program() -> None:
        for _ in range(20):
            x @ x

    def end() -> int:
        return timed(program)[1].end

    quiet, found = end(), []
    threads = [threading.Thread(target=lambda: found.append(end())) for _ in range(4)]
    for one in threads:
        one.start()
    found.append(end())
    for one in threads:
        one.join()
    assert found == [quiet] * 5


def test_a_thread_may_enter_twice() -> None:
    with sim.alone(), sim.alone():
        assert timed(lambda: None)[1].end >= 0


def test_a_function_can_be_decorated_and_called_again() -> None:
    @sim.alone()
    def end() -> int:
        return timed(lambda: None)[1].end

    assert end() == end() >= 0
