"""When Python looks for garbage: hardly while modules are loaded, and never among what they hold.

By default it does so after each 700 new objects: a sixth of the time to start, for modules that leave none. A full
collection while a process serves would stop all its threads for some 300 ms.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

COLLECT_AFTER = 10_000  # objects; the thousands that a request makes are freed without it


@contextmanager
def spared() -> Iterator[None]:
    """Load modules within."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        spare_loaded()


def spare_loaded() -> None:
    """Exclude everything loaded so far, and look less often."""
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 20)
