"""Problems for a person: since when each exists, its words, and the actions that end it.

One list for Home, the bar on every page, Health and the API. It reads SQL and the results of `stack_parts`, so it never
waits for Chroma or Redis.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.database.paging import AnyRow
from memorybase.core.memory_bases.restore_progress import restore_progress
from memorybase.core.models import IngestionJob, JobState
from memorybase.core.operations import stack_parts
from memorybase.core.operations.stack_parts import PartView
from memorybase.core.queries import job_lists, statistics
from memorybase.core.queries import problems as problem_queries
from memorybase.core.queries.problems import COUNT_TO
from memorybase.core.services import Services

# Due messages are ingested within seconds; after this long somebody should look.
OVERDUE = timedelta(minutes=10)
# A job takes seconds, unless it has a long message: others continue meanwhile, and people see why it is not done.
LONG = timedelta(minutes=2)
PROGRESS = timedelta(minutes=1)

_PARTS = [f"`{name}`" for name in stack_parts.WORDS]

# Why a message could not be embedded, by error code.
CAUSES = {
    "text_rejected": "the model gave no valid vector",
    "vector_rejected": "the vector store refused the vector",
    "worker_lost": "workers were lost",
}


class ProblemKind(StrEnum):
    """Kind of a problem, the worst first.

    part: a part of the stack does not answer. restore: vectors are rebuilt after a restore. lost: a memory base has
    lost vectors. failed: messages could not be embedded. overdue: due messages wait for more than ten minutes.
    long: a job of a long message has run for more than two minutes. quota: a quota is used up, and calls are refused.
    webhook: a webhook was disabled because it failed, or did not get events. paused: somebody has paused the memory
    base, or auto_capture is off, and messages wait.
    """

    PART = "part"
    RESTORE = "restore"
    LOST = "lost"
    FAILED = "failed"
    OVERDUE = "overdue"
    LONG = "long"
    QUOTA = "quota"
    WEBHOOK = "webhook"
    PAUSED = "paused"


class FixAction(StrEnum):
    """A way to end a problem: a call of the API, a command on the host, or a look."""

    REBUILD = "rebuild"
    RETRY = "retry"
    SYNC = "sync"
    TURN_ON = "turn_on"
    RESUME = "resume"
    ENABLE = "enable"
    REPLAY = "replay"
    CANCEL = "cancel"
    RUN_COMMAND = "run_command"


@dataclass(frozen=True, slots=True)
class Fix:
    """An action, and the call that takes it or the command to run on the host."""

    action: Annotated[FixAction, Field(description="What it does.")]
    label: Annotated[str, Field(description="The text of a button.")]
    method: Annotated[
        Literal["POST", "PATCH", "DELETE"] | None, Field(description="The method of the call; null for a command.")
    ] = None
    path: Annotated[str | None, Field(description="The path of the call; null for a command.")] = None
    body: Annotated[dict[str, Any] | None, Field(description="The body of the call; null without one.")] = None
    command: Annotated[str | None, Field(description="A command to run on the host.")] = None
    available: Annotated[bool, Field(description="Whether it can be done now.")] = True


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that needs a person. Counts are null where they do not apply, and stop at 1,000."""

    kind: Annotated[
        ProblemKind,
        Field(
            description="`part`: a part of the stack does not answer. "
            "`restore`: the vectors of memory bases are rebuilt after a restore; nothing needs to be done. "
            "`lost`: a memory base has lost vectors. `failed`: it has dead letters. "
            "`overdue`: due messages wait for more than ten minutes. "
            "`long`: a job of a long message has run for more than two minutes; others continue meanwhile. "
            "`quota`: a quota is used up, and calls are refused. "
            "`webhook`: a webhook was disabled because it failed, or did not get events. `paused`: it "
            "is paused, or auto_capture is off, and messages wait."
        ),
    ]
    title: Annotated[str, Field(description="The problem in a few words.")]
    text: Annotated[str, Field(description="What it means.")]
    since: Annotated[datetime | None, Field(description="Since when; null if not known.")]
    part: Annotated[
        str | None,
        Field(description=f"The part that does not answer: {', '.join(_PARTS[:-1])} or {_PARTS[-1]}."),
    ] = None
    memory_base_id: Annotated[UUID | None, Field(description="The memory base; null if all are concerned.")] = None
    memory_base_name: Annotated[str | None, Field(description="The name of the memory base.")] = None
    messages: Annotated[int | None, Field(description="Number of messages concerned.")] = None
    texts: Annotated[int | None, Field(description="Number of different texts among them.")] = None
    sessions: Annotated[int | None, Field(description="Number of sessions with such messages.")] = None
    webhook_id: Annotated[UUID | None, Field(description="The webhook; null for other kinds.")] = None
    job_id: Annotated[
        UUID | None, Field(description="The job of a long message, or the one that due messages wait for; else null.")
    ] = None
    fixes: Annotated[tuple[Fix, ...], Field(description="What ends it.")] = ()


