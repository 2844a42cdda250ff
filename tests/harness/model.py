"""The default model, exported once for all test processes and all runs on this machine."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

from memorybase.core.embedding import Embedders
from memorybase.core.settings import Settings

# The export takes seconds. Its folder is named after the weights and the exporter, so an old one is never taken for
# a new one, and several processes may export at once.
CACHE = Path(tempfile.gettempdir(), f"memorybase-test-cache-{os.getuid()}")
MODEL_DIR = CACHE / "memorybase" / "models"


@cache
def export_model() -> None:
    """Export it if nobody has done so yet."""
    CACHE.mkdir(mode=0o700, exist_ok=True)
    Embedders(Settings(data_dir=MODEL_DIR, model_dir=MODEL_DIR)).get()
