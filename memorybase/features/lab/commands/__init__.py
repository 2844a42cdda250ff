"""The commands: evaluate, tune and models.

`questions` is what evaluate and tune share. What a command computes with is loaded when it runs.
"""

from __future__ import annotations

from memorybase.cli.extension import Commands
from memorybase.features.lab.commands import evaluate, models, tune

COMMANDS = Commands(
    panel="Search quality", commands={"evaluate": evaluate.evaluate, "tune": tune.tune, "models": models.app}
)
