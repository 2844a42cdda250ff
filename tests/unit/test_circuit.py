"""The circuit breaker."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from memorybase.core.circuit import Circuit


def test_one_caller_tries_after_the_pause() -> None:
    now = [100.0]
    circuit = Circuit(15, failures=5, clock=lambda: now[0])
    for _ in range(4):
        circuit.failed()
    circuit.succeeded()
    for _ in range(5):
        assert circuit.seconds_to_wait() == 0
        circuit.failed()
    now[0] += 14
    assert circuit.seconds_to_wait() == 1
    now[0] += 1
    with ThreadPoolExecutor(4) as pool:
        waits = list(pool.map(lambda _: circuit.seconds_to_wait(), range(8)))
    assert sorted(waits) == [0.0] + [15.0] * 7
    circuit.failed()
    assert circuit.seconds_to_wait() == 15
    circuit.succeeded()
    assert circuit.seconds_to_wait() == 0


def test_the_pause_begins_after_failures_in_a_row_and_doubles() -> None:
    circuit = Circuit(2.0, failures=3, longest_seconds=600.0)
    assert [circuit.failed() for _ in range(5)] == [0.0, 0.0, 2.0, 4.0, 8.0]
    assert max(circuit.failed() for _ in range(100)) == 600.0
    circuit.succeeded()
    assert circuit.failed() == 0.0


def test_it_is_paused_for_the_time_that_the_failure_says() -> None:
    now = [100.0]
    circuit = Circuit(5.0, clock=lambda: now[0])
    assert not circuit.is_paused
    for seconds, pause in ((None, 5.0), (1.0, 1.0), (None, 5.0)):
        assert circuit.failed(seconds) == pause
        now[0] += pause - 0.5
        assert circuit.is_paused
        now[0] += 0.5
        assert not circuit.is_paused