@dataclass(frozen=True, slots=True)
class Problems:
    """The problems of the user's memory bases and of the stack, the worst first."""

    problems: Annotated[list[Problem], Field(description="What needs a person, the worst first.")]
    total: Annotated[int, Field(description="Number of problems, with those left out.")]


class Wait(NamedTuple):
    """Due messages that wait too long: the oldest, the job that holds them up (a row of job_lists), if one does, and
    how many messages were ingested lately."""

    oldest: datetime
    job: AnyRow | None
    ingested: int


MAX_OF_A_KIND = 50
_WORST_FIRST = list(ProblemKind)
_HOLDS = {JobState.RUNNING: "still runs", JobState.QUEUED: "is tried again"}


def problems(services: Services, user_id: UUID, seconds: float = stack_parts.ANSWER_SECONDS) -> Problems:
    """A constant number of queries. Raises no MemorybaseError: without a database, that is the problem.

    A part that has not answered after `seconds` is a problem.
    """
    states = stack_parts.part_views(services, seconds=seconds)
    found = [_of_part(part) for part in states if not part.ok]
    if any(part.name == "database" and not part.ok for part in states):
        return Problems(found, len(found))
    try:
        with services.database.reading() as db:
            now = clock.now(db)
            restore = restore_progress(db, services.settings, user_id)
            lost = problem_queries.lost(db, user_id, MAX_OF_A_KIND if restore is None else 0)
            failed = problem_queries.failed(db, user_id, MAX_OF_A_KIND)
            paused = problem_queries.paused(db, user_id, MAX_OF_A_KIND)
            long = problem_queries.long_jobs(db, user_id, now - LONG, MAX_OF_A_KIND)
            wait = _wait(db, user_id, now)
            waiting = problem_queries.waiting_jobs(db, user_id) if long.rows or wait else 0
            of_features = [each for hooks in services.hooks for each in hooks.problems(db, services, user_id)]
    except errors.DatabaseUnavailable as error:
        part = next(part for part in states if part.name == "database")
        found = [_of_part(part, error.message), *found]
        return Problems(found, len(found))
    if restore is not None:  # which explains what is lost, and what waits
        found.append(Problem(ProblemKind.RESTORE, restore.title, restore.text, restore.since))
    found += [_lost(row) for row in lost.rows]
    found += [_failed(row) for row in failed.rows]
    # While a part is down its problem explains the wait, and so does a long job.
    is_explained = long.rows or any(each.kind in {ProblemKind.PART, ProblemKind.RESTORE} for each in found)
    if wait is not None and not is_explained:
        held = None if wait.job is None else _held_up(wait.job, wait.oldest, waiting, now)
        found.append(held or _overdue(services, wait, waiting))
    found += [_long(row, waiting) for row in long.rows]
    found += [_paused(row) for row in paused.rows]
    found = sorted([*found, *of_features], key=lambda each: _WORST_FIRST.index(each.kind))
    counted = (failed, paused, long, *([lost] if restore is None else []))
    hidden = sum(each.total - len(each.rows) for each in counted)
    return Problems(found, len(found) + hidden)


def _of_part(part: PartView, problem: str | None = None) -> Problem:
    return Problem(
        kind=ProblemKind.PART,
        title=f"{part.label} does not answer" if part.alive is None else f"No {part.name} is running",
        text=f"{_sentence(problem or part.problem)} {part.stops}".strip(),
        since=part.since,
        part=part.name,
        fixes=(Fix(FixAction.RUN_COMMAND, "Copy the command", command=part.command),),
    )


def _lost(row: AnyRow) -> Problem:
    is_building = row.building is not None
    if row.missing is None or (row.missing and row.missing >= row.expected):
        text = "Its vectors are gone from the vector store. Searches by meaning fail until it is rebuilt."
    elif row.missing:
        text = f"{row.missing:,} of {row.expected:,} chunks are missing from the vector store. Searches may miss them."
    else:
        text = "The vector store holds chunks that the database does not know. Searches drop them."
    return Problem(
        kind=ProblemKind.LOST,
        title=f"{row.name} lost its vectors" if row.missing != 0 else f"{row.name} differs from its vectors",
        text="It is being rebuilt." if is_building else text,
        since=row.mismatch_since or row.mismatch_checked_at,
        memory_base_id=row.id,
        memory_base_name=row.name,
        fixes=(
            Fix(FixAction.REBUILD, "Rebuild", "POST", f"/v1/memories/{row.id}/regenerate", available=not is_building),
        ),
    )


def _failed(row: AnyRow) -> Problem:
    cause = CAUSES.get(row.error_code, "embedding failed")
    where = plural(row.sessions, "session")
    return Problem(
        kind=ProblemKind.FAILED,
        title=f"{plural(row.messages, 'message')} {'is' if row.messages == 1 else 'are'} not searchable",
        text=f"{row.name}: {cause} for {plural(row.texts, 'text')}, in {where}.",
        since=row.since,
        memory_base_id=row.id,
        memory_base_name=row.name,
        messages=row.messages,
        texts=row.texts,
        sessions=row.sessions,
        fixes=(
            Fix(
                FixAction.RETRY,
                f"Retry {row.messages:,}",
                "POST",
                "/v1/dead-letters/actions",
                {"action": "retry", "memory_base_id": str(row.id)},
            ),
        ),
    )


