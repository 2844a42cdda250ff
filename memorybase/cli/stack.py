"""up, demo, migrate, sweep, prepare: the commands that start processes or prepare for them."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from memorybase.cli.options import DataDirOption, stored_settings
from memorybase.core import errors
from memorybase.core.settings import Settings


def up(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The API's port; 0 selects a free one.", min=0, max=65_535)] = 8000,
    data_dir: DataDirOption = None,
    *,
    one_process: Annotated[
        bool, typer.Option("--one-process", help="One process without Redis and a Chroma server, on the same data.")
    ] = False,
    with_parent: Annotated[bool, typer.Option("--with-parent", hidden=True)] = False,
) -> None:
    """Run the whole stack on this machine until Ctrl-C: Redis, Chroma if used, a worker, the sweeper and the API."""
    settings = Settings()
    if one_process or settings.one_process or sys.platform == "win32":  # Redis is not for Windows
        from memorybase.one_process import run_one_process as run
    else:
        from memorybase.stack.run import run_stack as run

    run(data_dir or settings.data_dir, host, port, _say, with_parent=with_parent)


def _say(text: str) -> None:
    # The reader of our output may have exited; the children must still be stopped.
    with contextlib.suppress(OSError):
        typer.echo(text)


def demo(
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Where the demo keeps its data. (default: ./memorybase-data/demo)", show_default=False),
    ] = None,
) -> None:
    """Capture a sample conversation, kill the worker during a job, and check that nothing is lost."""
    if sys.platform == "win32":
        raise errors.NotReady(
            "The demo kills a process of the stack, which is one process on Windows. Instead run: memorybase up, and "
            "in another terminal: memorybase sample"
        )
    from memorybase.cli.demo import run_demo

    run_demo(data_dir or Settings().data_dir / "demo")


def migrate(data_dir: DataDirOption = None) -> None:
    """Migrate the database to this version's schema. `up` does this itself."""
    from memorybase.core.database import migrate as migrations
    from memorybase.stack.state import settings_in_use

    url = settings_in_use(data_dir).migration_url
    migrations.upgrade(url)
    typer.echo(f"the database is at revision {migrations.current(url)}")


def sweep(
    *,
    once: Annotated[bool, typer.Option("--once", help="Run one pass and exit.")] = False,
    data_dir: DataDirOption = None,
) -> None:
    """Recover lost jobs and flush idle sessions. `up` runs a sweeper; otherwise run one or more."""
    from memorybase.cli.sweep import sweep_for_ever, sweep_once

    settings = stored_settings(data_dir)
    if once:
        for name, count in sweep_once(settings).items():
            typer.echo(f"{name}: {count}")
    else:
        sweep_for_ever(settings)


def prepare(*, without_model: Annotated[bool, typer.Option("--without-model", hidden=True)] = False) -> None:
    """Prepare for the worker and the API: migrate, create the local user, export the embedding model."""
    from memorybase import wiring
    from memorybase.core.auth import api_keys
    from memorybase.core.database import migrate as migrations

    settings = Settings()
    migrations.upgrade(settings.migration_url)
    services = wiring.build(settings)
    if settings.api_key:
        api_keys.ensure_local_user(services, settings.api_key)
    if without_model:  # they prepare it themselves
        return
    from memorybase.core.embedding import is_prepared

    if not is_prepared(settings):
        typer.echo("preparing the embedding model (once, a few seconds)")
        services.embedders.get()
