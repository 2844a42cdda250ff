"""The default model, exported once for all test processes and all runs on this machine."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

# The export takes seconds. Its folder is named after the weights and the exporter, so an old one is never taken for
# a new one, and several processes may export at once.
MODEL_DIR = Path(tempfile.gettempdir(), f"memorybase-test-models-{os.getuid()}")
