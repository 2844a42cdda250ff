"""reindex: rebuild the keyword index in the current language, directly in the database."""

from __future__ import annotations

import typer

from memorybase.cli.options import DataDirOption, plural, progress, stored_settings


def reindex(data_dir: DataDirOption = None) -> None:
    """Rebuild the keyword index of sessions of another MEMORYBASE_KEYWORD_LANGUAGE or an earlier version."""
    from memorybase import wiring
    from memorybase.core import telemetry
    from memorybase.core.keyword_index import index

    settings = stored_settings(data_dir)
    telemetry.configure(settings.model_copy(update={"log_level": "ERROR"}))
    services = wiring.build(settings)
    waiting = index.waiting_for_reindex(services)
    done = 0
    with progress() as bar:
        task = bar.add_task("messages", total=waiting.documents)
        for messages in index.reindex(services):
            done += messages
            bar.advance(task, messages)
    sessions = plural(waiting.sessions, "session")
    typer.echo(f"indexed {plural(done, 'message')} in {sessions} in {settings.keyword_language}")
