"""models: embedding models that may serve: check one before it is used, list them, compare two on own data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memorybase.cli.options import DataDirOption, plural, print_table, progress, read_text, table_console
from memorybase.core import errors
from memorybase.core.settings import Settings
from memorybase.features.lab.commands.evaluate import plain_table
from memorybase.stack.state import find_data_dir

if TYPE_CHECKING:
    from memorybase.core.embedding import Embedder
    from memorybase.core.embedding.added_models import KnownModel
    from memorybase.core.embedding.prompts import Prompts
    from memorybase.features.lab.model_comparison import Measured
    from memorybase.features.lab.model_data import Conversation

app = typer.Typer(help="Embedding models: add, list, compare.", no_args_is_help=True)

ModelArgument = Annotated[str, typer.Argument(help="A folder, a name on the hub, or openai:NAME.", show_default=False)]
QueryPromptOption = Annotated[
    str | None, typer.Option(help="Prefix of queries. (default: as in use)", show_default=False)
]
PassagePromptOption = Annotated[
    str | None, typer.Option(help="Prefix of stored chunks. (default: as in use)", show_default=False)
]


@app.command()
def add(
    model: ModelArgument,
    *,
    query_prompt: QueryPromptOption = None,
    passage_prompt: PassagePromptOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Load a model, check its vectors, and record its files; says which settings let memory bases use it."""
    from memorybase.core.embedding import added_models, registry
    from memorybase.core.embedding.probe import probe

    settings = _with_prompts(_settings(data_dir), model, query_prompt, passage_prompt)
    typer.echo(f"loading {model}; a first export takes a while", err=True)
    embedder = registry.load(settings, model)
    found = probe(embedder)
    if found.problems:
        raise errors.ModelUnavailable(f"{model} was not added: {'; '.join(found.problems)}.", field="model")
    record = _record(settings, model, embedder, near=found.near, far=found.far)
    path = added_models.remember(settings, record)
    for name, value in _described(record):
        typer.echo(f"{name:<15}{value}")
    typer.echo(
        f"{'probe':<15}{found.right} of 8 known questions answered; mean cosine {found.near:.2f} of pairs, "
        f"{found.far:.2f} of others; {found.ms_per_text:.1f} ms a text"
    )
    typer.echo(f"{'record':<15}{path}")
    for line in _hints(settings, record):
        typer.echo(line)


@app.command("list")
def list_models(*, data_dir: DataDirOption = None) -> None:
    """List the default model, the allowed ones and those that were added. Contacts no hub and no endpoint."""
    from memorybase.core.embedding import added_models

    settings = _settings(data_dir)
    records = {each.name: each for each in added_models.known_models(settings)}
    names = dict.fromkeys([settings.embedding_model, *settings.allowed_embedding_models, *records])
    columns = ("model", "use", "dimension", "tokens", "prefixes", "token vectors", "licence", "files")
    print_table(columns, [_row(settings, name, records.get(name)) for name in names], whole=("model", "use"))


@app.command()
def compare(
    first: ModelArgument,
    second: ModelArgument,
    *,
    data: Annotated[Path, typer.Option(help="Messages: an export, JSON lines, or a LoCoMo file.", show_default=False)],
    questions: Annotated[
        Path | None,
        typer.Option(help="Questions, one JSON object per line. (default: those of a LoCoMo file)", show_default=False),
    ] = None,
    query_prompt: Annotated[
        str | None, typer.Option(help="Prefix of queries for the second model.", show_default=False)
    ] = None,
    passage_prompt: Annotated[
        str | None, typer.Option(help="Prefix of chunks for the second model.", show_default=False)
    ] = None,
    report: Annotated[Path | None, typer.Option("--json", help="Write all figures to this file.")] = None,
    data_dir: DataDirOption = None,
) -> None:
    """Measure two models on the same messages and questions, by vectors alone."""
    from memorybase.features.lab.model_data import read_data

    if report is not None and not report.absolute().parent.is_dir():
        raise errors.InvalidRequest(f"{report} cannot be written: its folder does not exist.")
    conversations = read_data(read_text(data), read_text(questions) if questions else None)
    settings = _settings(data_dir)
    changed = _with_prompts(settings, second, query_prompt, passage_prompt)
    measured = [_measure(chosen, name, conversations) for chosen, name in ((settings, first), (changed, second))]
    names = (first, second) if first != second else (f"{first} (1)", f"{second} (2)")
    _show(names, measured, conversations)
    if report is not None:
        _write(report, names, measured)
        typer.echo(f"written to {report}")


