"""export-model: the embedding model in the form that slim installations run, which cannot export it themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export_model(
    folder: Annotated[Path, typer.Argument(help="The folder for MEMORYBASE_MODEL_DIR; created if needed.")],
    *,
    model: Annotated[
        str | None, typer.Option(help="Another model. (default: MEMORYBASE_EMBEDDING_MODEL)", show_default=False)
    ] = None,
) -> None:
    """Export the embedding model into a folder, for installations without torch."""
    from memorybase.core.embedding.endpoint import is_endpoint_model
    from memorybase.core.embedding.exported import export_into
    from memorybase.core.embedding.registry import PRECISIONS
    from memorybase.core.embedding.source import find_source
    from memorybase.core.errors import ModelUnavailable
    from memorybase.core.settings import Settings

    settings = Settings()
    precision = PRECISIONS.get(settings.embedding_backend)
    if precision is None:
        raise ModelUnavailable(
            "embedding_backend must be one of " + ", ".join(PRECISIONS) + " to export a model.",
            field="embedding_backend",
            value=settings.embedding_backend,
        )
    name = model or settings.embedding_model
    if is_endpoint_model(name):
        raise ModelUnavailable(f"{name} is behind an endpoint and has no files to export.", model=name)
    exported = export_into(folder.resolve(), settings, find_source(name), precision)
    typer.echo(str(exported))
