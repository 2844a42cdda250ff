"""A thread of a session as ranges of seqs, so that it can be read page by page. Pure.

Most messages follow the one before them. The others, the jumps of `queries.threads`, divide the session into segments,
and a thread is a chain of beginnings of segments.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

Range = tuple[int, int]
Jump = tuple[int, int | None]  # a seq and the seq that it follows; None: it begins a thread


def thread_ranges(jumps: Sequence[Jump], newest: int, *, through: int | None = None) -> list[Range]:
    """The ranges of the newest thread, or of the newest one through a seq, in order. `newest`: the session's last seq.

    Without jumps it is the whole session. In any order; a jump that follows itself or a later message begins a thread.
    """
    ordered = sorted(jumps)
    starts = [1, *(seq for seq, _ in ordered if seq > 1)]
    follows = {seq: before if before is not None and before < seq else None for seq, before in ordered}

    def segment(seq: int) -> int:
        return bisect_right(starts, seq) - 1

    def end(index: int) -> int:
        return starts[index + 1] - 1 if index + 1 < len(starts) else newest

    leaf = newest
    if through is not None:
        own = segment(through)
        reached, leaf = {own}, end(own)
        for index in range(own + 1, len(starts)):
            before = follows.get(starts[index])
            if before is not None and segment(before) in reached and (segment(before) != own or before >= through):
                reached.add(index)
                leaf = max(leaf, end(index))
    ranges: list[Range] = []
    last: int | None = leaf
    while last is not None:
        start = starts[segment(last)]
        ranges.append((start, last))
        last = follows.get(start)
    return ranges[::-1]
