"""The flow and the memory base that an import goes to."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import typer
from memorybase_client import errors as client_errors

from memorybase.cli.memory_bases import find_memory_base, ingest_pending
from memorybase.cli.options import progress
from memorybase.core import errors

if TYPE_CHECKING:
    from memorybase_client import Client, models

Capture = Literal["outputs", "all"]
FLUSH_MESSAGES = 2_000  # between two flushes during an import: sessions below their threshold are ingested meanwhile


@dataclass
class Target:
    """A flow and its memory base. What is missing is created with the first run that is accepted."""

    client: Client
    flow: str
    flow_name: str
    flow_exists: bool
    memory: str | None
    capture: Capture
    base: models.MemoryBaseView | None
    unflushed: int = 0

    @classmethod
    def find(cls, client: Client, flow: str, flow_name: str, memory: str | None, capture: Capture) -> Target:
        """The target with the memory base of that name, else with the flow's first. Raises InvalidRequest if another
        flow's memory base has the name."""
        from memorybase.core.models import NAME_LENGTH

        try:
            found = client.get_flow(flow)
        except client_errors.NotFound:
            found = None
        base = None
        if memory is not None:
            try:
                base = find_memory_base(client, memory)
            except errors.NotFound:
                pass
            else:
                if found is None or base.flow_id != found.id:
                    text = f"The memory base {memory} belongs to another flow"
                    raise errors.InvalidRequest(text, field="--memory", value=memory)
        elif found is not None:
            base = next(iter(client.list_memory_bases(flow_id=found.id)), None)
        if base is not None and base.capture != capture:
            typer.echo(f"note: the memory base {base.name} already exists, with capture {base.capture}", err=True)
        name = flow_name if found is None else found.name
        return cls(client, flow, name[:NAME_LENGTH], found is not None, memory, capture, base)

    def create_flow(self) -> None:
        """Create the flow unless it exists."""
        if not self.flow_exists:
            self.client.put_flow(self.flow, name=self.flow_name)
            self.client.update_flow(self.flow, secrets="redact")  # nobody has looked through what is imported
            self.flow_exists = True

    def accepted(self, messages: int) -> None:
        """So many messages of the flow were stored."""
        self.flow_exists = True
        if self.base is None:
            self.base = self._create()
        self.unflushed += messages
        if self.unflushed >= FLUSH_MESSAGES:
            self.unflushed = 0
            with suppress(client_errors.MemorybaseError):  # `ingest` flushes again
                self.client.flush_memory_base(self.base.id)

    def _create(self) -> models.MemoryBaseView:
        from memorybase.core.models import NAME_LENGTH

        name = self.memory or self.flow_name
        try:
            return self.client.create_memory_base(name=name, flow_id=self.flow, capture=self.capture)
        except client_errors.NameTaken:
            if self.memory is not None:
                raise
            flow_id = self.client.get_flow(self.flow).id
            own_name = f"{name[: NAME_LENGTH - len(str(flow_id)) - 1]} {flow_id}"
            return self.client.create_memory_base(name=own_name, flow_id=self.flow, capture=self.capture)


def ingest(client: Client, base: models.MemoryBaseView) -> models.MemoryBaseView:
    """Wait until nothing of the memory base is pending; returns it."""
    with progress() as bar:
        task = bar.add_task("ingesting", total=None)

        def show(now: models.MemoryBaseView) -> None:
            bar.update(task, completed=now.total_processed, total=now.total_processed + now.pending_messages)

        return ingest_pending(client, base.id, show)
