"""reindex: the keyword index in the language of the settings, straight in the database."""

from __future__ import annotations

import typer

from memorybase.cli.options import DataDirOption, progress
from memorybase.stack.state import settings_in_use


def reindex(data_dir: DataDirOption = None) -> None:
    """Index again by words what was captured under another MEMORYBASE_KEYWORD_LANGUAGE; safe while others capture."""
    from memorybase import telemetry, wiring
    from memorybase.keyword_index import index

    settings = settings_in_use(data_dir)
    telemetry.configure(settings.model_copy(update={"log_level": "ERROR"}))
    services = wiring.build(settings)
    waiting = index.waiting_for_reindex(services)
    done = 0
    with progress() as bar:
        task = bar.add_task("messages", total=waiting.documents)
        for messages in index.reindex(services):
            done += messages
            bar.advance(task, messages)
    typer.echo(f"{done} messages of {waiting.sessions} sessions are now indexed in {settings.keyword_language}")