def _settings(data_dir: Path | None) -> Settings:
    return Settings(data_dir=find_data_dir(data_dir).path)


def _with_prompts(settings: Settings, model: str, query: str | None, passage: str | None) -> Settings:
    """The settings with these prefixes of the model."""
    stated = {name: text for name, text in (("query", query), ("passage", passage)) if text is not None}
    if not stated:
        return settings
    prompts: dict[str, Any] = dict(settings.embedding_prompts)
    prompts[model] = {**prompts.get(model, {}), **stated}
    return settings.model_copy(update={"embedding_prompts": prompts})


# Added models


def _record(settings: Settings, model: str, embedder: Embedder, *, near: float, far: float) -> KnownModel:
    from memorybase.core.embedding import registry
    from memorybase.core.embedding.added_models import KnownModel
    from memorybase.core.embedding.endpoint import is_endpoint_model
    from memorybase.core.embedding.source import file_digests, find_source
    from memorybase.features.lab import card

    source = None if is_endpoint_model(model) else find_source(model)
    prompts = registry.prompts_of(settings, model)
    return KnownModel(
        name=model,
        identity=embedder.identity,
        revision=source.revision if source else embedder.identity.rpartition("simhash-")[2][:16],
        digests=file_digests(source.folder) if source else {},
        licence=card.licence_of(source.folder) if source else card.UNKNOWN_LICENCE,
        dimension=embedder.dimension,
        max_tokens=embedder.max_tokens,
        query_prompt=prompts.query,
        passage_prompt=prompts.passage,
        token_encoding=embedder.token_encoding,
        near=round(near, 4),
        far=round(far, 4),
        added_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _described(record: KnownModel) -> list[tuple[str, str]]:
    return [
        ("model", record.name),
        ("identity", record.identity),
        ("checksum", f"{record.revision} ({plural(len(record.digests), 'file')})" if record.digests else "no files"),
        ("licence", record.licence),
        ("dimension", f"{record.dimension} ({4 * record.dimension} bytes a vector)"),
        ("reads", plural(record.max_tokens, "token")),
        ("prefixes", _shown_prompts(record.prompts)),
        ("token vectors", record.token_encoding or "none"),
    ]


def _hints(settings: Settings, record: KnownModel) -> list[str]:
    """Settings that the operator must make, and statements of the model's card that its configuration lacks."""
    from memorybase.core.embedding.prompts import NO_PROMPTS
    from memorybase.core.embedding.source import find_source
    from memorybase.features.lab import card

    lines = []
    stated = settings.embedding_prompts.get(record.name)
    if record.prompts == NO_PROMPTS and record.digests:
        named = card.named_prefixes(find_source(record.name).folder, record.name)
        if named != NO_PROMPTS:
            stated = {"query": named.query, "passage": named.passage}
            lines.append(
                "warning: the model's card or name tells of prefixes that its configuration lacks. "
                "Compare it with and without them: memorybase models compare "
                f"'{record.name}' '{record.name}' --query-prompt '{named.query}' --passage-prompt '{named.passage}' ..."
            )
    if stated:
        prompts = {**settings.embedding_prompts, record.name: stated}
        lines.append(f"set: MEMORYBASE_EMBEDDING_PROMPTS='{json.dumps(prompts, ensure_ascii=False)}'")
    if _use(settings, record.name) == "added":
        allowed = [*settings.allowed_embedding_models, record.name]
        lines.append(f"set: MEMORYBASE_ALLOWED_EMBEDDING_MODELS='{json.dumps(allowed, ensure_ascii=False)}'")
    return lines


def _use(settings: Settings, name: str) -> str:
    if name == settings.embedding_model:
        return "default"
    return "allowed" if name in settings.allowed_embedding_models else "added"


def _row(settings: Settings, name: str, record: KnownModel | None) -> list[object]:
    shown: list[object] = ["-"] * 5
    if record is not None:
        prompts = _shown_prompts(record.prompts)
        shown = [record.dimension, record.max_tokens, prompts, "yes" if record.token_encoding else "no", record.licence]
    return [name, _use(settings, name), *shown, _state(record)]


def _shown_prompts(prompts: Prompts) -> str:
    return f"{prompts.query!r}, {prompts.passage!r}" if prompts.query or prompts.passage else "none"


def _state(record: KnownModel | None) -> str:
    from memorybase.core.embedding.added_models import changed_files

    if record is None:
        return "not added"
    if not record.digests:
        return "endpoint"
    changed = changed_files(record)
    if changed is None:
        return "missing"
    return f"changed: {', '.join(changed[:3])}" if changed else "as added"


# Comparison


def _measure(settings: Settings, model: str, conversations: Sequence[Conversation]) -> tuple[Measured, int | None]:
    """The model's figures, and the tokens that an endpoint counted."""
    from memorybase.core.embedding import registry, usage
    from memorybase.core.embedding.chunking import chunker_for
    from memorybase.core.embedding.endpoint import is_endpoint_model
    from memorybase.features.lab.model_comparison import measure

    embedder = registry.load(settings, model)
    usage.OF_THIS_PROCESS.take()
    with progress(keep=False) as bar:
        task = bar.add_task(f"embedding with {model}", total=None)
        found = measure(
            embedder, chunker_for(settings, embedder), conversations, lambda count: bar.advance(task, count)
        )
    tokens = sum(each.tokens for each in usage.OF_THIS_PROCESS.take().values())
    return found, tokens if is_endpoint_model(model) else None


def _show(
    names: Sequence[str], measured: Sequence[tuple[Measured, int | None]], conversations: Sequence[Conversation]
) -> None:
    from memorybase.features.lab.model_comparison import FIGURES, MIN_QUESTIONS, gain

    texts, asked = sum(len(each.texts) for each in conversations), len(measured[0][0].answers)
    typer.echo(f"{plural(texts, 'message')}, {plural(asked, 'question')} with evidence; vectors alone\n")
    table = plain_table("model", *FIGURES, "chunks", "ms a text", "ms a query", "bytes a vector", "tokens counted")
    for name, (found, tokens) in zip(names, measured, strict=True):
        figures = [f"{found.mean(figure):.3f}" for figure in FIGURES.values()]
        cost = [f"{found.ms_per_text:.1f}", f"{found.ms_per_query:.1f}", str(found.vector_bytes)]
        table.add_row(name, *figures, str(found.chunks), *cost, "-" if tokens is None else str(tokens))
    table_console().print(table)
    typer.echo("")
    (first, _), (second, _) = measured
    for title, figure in FIGURES.items():
        found_gain = gain(second, first, figure)
        sure = "" if found_gain.is_significant else ", which may be chance"
        typer.echo(
            f"{names[1]} gains {found_gain.mean:+.3f} [{found_gain.low:+.3f}, {found_gain.high:+.3f}] {title} over "
            f"{names[0]}{sure}."
        )
    typer.echo("In brackets: 95 % intervals by bootstrap over the questions, which both models were asked.")
    if asked < MIN_QUESTIONS:
        typer.echo(f"hint: only {plural(asked, 'question')}; with {MIN_QUESTIONS} or more the intervals are narrower.")


def _write(report: Path, names: Sequence[str], measured: Sequence[tuple[Measured, int | None]]) -> None:
    from dataclasses import asdict

    from memorybase.features.lab.model_comparison import FIGURES, gain

    (first, _), (second, _) = measured
    document = {
        "models": {
            name: {title: found.mean(figure) for title, figure in FIGURES.items()}
            | asdict(found)
            | {"tokens_counted": tokens}
            for name, (found, tokens) in zip(names, measured, strict=True)
        },
        "gain_of_second": {title: asdict(gain(second, first, figure)) for title, figure in FIGURES.items()},
    }
    try:
        report.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as exc:
        raise errors.InvalidRequest(f"{report} cannot be written: {exc.strerror}.") from exc
