"""Posting an import: batches, the flow and memory base with the first accepted run, and what the API refuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memorybase_client import errors as client_errors
from memorybase_client.importers.records import Report
from memorybase_client.importers.runs import Part

from memorybase.cli.import_batches import Batch, batches, flow_line, piece
from memorybase.cli.import_target import Target

if TYPE_CHECKING:
    from memorybase_client import Client

REFUSED = (409, 413, 422)  # statuses of the request's content: what is in smaller parts may be accepted
OF_THE_WHOLE_RUN = (client_errors.SessionConflict, client_errors.RunConflict)
CONFLICT = 409  # it is stored, with other content


@dataclass
class Posts:
    """Posts parts to their flows, and counts what the API answers."""

    client: Client
    target_of: Callable[[Part], Target]
    report: Report
    answers: Counter[str] = field(default_factory=Counter)
    targets: dict[str, Target] = field(default_factory=dict)
    is_limited: bool = False  # a limited key may not import lines, but capture runs

    @property
    def stored(self) -> int:
        return self.answers["new"] + self.answers["known"]

    def send(self, batch: Batch) -> None:
        """Post the batch. What the API refuses is found by its line, then by halving, and reported."""
        waiting, most = [batch], 0
        while waiting:
            current = waiting.pop(0)
            try:
                self._store(current)
            except client_errors.MemorybaseError as exc:
                if exc.status not in REFUSED:
                    raise
                rest = self._refused(current, exc)
                # Where one is refused others may be: in small requests less is sent again.
                most = max(1, most // 2 or len(current.parts) // 8)
                waiting[:0] = batches(rest, most=most)
            else:
                most *= 2

    def _store(self, batch: Batch) -> None:
        target = self._target(batch.parts[0])
        if self.is_limited:
            self._capture(batch, target)
            return
        lines = [*([] if target.flow_exists else [flow_line(target.flow, target.flow_name)]), *batch.lines]
        try:
            counts = self.client.import_lines(lines).messages
            created, deleted = (counts.created, counts.deleted) if counts is not None else (0, 0)
        except client_errors.Forbidden:
            self.is_limited = True
            self._capture(batch, target)
            return
        target.accepted(self._count(batch.parts, created, deleted))

    def _capture(self, batch: Batch, target: Target) -> None:
        for at, part in enumerate(batch.parts):
            target.create_flow()
            try:
                answer = self.client.capture_run(
                    part.flow,
                    session_id=part.session_id,
                    run_id=part.run_id,
                    end_user_id=part.end_user_id,
                    messages=part.messages,
                )
            except client_errors.MemorybaseError as exc:
                exc.details |= {"part": at}
                raise
            created = sum(message.created for message in answer.messages)
            deleted = sum(message.deleted for message in answer.messages)
            target.accepted(self._count([part], created, deleted))

    def _refused(self, batch: Batch, exc: client_errors.MemorybaseError) -> list[Part]:
        """Report or halve the part that was refused; returns what is still to be posted."""
        at, stored = self._place(batch, exc)
        if stored is not None:
            count = self._count(batch.parts[:at], stored["created"], stored["deleted"])
            if at:
                self._target(batch.parts[0]).accepted(count)
        part, before = batch.parts[at], [] if stored is not None or self.is_limited else batch.parts[:at]
        middle = len(part.messages) // 2
        halves: list[Part] = []
        if middle and not isinstance(exc, OF_THE_WHOLE_RUN):
            halves = [piece(part, 0, middle), piece(part, middle, len(part.messages))]
        else:
            self.answers["refused"] += len(part.messages)
            note = self.report.skip if exc.status == CONFLICT else self.report.lose
            reason = exc.message.partition(";")[0]  # without what it says about the request
            for where in part.places:
                note(where, f"refused: {reason}", field=exc.field, value=exc.value, limit=exc.limit)
        return [*before, *halves, *batch.parts[at + 1 :]]

    def _place(self, batch: Batch, exc: client_errors.MemorybaseError) -> tuple[int, Mapping[str, int] | None]:
        """The position of the part that was refused, and the counts of what was stored before it, if anything was."""
        part, line = exc.details.get("part"), exc.details.get("line")
        if isinstance(part, int):
            return part, None
        if isinstance(line, int):
            extra = 0 if self._target(batch.parts[0]).flow_exists else 1
            counts: Any = exc.details.get("messages")
            return batch.owners[max(0, line - 1 - extra)], counts
        return 0, None

    def _count(self, parts: Iterable[Part], created: int, deleted: int) -> int:
        sent = sum(len(part.messages) for part in parts)
        self.answers["new"] += created
        self.answers["deleted"] += deleted
        self.answers["known"] += sent - created - deleted  # also the same message twice in the source
        return created

    def _target(self, part: Part) -> Target:
        if part.flow not in self.targets:
            self.targets[part.flow] = self.target_of(part)
        return self.targets[part.flow]