def _long(row: AnyRow, waiting: int) -> Problem:
    others = f" {plural(waiting, 'job')} {'waits' if waiting == 1 else 'wait'}; they take turns." if waiting else ""
    return Problem(
        kind=ProblemKind.LONG,
        title=f"{row.name} ingests a long message",
        text=f"Session {row.session_id}: {row.stored_chunks:,} of {row.total_chunks:,} chunks are stored.{others}",
        since=row.started_at,
        memory_base_id=row.id,
        memory_base_name=row.name,
        job_id=row.job_id,
        fixes=(Fix(FixAction.CANCEL, "Cancel", "DELETE", f"/v1/jobs/{row.job_id}"),),
    )


def _paused(row: AnyRow) -> Problem:
    sessions = plural(row.sessions, "session")
    path = f"/v1/memories/{row.id}"
    is_paused = row.paused_at is not None
    resume = (Fix(FixAction.RESUME, "Resume", "PATCH", path, {"paused": False}),)
    turn_on = (
        Fix(FixAction.SYNC, f"Ingest now: {sessions}", "POST", f"{path}/flush"),
        Fix(FixAction.TURN_ON, "Turn on", "PATCH", path, {"auto_capture": True}),
    )
    return Problem(
        kind=ProblemKind.PAUSED,
        title=f"{row.name} is {'paused' if is_paused else 'not being filled'}",
        text=f"{'Its ingestion is paused' if is_paused else 'Auto-capture is off'}; {plural(row.messages, 'message')} "
        f"in {sessions} {'waits' if row.messages == 1 else 'wait'}.",
        since=row.since,
        memory_base_id=row.id,
        memory_base_name=row.name,
        messages=row.messages,
        sessions=row.sessions,
        fixes=resume if is_paused else turn_on,
    )


def _wait(db: OrmSession, user_id: UUID, now: datetime) -> Wait | None:
    """Due messages that wait too long. They may be older than their job, which the idle rule or a flush creates."""
    oldest = statistics.oldest_due(db, user_id)
    if oldest is None or now - oldest <= OVERDUE:
        return None
    created = problem_queries.oldest_job(db, user_id)
    if created is not None and now - created <= OVERDUE:
        return None
    ingested, _ = statistics.ingested_since(db, user_id, now - PROGRESS)
    return Wait(oldest, job_lists.fetch_holding(db, user_id, now - LONG), ingested)


def _overdue(services: Services, wait: Wait, waiting: int) -> Problem:
    text = "Messages that are due are not ingested, although every part answers. Read the worker's log."
    if wait.ingested:
        text = f"{plural(waiting, 'job')} {'waits' if waiting == 1 else 'wait'} for a worker. "
        text += f"{plural(wait.ingested, 'message')} ingested in the last minute. More workers end the wait sooner."
    return Problem(
        kind=ProblemKind.OVERDUE,
        title="Messages wait too long",
        text=text,
        since=wait.oldest,
        fixes=(Fix(FixAction.RUN_COMMAND, "Copy the command", command=stack_parts.doctor_command(services.settings)),),
    )


def _held_up(row: AnyRow, oldest: datetime, waiting: int, now: datetime) -> Problem:
    """Messages wait too long, and a job is why."""
    job: IngestionJob = row.IngestionJob
    size = plural(job.total, "message")
    if job.total_chunks:
        size += f", {job.stored_chunks:,} of {plural(job.total_chunks, 'chunk')} stored"
    started = _span(now - (job.started_at or now))
    said = [f"Session {job.session_id} ({size}): attempt {max(job.attempts, 1)}, started {started} ago."]
    if job.error:
        said.append(f"Last error: {_sentence(job.error)}")
    if job.state == JobState.QUEUED and job.available_at > now:
        said.append(f"Next attempt in {_span(job.available_at - now)}.")
    others = waiting - (job.state == JobState.QUEUED)
    if others:
        said.append(f"{plural(others, 'job')} {'waits' if others == 1 else 'wait'} behind it.")
    return Problem(
        kind=ProblemKind.OVERDUE,
        title=f"A job of {row.memory_base_name} {_HOLDS[JobState(job.state)]}, and messages wait",
        text=" ".join(said),
        since=oldest,
        memory_base_id=job.memory_base_id,
        memory_base_name=row.memory_base_name,
        job_id=job.id,
        fixes=(Fix(FixAction.CANCEL, "Cancel", "DELETE", f"/v1/jobs/{job.id}"),),
    )


def _span(span: timedelta) -> str:
    seconds = max(0, int(span.total_seconds()))
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60:,} min"


def _sentence(text: str | None) -> str:
    if not text:
        return ""
    text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def plural(count: int, noun: str) -> str:
    """The number with its noun; counts stop at COUNT_TO."""
    return f"{count:,}{'+' if count >= COUNT_TO else ''} {noun if count == 1 else noun + 's'}"
