"""sample: load conversations for a first look into a running stack, or remove them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from memorybase_client import errors as client_errors

from memorybase.cli.command import through_stack
from memorybase.cli.import_target import ingest
from memorybase.cli.options import plural

if TYPE_CHECKING:
    from memorybase_client import Client


@through_stack
def sample(
    client: Client,
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Delete the sample's flow with everything in it.")] = False,
) -> None:
    """Load sample conversations into a flow with a memory base, and ingest them. Running it again changes nothing."""
    from memorybase.core.import_export import (
        sample as data,  # loads the database's packages, which --help does not need
    )

    if remove:
        try:
            client.delete_flow(data.FLOW)
        except client_errors.NotFound:
            typer.echo("there is no sample")
        else:
            typer.echo("removed the sample")
        return
    client.put_flow(data.FLOW, name=data.FLOW_NAME)
    base = client.put_memory_base(data.FLOW, data.NAME, threshold=data.THRESHOLD, capture="all")
    created = 0
    for run in data.runs():
        answer = client.capture_run(
            data.FLOW, session_id=run.session_id, run_id=run.run_id, messages=run.messages, on_conflict="keep"
        )
        created += sum(message.created for message in answer.messages)
    base = ingest(client, base)
    typer.echo(f"flow {data.FLOW}: {plural(created, 'new message')}, {base.total_processed} ingested")
    typer.echo(f"memory base {base.name}: {base.id}")
    typer.echo(f'next: memorybase search "{data.QUESTION}" --memory "{base.name}"')
