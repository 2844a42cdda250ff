"""What goes wrong with what one process has to itself, for a while: its disk is full, its model slow or failing."""

from __future__ import annotations

import random
from collections.abc import Callable

from soak.machine import Ballast

from chaos.cluster import Cluster

SECONDS = (1.0, 6.0)

Undo = Callable[[], None]


class Machine:
    """`hurt` and `later` are those of the nemesis: what is under a fault, and what undoes one after some seconds."""

    def __init__(
        self, cluster: Cluster, rng: random.Random, hurt: set[str], later: Callable[[float, Undo], None]
    ) -> None:
        self._cluster, self._rng, self._hurt, self._later = cluster, rng, hurt, later

    @property
    def kinds(self) -> dict[Callable[[], bool], int]:
        found: dict[Callable[[], bool], int] = {self.slow_model: 4, self.failing_model: 4}
        return found | ({self.full_disk: 5} if self._cluster.disk else {})

    def full_disk(self) -> bool:
        """Whatever is freed is taken again."""
        assert self._cluster.disk
        ballast = Ballast(self._cluster.disk)
        return self._begin("disk", ballast.start, ballast.remove)

    def slow_model(self) -> bool:
        return self._set_mood("slow")

    def failing_model(self) -> bool:
        return self._set_mood("failing")

    def _set_mood(self, mood: str) -> bool:
        file = self._cluster.mood
        return self._begin("model", lambda: file.write_text(mood), file.unlink)

    def _begin(self, what: str, do: Callable[[], object], undo: Undo) -> bool:
        if what in self._hurt:
            return False
        self._hurt.add(what)
        do()

        def end() -> None:
            self._hurt.discard(what)
            undo()

        self._later(self._rng.uniform(*SECONDS), end)
        return True
