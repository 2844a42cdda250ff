"""A thread as ranges of seqs: compared with walking from message to message."""

from __future__ import annotations

import random

from harness.rows import each_row

from memorybase.core.read_models.transcript import Jump, thread_ranges


def walked(jumps: list[Jump], newest: int, through: int | None) -> list[int]:
    """The seqs of the newest thread (through a seq), by what each message follows."""
    follows: dict[int, int | None] = {seq: seq - 1 or None for seq in range(1, newest + 1)}
    follows |= {seq: before if before is not None and before < seq else None for seq, before in jumps}

    def thread(leaf: int) -> list[int]:
        found: list[int] = []
        at: int | None = leaf
        while at is not None:
            found.append(at)
            at = follows[at]
        return found[::-1]

    leaves = range(newest, 0, -1)
    return next(found for leaf in leaves if through in {None, *(found := thread(leaf))})


@each_row("seed", range(60))
def test_ranges_are_the_thread(seed: int) -> None:
    rng = random.Random(seed)
    newest = rng.randint(1, 30)
    jumping = [seq for seq in range(2, newest + 1) if rng.random() < 0.3]
    jumps: list[Jump] = [(seq, rng.choice([None, rng.randint(1, seq - 1)])) for seq in jumping]
    rng.shuffle(jumps)
    for through in (None, *range(1, newest + 1)):
        ranges = thread_ranges(jumps, newest, through=through)
        seqs = [seq for first, last in ranges for seq in range(first, last + 1)]
        assert seqs == walked(jumps, newest, through)


def test_a_session_without_branches_is_one_range() -> None:
    assert thread_ranges([], 7) == [(1, 7)]
    assert thread_ranges([], 7, through=3) == [(1, 7)]


def test_a_message_that_follows_itself_or_a_later_one_begins_a_thread() -> None:
    assert thread_ranges([(3, 3), (4, 9)], 5) == [(4, 5)]
    assert thread_ranges([(3, 3)], 5) == [(3, 5)]
