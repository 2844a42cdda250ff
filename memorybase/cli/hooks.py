"""hooks: memory for coding agents, by hooks in their settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from memorybase_client.coding_agents import install as hooks
from memorybase_client.coding_agents.events import FLOW
from memorybase_client.coding_agents.hosts import recall_mode

from memorybase.cli.command import with_options
from memorybase.cli.options import DataDirOption, UrlOption, address, connect, plural
from memorybase.core import errors
from memorybase.core.settings import stated_url

if TYPE_CHECKING:
    from memorybase_client import Client

app = typer.Typer(help="Coding agents: capture their sessions, recall from earlier ones.", no_args_is_help=True)

ToolsOption = Annotated[
    bool | None,
    typer.Option(
        "--tools/--no-tools", help="Capture tool calls and results; they may hold secrets.", show_default=False
    ),
]
RECALLING = {
    "first": "Memories come at a session's start and first prompt. For later ones add MCP's tools, or --recall each.",
    "each": "Memories come at a session's start and at each prompt.",
    "off": "No memories come by themselves.",
}
AgentArgument = Annotated[str, typer.Argument(metavar="AGENT", help="claude-code, codex, cursor, gemini or opencode.")]


@app.command()
def install(
    agent: AgentArgument,
    flow: Annotated[
        str | None, typer.Option(help="The flow that holds the sessions. (default: coding-agent)", show_default=False)
    ] = None,
    end_user: Annotated[
        str | None, typer.Option(help="The end user of every session. (default: none)", show_default=False)
    ] = None,
    tools: ToolsOption = None,
    recall: Annotated[
        Literal["first", "each", "off"] | None,
        typer.Option(
            help="At a session's start and first prompt, at each prompt, or never. (default: first)", show_default=False
        ),
    ] = None,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
) -> None:
    """Add hooks to a coding agent's settings. What is not stated stays as an earlier installation configured it."""
    chosen = hooks.find_agent(agent)
    before = hooks.stored_config()
    client, key = _client(data_dir, url, before)
    stated = {"flow": flow, "end_user": end_user, "tools": tools, "recall": recall}
    kept = {name: before[name] for name in stated if name in before}
    if "recall" in kept:
        kept["recall"] = recall_mode(kept["recall"])
    fields = kept | {name: value for name, value in stated.items() if value is not None}
    config = hooks.HookConfig(url=client.url, key=key, **fields)
    with client:
        hooks.prepare_flow(client, config.flow)
    path = hooks.install(chosen, config)
    typer.echo(f"Added {plural(len(chosen.hooks), 'hook')} to {path}. {chosen.note}")
    captured = "text, tool calls and their results" if config.tools else "text, and the names of tools"
    typer.echo(f"Sessions go to the flow {config.flow} at {config.url}: {captured}.")
    typer.echo(RECALLING[config.recall])
    typer.echo(f"The configuration with the key is in {hooks.config_file()}, readable by you only.")
    typer.echo("To import past sessions too, run: memorybase hooks import")


@app.command()
def uninstall(agent: AgentArgument) -> None:
    """Remove the hooks from a coding agent's settings. What was captured stays in memory."""
    chosen = hooks.find_agent(agent)
    removed = hooks.uninstall(chosen)
    hooks.forget_configuration()
    typer.echo(f"Removed the hooks from {chosen.settings}." if removed else f"{chosen.settings} has no hooks of ours.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PastOptions:
    """Which past sessions to import, and into what."""

    agent: Annotated[
        list[str] | None,
        typer.Option(
            help="One of claude-code, codex, copilot, cursor, gemini and opencode; may be repeated. (default: all)",
            show_default=False,
        ),
    ] = None
    project: Annotated[
        Path | None, typer.Option(help="Only sessions in this folder. (default: all)", show_default=False)
    ] = None
    since: Annotated[
        str | None,
        typer.Option(help="Only sessions that went on since then: a day, or 90d. (default: all)", show_default=False),
    ] = None
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what is there and store nothing.")] = False
    report: Annotated[Path | None, typer.Option(help="A file for everything left out.", show_default=False)] = None
    flow: Annotated[
        str | None, typer.Option(help="The flow. (default: the hooks', else coding-agent)", show_default=False)
    ] = None
    end_user: Annotated[
        str | None, typer.Option(help="The end user of every session. (default: the hooks')", show_default=False)
    ] = None
    tools: ToolsOption = None


@app.command("import")
@with_options
def import_sessions(*, options: PastOptions, data_dir: DataDirOption = None, url: UrlOption = None) -> None:
    """Import the sessions that coding agents kept on this machine. Running it again adds only what is new."""
    # Readers of transcripts, which --help does not need.
    from memorybase.cli.import_past import import_past

    before = hooks.stored_config()
    names = ("flow", "end_user", "tools")
    stated = {name: value for name in names if (value := getattr(options, name)) is not None}
    config = {"flow": FLOW} | {name: before[name] for name in names if name in before} | stated
    import_past(options, config, lambda: _client(data_dir, url, before)[0])


def _client(data_dir: Path | None, url: str | None, before: dict[str, str]) -> tuple[Client, str]:
    """A client and its key: of the stated address or directory, else as before, else of the stack that runs. There is
    no option for the key, since other users of a machine can read its command lines."""
    stated = url or (None if data_dir else stated_url())
    if data_dir is None and url is None and before.get("url") and before.get("key"):
        return connect(None, before["url"], before["key"]), before["key"]
    try:
        found, key = address(data_dir, url, None)
    except errors.Unauthorized:
        if stated is None:
            raise
        found, key = stated, typer.prompt(f"API key for {stated}", hide_input=True)
    return connect(None, found, key), key
