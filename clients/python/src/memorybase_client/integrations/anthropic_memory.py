"""Files for Claude's memory tool, in memorybase.

    tool = MemorybaseMemoryTool(Client(), "support", end_user_id="anna")
    client.beta.messages.tool_runner(model=..., max_tokens=..., messages=[...], tools=[tool])

    /memories    session; of an end user, theirs
    file         message: its text is the content, and its path is metadata
    edit         new version of the message

The texts for the model are those of the SDK's own tool for local files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anyio import to_thread

from memorybase_client import Client, errors, models
from memorybase_client._ids import MAX_ID_CHARS
from memorybase_client.integrations._flows import capture_now
from memorybase_client.integrations._messages import storable_text, texts

if TYPE_CHECKING:
    from anthropic.types import beta

ROOT = "/memories"
LISTED_LEVELS = 2
EDIT_TRIES = 20  # of an edit of a file that others edit at the same time; one of them succeeds at each try
UNAVAILABLE = "Memory is unavailable at the moment ({code}). Nothing was read; whether a change was stored is unknown."


class MemorybaseMemoryTool(BetaAbstractMemoryTool):
    """Files in one flow of memorybase, which the first file creates. Each end user has files of their own.

    Programs may share the files: an edit is made on the current text or not at all. The model is told what fails; the
    methods for single commands raise MemorybaseError if memorybase fails, and ToolError for what the model did wrong.
    """

    def __init__(
        self, client: Client, flow_id: str, *, end_user_id: str | None = None, cache_control: Any | None = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        if not flow_id:
            raise ValueError("flow_id must not be empty")
        self._client = client
        self._flow_id = flow_id
        self._whose: dict[str, Any] = {"session_id": _session_of(end_user_id), "end_user_id": end_user_id}

    def execute(self, command: beta.BetaMemoryTool20250818Command) -> str:
        """The command's result. Raises ToolError, whose text is for the model."""
        try:
            return str(super().execute(command))
        except errors.CallerError as error:
            bound = "" if error.limit is None else f" (bound: {error.limit})"
            raise ToolError(f"{error.message}{bound}") from error
        except errors.MemorybaseError as error:
            raise ToolError(UNAVAILABLE.format(code=error.code)) from error

    def view(self, command: beta.BetaMemoryTool20250818ViewCommand) -> str:
        """A file's lines with their numbers, or a directory's files and their sizes."""
        path, files = _checked(command.path), self._files()
        if file := _at(files, path):
            first, last = command.view_range if len(command.view_range or ()) == 2 else (1, -1)
            lines = file.text.split("\n")[max(0, first - 1) : None if last == -1 else last]
            return f"Here's the content of {path} with line numbers:\n{_numbered(lines, max(1, first))}"
        found = _within(files, path)
        if path != ROOT and not found:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        heading = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
        return f"{heading}\n{_listed(found, path)}"

    def create(self, command: beta.BetaMemoryTool20250818CreateCommand) -> str:
        """A new file."""
        path, files = _checked(command.path), self._files()
        _check_free(files, path, f"File {path} already exists")
        message = {"role": "assistant", "content": storable_text(command.file_text), "metadata": {"path": path}}
        stored = capture_now(self._client, self._flow_id, message | {"id": str(uuid4())}, kind="memory", **self._whose)
        first = _at(self._files(), path)
        if first is not None and first.id != stored.id:  # another program was faster
            self._delete(stored.id)
            raise ToolError(f"File {path} already exists")
        return f"File created successfully at: {path}"

    def str_replace(self, command: beta.BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replaces a text that the file has once."""
        path, old, new = _checked(command.path), command.old_str, storable_text(command.new_str)

        def replaced(file: _File) -> dict[str, Any]:
            _check_unique(file, old)
            return {"content": file.text.replace(old, new)}

        before = self._edit(path, replaced, "str_replace").text
        lines = before.replace(old, new).split("\n")
        at = before[: before.index(old)].count("\n")
        heading = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return f"{heading}\n{_numbered(lines[max(0, at - 2) : at + 3], max(0, at - 2) + 1)}"

    def insert(self, command: beta.BetaMemoryTool20250818InsertCommand) -> str:
        """Inserts a text after a line; 0 is before the first."""
        path, at, text = _checked(command.path), command.insert_line, storable_text(command.insert_text)

        def inserted(file: _File) -> dict[str, Any]:
            lines = file.text.removesuffix("\n").split("\n") if file.text else []
            if not 0 <= at <= len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {at}. It should be within the range [0, {len(lines)}]."
                )
            content = "\n".join([*lines[:at], text.rstrip("\n"), *lines[at:]])
            return {"content": content if content.endswith("\n") else f"{content}\n"}

        self._edit(path, inserted, "insert")
        return f"The file {path} has been edited."

    def delete(self, command: beta.BetaMemoryTool20250818DeleteCommand) -> str:
        """Deletes a file, or a directory with its files. They can be restored like other messages."""
        path = _checked(command.path)
        if path == ROOT:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        files = _within(self._files(), path)
        if not files:
            raise ToolError(f"The path {path} does not exist")
        for file in files:
            self._delete(file.id)
        return f"Successfully deleted {path}"

    def rename(self, command: beta.BetaMemoryTool20250818RenameCommand) -> str:
        """Moves a file, or a directory with its files, to a path where nothing is."""
        old, new, files = _checked(command.old_path), _checked(command.new_path), self._files()
        if old == ROOT:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        _check_free(files, new, f"The destination {new} already exists", moved=old)
        moved = {file.path for file in _within(files, old)}
        if not moved:
            raise ToolError(f"The path {old} does not exist")
        for path in sorted(moved):
            self._move(path, new + path.removeprefix(old))
        return f"Successfully renamed {old} to {new}"

    def _files(self) -> list[_File]:
        """The oldest first: it is the file of its path if programs created two at the same time."""
        try:
            listed = self._client.list_messages(flow_id=self._flow_id, **self._whose)
            return [_file_of(message) for message in listed if isinstance(message.metadata.get("path"), str)]
        except errors.NotFound:  # the first file creates the flow
            return []

    def _edit(self, path: str, change: Callable[[_File], dict[str, Any]], command: str) -> _File:
        """Changes these fields of the file's message, and returns the file as it was."""
        for _ in range(EDIT_TRIES):
            file = _at(self._files(), path)
            if file is None:
                raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
            fields = change(file)
            with suppress(errors.NotFound):  # deleted meanwhile
                try:
                    self._client.edit_message(
                        file.id, flow_id=self._flow_id, version=file.version, reason=f"memory tool: {command}", **fields
                    )
                except errors.MessageConflict:
                    # An edit of another program, or ours: the client repeats it if the answer was lost.
                    now = self._client.get_message(file.id, flow_id=self._flow_id)
                    if any(getattr(now, name) != value for name, value in fields.items()):
                        continue
                return file
        raise ToolError(f"Other programs keep changing {path}; it was not changed. View it and try again.")

    def _move(self, old: str, new: str) -> None:
        def moved(file: _File) -> dict[str, Any]:
            return {"metadata": {**file.metadata, "path": new}}

        file = self._edit(old, moved, "rename")
        if any(each.path == new and each.id != file.id for each in self._files()):  # created meanwhile
            self._client.edit_message(file.id, flow_id=self._flow_id, metadata=file.metadata)
            raise ToolError(f"The destination {new} already exists")

    def _delete(self, message_id: UUID) -> None:
        with suppress(errors.NotFound):  # others delete it too
            self._client.delete_message(message_id, flow_id=self._flow_id, reason="memory tool: delete")


class AsyncMemorybaseMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for AsyncAnthropic, with a Client too: commands run in threads, so that the event loop is free."""

    def __init__(
        self, client: Client, flow_id: str, *, end_user_id: str | None = None, cache_control: Any | None = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._tool = MemorybaseMemoryTool(client, flow_id, end_user_id=end_user_id)

    async def execute(self, command: beta.BetaMemoryTool20250818Command) -> str:
        """The command's result. Raises ToolError, whose text is for the model."""
        return await to_thread.run_sync(self._tool.execute, command)

    view = create = str_replace = insert = delete = rename = execute


@dataclass(frozen=True, slots=True)
class _File:
    id: UUID
    path: str
    text: str
    version: int
    metadata: dict[str, Any]


def _file_of(message: models.MessageView) -> _File:
    text = "\n".join(texts(message.content))
    return _File(message.id, message.metadata["path"], text, message.version, message.metadata)


def _session_of(end_user_id: str | None) -> str:
    """The TypeScript client derives the same."""
    name = ROOT[1:] if end_user_id is None else f"{ROOT[1:]}:{end_user_id}"
    return name if len(name) <= MAX_ID_CHARS else hashlib.sha256(name.encode()).hexdigest()


def _checked(path: str) -> str:
    """The path without a slash at its end. Raises ToolError if it is not below /memories."""
    first, *names = [name for name in path.split("/") if name not in {"", "."}] or [""]
    if not path.startswith("/") or f"/{first}" != ROOT:
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    if ".." in names:
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    if not path.isprintable():
        raise ToolError(f"Path must have no control characters, got: {path!r}")
    return "/".join([ROOT, *names])


def _at(files: Sequence[_File], path: str) -> _File | None:
    return next((file for file in files if file.path == path), None)


def _within(files: Sequence[_File], path: str) -> list[_File]:
    return [file for file in files if file.path == path or file.path.startswith(f"{path}/")]


def _check_free(files: Sequence[_File], path: str, taken: str, *, moved: str = "") -> None:
    """Raises ToolError if something is at the path, or if a file, or what is moved, would have to be a directory."""
    if path == ROOT or _within(files, path):
        raise ToolError(taken)
    above = {file.path for file in files} | {moved}
    if parent := next((each for each in above if each and path.startswith(f"{each}/")), None):
        raise ToolError(f"The path {parent} is not a directory that {path} can be in")


def _check_unique(file: _File, old: str) -> None:
    failed = "No replacement was performed"
    if not old:
        raise ToolError(f"{failed}, old_str must not be empty.")
    found = file.text.count(old)
    if found == 0:
        raise ToolError(f"{failed}, old_str `{old}` did not appear verbatim in {file.path}.")
    if found > 1:
        starts = (match.start() for match in re.finditer(f"(?={re.escape(old)})", file.text))
        lines = ", ".join(str(file.text.count("\n", 0, start) + 1) for start in starts)
        raise ToolError(
            f"{failed}. Multiple occurrences of old_str `{old}` in lines: {lines}. Please ensure it is unique"
        )


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, first))


def _listed(files: Sequence[_File], path: str) -> str:
    """A line for the directory and for each file and directory below: its size and path."""
    sizes = {path: 0}
    for file in {file.path: file for file in reversed(files)}.values():
        names = file.path.removeprefix(f"{path}/").split("/")
        if not any(name.startswith(".") for name in names):
            for depth in range(min(len(names), LISTED_LEVELS) + 1):
                row = "/".join([path, *names[:depth]]) + ("/" if 0 < depth < len(names) else "")
                sizes[row] = sizes.get(row, 0) + len(file.text.encode())
    return "\n".join(f"{_shown_size(sizes[row])}\t{row}" for row in sorted(sizes, key=lambda row: row.split("/")))


def _shown_size(size: float) -> str:
    unit = "B"
    for larger in "KMG":
        if size >= 1024:
            size, unit = size / 1024, larger
    return f"{size:.0f}{unit}" if size == int(size) else f"{size:.1f}{unit}"
