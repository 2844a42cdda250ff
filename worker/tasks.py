"""The Celery tasks: each hands its message to the function of its name in `work.table`."""

from __future__ import annotations

from typing import Any

from memorybase import features
from worker import work
from worker.app import app, this_process


def _declare(name: str, function: work.Work) -> None:
    @app.task(name=name)
    def run(**message: Any) -> None:
        function(this_process(), message)


for _name, _function in work.table(features.hooks()).items():
    _declare(_name, _function)
