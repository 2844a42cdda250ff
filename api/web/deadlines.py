"""How long a page waits for a part of the stack that may hang."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds. A page answers within 2 s, whatever part hangs."""

    home: float = 1.6  # for the database: problems and overview
    part: float = 1.2  # then one that has not answered is a problem on Home; less than `home`, which waits for it
    search: float = 1.5  # of the playground, for a part that asks the store
    several: float = 5.0  # the same for up to fifty memories, searched one after the other
    away: float = 0.5  # after a search that failed, for what is away
    health: float = 1.0  # for each part; they are asked at once
    lag: float = 0.5
    store: float = 1.5  # for the comparison with the store; it also ends in the background
    map: float = 8.0  # for a question; a model that is not loaded yet takes some
    browser: float = 20.0  # then the browser gives up on a part of a page that this server has not answered


USUAL = Deadlines()
