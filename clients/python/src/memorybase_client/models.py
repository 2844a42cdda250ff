"""What the server answers and takes. Answers keep fields that this version does not know.

Written by clients/python/generate.py: do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

Item = TypeVar("Item")


class Answer(BaseModel):
    """Of every answer."""

    model_config = ConfigDict(extra="allow", defer_build=True, protected_namespaces=())


class Page(Answer, Generic[Item]):
    """A page of a list. `total_capped`: `total` is a lower bound."""

    items: list[Item]
    total: int
    page: int
    size: int
    next_cursor: str | None = None
    total_capped: bool = False


Capture = Literal["outputs", "all"]
DeadLetterAction = Literal["retry", "discard"]
DeadLetterOutcome = Literal["retrying", "discarded", "not_found"]
DeliveryState = Literal["pending", "delivered", "dead"]
EventType = Literal[
    "job.completed",
    "job.failed",
    "dead_letter.created",
    "memory.mismatch",
    "memory.regenerated",
    "session.erased",
    "retention.expired",
    "webhook.test",
]
FixAction = Literal["rebuild", "retry", "sync", "turn_on", "resume", "enable", "replay", "cancel", "run_command"]
JobAction = Literal["retry", "cancel"]
JobKind = Literal["ingest", "regenerate", "repair"]
JobSkipReason = Literal["not_found", "ended", "running", "due", "replaced", "repair", "build"]
JobState = Literal["queued", "running", "done", "failed", "cancelled"]
MapState = Literal["too_few", "unavailable", "computing", "none", "stale", "ready"]
MemoryBaseStatus = Literal[
    "ready", "pending", "paused", "ingesting", "preparing", "regenerating", "unavailable", "deleting"
]
Priority = Literal["low", "normal", "high"]
ProblemKind = Literal["part", "restore", "lost", "failed", "overdue", "long", "quota", "webhook", "paused"]
SearchState = Literal["not_counted", "skipped", "searchable", "updating", "waiting", "ingesting", "failed", "lost"]
SessionState = Literal["synced", "pending", "ingesting", "failed"]
Window = Literal["1h", "24h", "7d"]
WorkerState = Literal["running", "draining", "lost"]


class Accepted(Answer):
    """The resource is no longer visible; its deletion continues in the background."""

    status: Literal["deleting"] | str = "deleting"
    """Always `deleting`."""


class ActionError(Answer):
    """Why an action was not done with a message."""

    code: str
    """The error's code."""
    message: str
    """For people; may change."""


class ActionResult(Answer):
    """Result of an action on one message."""

    id: str
    """The id, as it was sent."""
    message_id: UUID | None = None
    """The message; null if there is none."""
    done: bool
    """Whether it was done."""
    error: ActionError | None = None
    """Code and text of the error; null without one."""
    job_ids: list[UUID]
    """The repairs that update the knowledge bases."""


class Activity(Answer):
    """The window, widened to whole buckets, and its buckets, oldest first without gaps."""

    since: datetime
    """Start of the first bucket."""
    until: datetime
    """End of the last bucket."""
    bucket_seconds: int
    """Length of a bucket."""
    buckets: list[Bucket]
    """The buckets, oldest first, including empty ones."""


class AuditEntryView(Answer):
    """One entry of the audit log."""

    id: int
    """Number of the entry, in the order of writing."""
    seq: int | None = None
    """Position in the hash chain; null until the sweeper has sealed the entry."""
    hash: str | None = None
    """SHA-256 of the previous entry's hash and this entry, in hexadecimal; null until it is sealed."""
    at: datetime
    """When it happened."""
    kind: str
    """`change`, `read` (content shown on the page, or an export), `denied` (a call outside a key's limits) or
    `prune` (a checkpoint: older entries were deleted).
    """
    user_id: UUID | None = None
    """The user; null for the sweeper."""
    key_id: UUID | None = None
    """The API key; null for the command line and the sweeper."""
    person: str | None = None
    """The person whom a trusted proxy names, or the user of the command line; null if unknown."""
    via: str
    """`api`, `page`, `cli` or `sweeper`."""
    operation: str
    """The operation, or the method and path of the page."""
    objects: dict[str, str | int | list[str]]
    """Ids in the request and of what it created. Never text."""
    address: str | None = None
    """The address of the caller; behind a trusted proxy, the one that the proxy names."""
    request_id: str | None = None
    """The request, as in the header `X-Request-Id`; null without one."""


class BaseSessionView(Answer):
    """The progress of one session. One that is not tracked yet has all its messages pending."""

    id: UUID | None = None
    """The UUID of the tracked session; null if it is not tracked yet."""
    session_id: str
    """The session's id, chosen by the caller."""
    end_user_id: str | None = None
    """The person that the session or chat belongs to; null if unknown."""
    last_captured_at: datetime
    """When its latest message was captured."""
    cursor_id: UUID | None = None
    """The message at the cursor; null before the first one is ingested."""
    cursor_seq: int
    """The seq up to which the session is ingested; 0 at the beginning."""
    total_messages: int
    """Number of counted messages in the session."""
    total_processed: int
    """Number of messages in the ledger."""
    pending_messages: int
    """Number of pending messages."""
    last_sync_at: datetime | None = None
    """When messages were last ingested; null if never."""
    state: SessionState | str
    """`synced`, `pending`, `ingesting`, or `failed` if it has a dead letter or its last job failed."""


class Bucket(Answer):
    """`bucket_seconds` of ingestion. The delays are those of the messages ingested then; null without any."""

    at: datetime
    """Start of the bucket."""
    captured: int
    """Number of counted messages captured in this time."""
    ingested: int
    """Number of messages ingested for the first time in this time."""
    delay_mean_seconds: float | None = None
    """Mean time from capture to ingestion; null if nothing was ingested."""
    delay_max_seconds: float | None = None
    """Longest time from capture to ingestion; null if nothing was ingested."""


class BulkAnswer(Answer):
    """The result for each message, in order."""

    action: Literal["mute", "unmute", "pin", "unpin", "delete", "restore"] | str
    """The action."""
    batch_id: UUID
    """Names the changes that were made together; history shows it."""
    done: int
    """For how many messages it was done."""
    failed: int
    """For how many messages it failed."""
    results: list[ActionResult]
    """The result for each message, in order."""


class CalledFunction(TypedDict):
    """A function with its arguments."""

    name: str
    """The name of the function."""
    arguments: str
    """The arguments as JSON text."""


class CaptureAnswer(Answer):
    """Result of a capture, with the result of each node execution in it."""

    run_id: UUID
    """The run: its UUID."""
    run_external_id: str | None = None
    """The run's id as the caller chose it; null if that is a UUID."""
    session_id: str
    """The session's id, chosen by the caller."""
    created: bool
    """Whether anything was new; false for a repeat."""
    messages: list[CapturedMessage]
    """The result for each message, in order."""
    ingestion: list[IngestionState]
    """The effect on each memory base of the flow that has `auto_capture`."""
    warnings: list[Caveat] = Field(default_factory=list)
    """Fields of the messages that are stored in their metadata, and secrets that were replaced."""
    node_executions: list[ReportedExecution] = Field(default_factory=list)
    """The result for each node execution, in order; absent without any."""


class CapturedMessage(Answer):
    """Result of a capture for one message."""

    id: UUID
    """The UUID."""
    external_id: str | None = None
    """The id that the caller chose; null if that is a UUID."""
    seq: int
    """Number of the message in its session or chat, in commit order."""
    created: bool
    """Whether it is new; false for a repeat."""
    deleted: bool
    """Whether the message was deleted earlier and therefore stays deleted."""


class Caveat(Answer):
    """An entry of an answer's `warnings`. Programs read the `code`."""

    code: str
    """What it is about: `outputs_only`, `no_memory_base`, `unknown_session`, `recalled_within_session`,
    `query_cut`, `setting_kept`, `kept_in_metadata` or `secrets_redacted`.
    """
    message: str
    """For people; may change."""


class ChangeView(Answer):
    """One change of a message."""

    id: UUID
    """The UUID."""
    message_id: UUID
    """The message."""
    action: Literal["edit", "mute", "unmute", "pin", "unpin", "delete", "restore"] | str
    """What was done: `edit`, `mute`, `unmute`, `pin`, `unpin`, `delete` or `restore`."""
    at: datetime
    """When."""
    by: str | None = None
    """The name of the API key; null if unknown."""
    reason: str | None = None
    """Why; null if no reason was given."""
    version: int
    """The message's version after the change."""
    former: FormerFields | None = None
    """The fields that an edit replaced, as they were; null of other changes."""
    difference: list[Piece] | None = None
    """What an edit did to the text, in reading order; null if it changed no text."""
    batch_id: UUID | None = None
    """The same for changes that were made together; null if it was made alone."""


class ChatMemoryView(Answer):
    """A stored chat memory."""

    name: str
    """The name, for people."""
    chat_id: str
    """Template of the chat id, such as user-{{ start.user_id }}."""
    user_message_content: str = "{{ start | json }}"
    """Template of user messages."""
    limit_type: Literal["messages", "tokens"] | str = "messages"
    """What limits a view: a number of messages or of tokens."""
    trim_strategy: Literal["drop_oldest", "drop_middle"] | str = "drop_oldest"
    """What is dropped first: `drop_oldest`, or `drop_middle`, which keeps the first messages and the newest."""
    clear_tool_results: bool = False
    """Whether results of tools are emptied, except those of the current turn."""
    enable_summarization: bool = False
    """Whether a summary replaces what the limits leave out."""
    summarize_prompt: str = (
        "Summarize the key points of the removed messages, preserving important context and decisions made."
    )
    """The instruction for summaries."""
    use_predefined_messages: bool = False
    """Whether views begin with the predefined messages."""
    predefined_messages: list[PredefinedMessage] = Field(default_factory=list)
    """Messages shown before the history."""
    trim_mode: Literal["continuous", "threshold"] | str = "continuous"
    """For limit_type messages."""
    max_messages: int = 20
    """Messages that continuous trimming keeps."""
    threshold_trigger: int = 500
    """Trims at this many messages."""
    threshold_target: int = 100
    """Messages kept then; below the trigger."""
    max_images: int = 1
    """Maximum images that are sent, newest first; others are replaced by their name."""
    max_tokens: int = 2000
    """Maximum tokens."""
    min_messages: int = 0
    """Newest messages kept beyond max_tokens."""
    pin_predefined: bool = False
    """Never trim predefined messages; they still count."""
    keep_first: int | None = None
    """First messages kept by drop_middle; by default the predefined ones, at least 2."""
    id: UUID
    """The UUID."""
    flow_id: UUID
    """The flow: its UUID."""
    node_id: str
    """The node of the flow, named by the caller."""
    created_at: datetime
    """When it was created."""
    updated_at: datetime
    """When it last changed."""


class ChatMessageView(Answer):
    """A stored message of a chat."""

    id: UUID
    """The UUID."""
    external_id: str | None = None
    """The id that the caller chose; null if that is a UUID."""
    seq: int
    """Number of the message in its session or chat, in commit order."""
    run_id: UUID | None = None
    """The run that wrote the message; null if none was named."""
    request_id: UUID
    """The run that wrote the message, or a new id for each call without a run."""
    role: str
    """Who speaks."""
    content: str | list[dict[str, Any]] | None = None
    """Text, a list of content parts, or null next to tool calls."""
    tool_calls: list[dict[str, Any]] | None = None
    """Calls of tools by the model, in OpenAI's format."""
    tool_call_id: str | None = None
    """The tool call that this message answers."""
    name: str | None = None
    """The name of the speaker or the tool, as in OpenAI's format."""
    files: list[Any]
    """Files of the message, as they were sent."""
    metadata: dict[str, Any]
    """Any JSON object of the caller."""
    status: str
    """Whether the message is complete: `completed`, `failed` or `stopped`."""
    tokens: int
    """Number of tokens."""
    created_at: datetime
    """When it was created."""


class ChatPage(Answer):
    """A page of a log, oldest first. Both ways to continue go in the same direction."""

    items: list[ChatMessageView]
    """The items of this page."""
    total: int
    """Number of messages in the log."""
    has_more: bool
    """Whether more messages follow in the same direction."""
    counter: str
    """What counted the tokens: a tokenizer, or the estimate with its version."""
    next_offset: int | None = None
    """Send it as `offset` to continue; null on the last page."""
    next_cursor: str | None = None
    """Send it as `cursor` to get the next page; null on the last one."""


class ChatView(Answer):
    """A chat with the size of its whole log."""

    chat_id: str
    """The chat's id, chosen by the caller."""
    end_user_id: str | None = None
    """The person that the session or chat belongs to; null if unknown."""
    messages: int
    """Number of messages in the log."""
    tokens: int
    """Number of tokens in the log."""
    counter: str
    """What counted the tokens: a tokenizer, or the estimate with its version."""
    created_at: datetime
    """When it was created."""
    updated_at: datetime
    """When it last changed."""


class ChatsView(Answer):
    """A chat memory, and the person's chats in it."""

    flow_id: UUID
    """The flow: its UUID."""
    node_id: str
    """The node of the flow, named by the caller."""
    name: str
    """The name of the chat memory."""
    chats: int
    """Number of the person's chats."""
    messages: int
    """Number of messages in these chats."""


class ContextAnswer(Answer):
    """A view with a report of how the budget was spent."""

    messages: list[dict[str, Any]]
    """Messages that can go to a model unchanged."""
    sources: list[Source]
    """Where each message comes from, parallel to `messages`."""
    text: str
    """The same content as a transcript."""
    report: ContextReport
    """What happened to the log."""


class ContextConfig(TypedDict):
    """Overrides of the preset."""

    pairs: NotRequired[int]
    """Number of latest pairs of question and reply, in session memory."""
    max_turns: NotRequired[int]
    """Maximum turns of history."""
    max_messages: NotRequired[int]
    """Maximum messages of history."""
    summary: NotRequired[bool]
    """Whether a summary precedes the history."""
    summarizer: NotRequired[str]
    """What writes the summary, one of those in the settings; by default the first."""
    uncovered_tokens: NotRequired[int]
    """Maximum tokens of older messages that no summary covers yet and that are shown verbatim."""
    count_current: NotRequired[bool]
    """Whether the current question counts as one of the pairs."""
    clip: NotRequired[bool]
    """Whether the oldest turn may be cut with a mark to fill the budget."""
    summary_style: NotRequired[Literal["line", "heading", "both"]]
    """How the summary is introduced: by a line, a heading or both."""
    summary_first: NotRequired[bool]
    """Whether the summary comes before the pairs."""
    align: NotRequired[Literal["none", "user_first", "strict"]]
    """Which messages to drop or to join, as the model's provider demands: `none`; `user_first`, nothing before the
    first question; `strict`, also no empty messages and no two neighbors of one role.
    """
    format: NotRequired[Literal["openai", "langchain", "text"]]
    """Format of `messages`: `openai` or `langchain`; `text` if only `text` is read."""
    roles: NotRequired[Sequence[Literal["user", "assistant", "system", "tool"]]]
    """Only messages of these roles."""


class ContextReport(Answer):
    """The report of a view, its memories and its standing statements in order, and how its budget was spent."""

    kept: list[str]
    """Ids of the messages in the view."""
    removed: list[Removed]
    """Messages of the thread that are not in the view."""
    tokens_before: int
    """Tokens of the thread, before clearing and trimming."""
    tokens_after: int
    """Tokens of the view."""
    budget: int | None = None
    """Maximum tokens of the view; null without a limit."""
    over_budget: bool
    """Whether not even the newest unit fits."""
    counter: str
    """What counted the tokens: a tokenizer, or the estimate with its version."""
    flags: list[str] = Field(default_factory=list)
    """What else there is to know, such as `gap` or `broken_link`."""
    degraded: list[str] = Field(default_factory=list)
    """Parts that were unavailable, such as `recall`; the rest is complete."""
    replaced_parts: int = 0
    """How many content parts a model does not get: a line replaces each, and nothing a thought."""
    summary: SummaryUse | None = None
    """What the summary of the view covers; null without one."""
    recalled: list[Recalled]
    """The memories in the view, in its order."""
    below_min_score: int | None = None
    """How many messages the search found that are not recalled because of `min_score`."""
    standing: list[StandingUse] = Field(default_factory=list)
    """The standing statements in the view, in its order."""
    facts: list[RecalledFact] = Field(default_factory=list)
    """The facts in the view that a model derived, best first."""
    spent: Spent
    """How the budget was spent."""
    searched: Literal["end_user", "session", "flow"] | str | None = None
    """Whose messages memories were sought in: the end user's, the whole flow's, or the session's own; null without
    a search.
    """
    warnings: list[Caveat] = Field(default_factory=list)
    """Why the view may hold less than expected, and what to do about it."""


class CorrectionOf(Answer):
    """The other message of a correction, with both values as they were written; a denial has none. Of kind
    "statement" the values are both sentences.
    """

    message_id: UUID
    """The message."""
    kind: Literal["date", "time", "percent", "number", "name"] | str | Literal["statement", "denial"]
    """What the two messages differ in: a `date`, `time`, `percent`, `number` or `name`; `statement`, if the later
    one says in other words that something changed; or `denial`, if one denies what the other claims.
    """
    was: str | None = None
    """The value of the earlier message, as it was written, or its sentence for a `statement`; null for a denial."""
    now: str | None = None
    """The value of the later message, as it was written, or its sentence for a `statement`; null for a denial."""


class Covers(Answer):
    """The messages that a summary covers, by seq."""

    from_seq: int
    """The seq of the first message that the summary covers."""
    to_seq: int
    """The seq of the last message."""


class DeadLetterCause(Answer):
    """Dead letters of one cause."""

    cause: str
    """The error code."""
    messages: int
    """Number of dead letters of this cause."""
    retrying: int
    """How many of them a job tries again."""
    sessions: int
    """Number of sessions, counted for each memory base."""
    memory_bases: int
    """Number of memory bases."""
    since: datetime
    """When the oldest was written."""
    distinct_texts: int
    """Number of different texts."""
    texts: list[DeadLetterText]
    """The most frequent texts."""


class DeadLetterError(Answer):
    """Why the message could not be embedded."""

    code: str
    """Stable code of the error."""
    message: str
    """For people; may change."""


class DeadLetterGroups(Answer):
    """Every dead letter that is not discarded, by cause."""

    causes: list[DeadLetterCause]
    """The causes, most messages first."""
    messages: int
    """Number of dead letters of all causes."""


class DeadLetterResult(Answer):
    """Result for one dead letter."""

    id: UUID
    """The dead letter."""
    outcome: DeadLetterOutcome | str
    """`retrying`, `discarded`, or `not_found` if there is no such dead letter."""
    memory_base_id: UUID | None = None
    """Its memory base; null if there is no such dead letter."""
    session_id: str | None = None
    """Its session; null if there is no such dead letter."""
    message_id: UUID | None = None
    """Its message; null if there is no such dead letter."""
    job_id: UUID | None = None
    """The job that tries again; null if none was started, because the session's active job comes first."""


class DeadLetterResults(Answer):
    """A result for each dead letter of this call."""

    action: DeadLetterAction | str
    """The action."""
    results: list[DeadLetterResult]
    """A result for each dead letter."""
    remaining: int
    """How many more match. 0 if the request named ids."""
    taken: int | None = None
    """How many the action took; after a dry run how many it would take, in as many calls as that needs."""
    skipped: dict[str, int] | None = None
    """How many it left alone: `retrying` (a repair retries them already) or `not_found`."""
    dry_run: bool | None = None
    """Whether nothing was changed."""


class DeadLetterText(Answer):
    """Dead letters of one cause whose messages have the same text."""

    example: DeadLetterView
    """One of the dead letters."""
    messages: int
    """Number of dead letters with this text."""
    retrying: int
    """How many of them a job tries again."""
    sessions: int
    """Number of sessions, counted for each memory base."""
    since: datetime
    """When the oldest was written."""


class DeadLetterView(Answer):
    """A message that could not be embedded."""

    id: UUID
    """The UUID."""
    memory_base_id: UUID
    """The memory base."""
    memory_base_name: str
    """The name of the memory base."""
    session_id: str
    """The session's id, chosen by the caller."""
    message_id: UUID
    """The message."""
    message: MessageView | None = None
    """The message; null if it was deleted since."""
    state: str
    """`dead`, or `retrying` while a job tries again."""
    error: DeadLetterError
    """Why it could not be embedded."""
    attempts: int
    """How many attempts were made."""
    created_at: datetime
    """When it was created."""
    updated_at: datetime
    """When it last changed."""


class Deleted(Answer):
    """The messages that a deletion removed from a chat's log."""

    deleted: list[UUID]
    """Ids of the deleted messages."""
    remaining_count: int
    """Number of messages left in the log."""


class DeletedMessageView(Answer):
    """A deleted message that can be restored, or captured again."""

    id: UUID
    """The UUID."""
    external_id: str | None = None
    """The id that the caller chose; null if that is a UUID."""
    flow_id: UUID
    """The flow: its UUID."""
    session_id: str
    """The session's id, chosen by the caller."""
    run_id: UUID
    """The run: its UUID."""
    end_user_id: str | None = None
    """The person that the session or chat belongs to; null if unknown."""
    seq: int
    """Number of the message in its session or chat, in commit order."""
    role: str
    """Who speaks."""
    content: str | list[dict[str, Any]] | None = None
    """Text, a list of content parts, or null next to tool calls."""
    sender_name: str | None = None
    """The speaker's name, for display."""
    version: int
    """The version that was deleted."""
    timestamp: datetime
    """When the message was written, for display and filters. `seq` decides the order."""
    deleted_at: datetime
    """When it was deleted."""
    by: str | None = None
    """The name of the API key; null if unknown."""
    reason: str | None = None
    """Why; null if no reason was given."""
    restorable_until: datetime
    """Until when it can be restored; null if it cannot be."""
    removed: list[RemovedFrom]
    """The memory bases that held it; repairs delete its chunks there."""


class DeletionReceipt(Answer):
    """A deleted message: author and reason of the deletion, the memory bases that it is removed from, and until
    when it can be restored.
    """

    message_id: UUID
    """The message."""
    deleted_at: datetime
    """When it was deleted."""
    by: str | None = None
    """The name of the API key; null if unknown."""
    reason: str | None = None
    """Why; null if no reason was given."""
    restorable_until: datetime | None = None
    """Until when it can be restored; null if it cannot be."""
    removed: list[RemovedFrom]
    """The memory bases that held it; repairs delete its chunks there."""
    job_ids: list[UUID]
    """The repairs that update the knowledge bases."""


class DeliveryView(Answer):
    """A delivery of an event to a webhook."""

    id: UUID
    """The UUID."""
    webhook_id: UUID
    """The webhook."""
    event_id: UUID
    """The event: the `webhook-id` of the request, the same for each attempt and webhook."""
    event_type: EventType | str
    """The type of the event."""
    state: DeliveryState | str
    """`pending`, `delivered` or `dead`."""
    attempts: int
    """How many attempts were made since its creation or replay."""
    next_attempt_at: datetime | None = None
    """When the next attempt is due; while one is in progress, when it counts as lost. Null unless pending."""
    last_attempt_at: datetime | None = None
    """When the last attempt ended; null before the first."""
    last_status: int | None = None
    """HTTP status of the last answer; null without one."""
    last_error: str | None = None
    """Why the last attempt failed; null if it succeeded."""
    occurred_at: datetime
    """When the event happened."""
    finished_at: datetime | None = None
    """When it was delivered or died; null while pending."""
    body: str
    """The JSON text that is signed and sent."""


class Discarded(Answer):
    """Number of dead deliveries that were deleted, and whether more are left."""

    discarded: int
    """How many deliveries were deleted."""
    remaining: bool
    """Whether more dead deliveries match."""


class DistillationUsageView(Answer):
    """Usage of a memory base's distillation since it was first turned on."""

    requests: int
    """Number of requests to the model."""
    prompt_tokens: int
    """Tokens of the requests."""
    completion_tokens: int
    """Tokens of the answers."""
    tokens_today: int
    """Tokens that this memory base used today, in UTC."""
    cost: float | None = None
    """What the tokens cost, by the prices in the settings; null without prices."""
    facts: int
    """Number of facts that were stored, also those that say the same."""
    refused: dict[str, int]
    """How many facts and answers did not pass the checks, by reason."""


class DistillationView(Answer):
    """Whether facts are distilled for a memory base, the waiting sessions, and the usage."""

    memory_base_id: UUID
    """The memory base."""
    enabled: bool
    """Whether facts are derived from what is ingested."""
    available: bool
    """Whether the operator has set a model for it."""
    state: Literal["off", "idle", "distilling", "waiting"] | str
    """`off`, `idle`, `distilling`, or `waiting`: for the end of an outage or for the next day."""
    pending_sessions: int
    """Number of sessions with messages that were not distilled yet."""
    skipped_messages: int
    """Number of messages that were given up because the model's answers were useless."""
    error: str | None = None
    """Why the latest attempt that failed did; `daily_tokens_spent`: the tokens of the day are used up."""
    waits_until: datetime | None = None
    """When the next session is due; null if nothing waits."""
    facts: int
    """Number of facts."""
    tokens_today: int
    """Tokens that the whole installation used today, in UTC."""
    daily_tokens: int
    """Tokens that the whole installation may use on a day."""
    usage: DistillationUsageView
    """What this memory base used."""


class DocumentAnswer(Answer):
    """Chunks, best first; ties by document and index."""

    results: list[DocumentHit]
    """What was found, best first."""
    took_ms: float
    """Duration of the search in milliseconds."""
    warnings: list[Caveat] = Field(default_factory=list)
    """If only the end of the query was searched for."""


class DocumentBody(TypedDict):
    """A text. Without `metadata`, stored metadata is kept."""

    text: str
    """The text. At most 1000000 characters."""
    id: NotRequired[str | UUID | None]
    """The caller's id; a document with the same id is replaced. By default its text and metadata identify a
    document.
    """
    metadata: NotRequired[Mapping[str, Any] | None]
    """Any JSON object; searches can filter by it. Without it, stored metadata is kept."""


class DocumentHit(Answer):
    """A chunk that a search found."""

    id: str
    """The caller's id, or the `document_id` without one."""
    document_id: UUID
    """The UUID of the document."""
    chunk_index: int
    """Number of the chunk in the document, from 0."""
    snippet: str
    """The text of the chunk."""
    score: float
    """From 0 to 1, higher is better; null if nothing was searched."""
    metadata: dict[str, Any]
    """The metadata of the document."""


class DocumentResult(Answer):
    """The result for one document. updated: the same text with other metadata; failed: error_code has the reason."""

    id: str
    """The caller's id, or the `document_id` without one."""
    document_id: UUID
    """The UUID of the document."""
    status: Literal["created", "replaced", "updated", "unchanged", "failed"] | str
    """What was done: `updated` is the same text with other metadata."""
    chunks: int
    """Number of chunks."""
    error_code: str | None = None
    """Why it failed; null if it did not."""


class DocumentsAnswer(Answer):
    """The result of each document, in order."""

    documents: list[DocumentResult]
    """The result of each document, in order."""
    warnings: list[Caveat] = Field(default_factory=list)
    """Secrets that the request replaced; absent without any."""


class EndUserDetails(Answer):
    """Everything that is stored of a person."""

    end_user_id: str
    """The person, by the id that captures named."""
    first_seen: datetime
    """When the first session or chat was created."""
    last_seen: datetime
    """When a message was last captured in a session or a chat."""
    flows: int
    """Number of flows with a session or a chat of the person."""
    sessions: int
    """Number of sessions."""
    runs: int
    """Number of runs in the sessions."""
    messages: int
    """Number of messages in the sessions."""
    chats: int
    """Number of chats."""
    chat_messages: int
    """Number of messages in the chats."""
    summaries: int
    """Number of summaries of sessions and chats."""
    node_executions: int
    """Number of node executions in the sessions."""
    memory_uses: int
    """Number of recorded memory uses in the sessions."""
    memories: list[HeldView]
    """The memory bases that hold messages of the person."""
    chat_memories: list[ChatsView]
    """The chat memories that have chats of the person."""


class EndUserView(Answer):
    """A person."""

    end_user_id: str
    """The person, by the id that captures named."""
    sessions: int
    """Number of sessions."""
    chats: int
    """Number of chats."""
    messages: int
    """Number of messages in the sessions."""
    last_seen: datetime
    """When a message was last captured in a session or a chat."""


class ErasureReceipt(Answer):
    """The rows that an erasure deleted, kept as evidence."""

    sessions: int = 0
    """Number of deleted sessions."""
    runs: int = 0
    """Number of deleted runs."""
    messages: int = 0
    """Number of deleted messages."""
    node_executions: int = 0
    """Number of deleted node executions."""
    context_messages: int = 0
    """How many of the messages were in contexts of node executions."""
    memory_uses: int = 0
    """Number of deleted or redacted records of what models received."""
    summaries: int = 0
    """Number of deleted summaries, of sessions and of chats."""
    chunks: int = 0
    """Number of chunks that the ledgers held."""
    pending_repairs: int = 0
    """Number of repairs that delete the chunks."""
    job_ids: list[UUID] = Field(default_factory=list)
    """The repairs that are queued; the others follow the active jobs."""
    chats: int = 0
    """Number of deleted chats."""
    chat_messages: int = 0
    """Number of deleted messages of chats."""
    message_changes: int = 0
    """Number of deleted records of changes, with former versions of messages."""
    restorable_messages: int = 0
    """Number of messages that had been deleted one by one and could still be restored."""
    standing_statements: int = 0
    """Number of deleted standing statements."""
    facts: int = 0
    """Number of deleted facts that a model had derived from the messages."""
    id: UUID
    """The UUID."""
    operation: Literal["erase_end_user", "delete_session", "redact_secrets"] | str
    """What was asked for: `erase_end_user`, `delete_session` or `redact_secrets`, which counts redacted rows."""
    flow_id: UUID | None = None
    """The flow of the session; null for an end user, and for secrets of all flows."""
    subject_id: UUID
    """Derived from the id of the end user or session, which is not kept; the same for the same."""
    erased_at: datetime
    """When it was deleted from SQL."""
    remaining: list[Remainder]
    """What stays in files of the stores and the database, and until when."""


class ExecutionOutputs(TypedDict):
    """A node's outputs: its text, and its context (the prompt without the system message, then the answer). Other
    fields are stored too.
    """

    text: NotRequired[str | None]
    """The text that the node returned."""
    context: NotRequired[
        Sequence[OpenAIMessage | Mapping[str, Any] | LangflowMessage | LangChainMessage | LangChainDump] | None
    ]
    """The messages of the node's model call: the prompt without the system message, then the answer."""
    branch: NotRequired[int | str | None]
    """Tells executions that ran in parallel, with the same index, from each other: the next one reads all of them.
    Without it only the last one with this index counts.
    """


class FactHit(Answer):
    """A fact about a question, which a model derived from messages."""

    fact_id: UUID
    """The fact."""
    memory_base_id: UUID
    """The memory base."""
    session_id: str
    """The session's id, chosen by the caller."""
    kind: str = "fact"
    """Always `fact`."""
    derived: bool = True
    """Always true: a model derived it from messages."""
    who: str
    """Whom or what the fact is about."""
    what: str
    """The fact, in one sentence."""
    when: str | None = None
    """When it holds or happened, as the conversation says it; null if it does not."""
    said_at: datetime
    """When the newest of its sources was said."""
    score: float
    """How much it has to do with the question, from 0 to 1."""
    source_message_ids: list[UUID]
    """The messages that it rests on."""


class FactSourceView(Answer):
    """A message that a fact rests on."""

    message_id: UUID
    """The message."""
    version: int
    """The version that the model read."""
    seq: int
    """Its position in its session."""


class FactView(Answer):
    """A fact that a model derived from messages."""

    id: UUID
    """The UUID."""
    memory_base_id: UUID
    """The memory base."""
    session_id: str
    """The session's id, chosen by the caller."""
    end_user_id: str | None = None
    """The person that the session or chat belongs to; null if unknown."""
    derived: bool
    """Always true: a model derived it from messages."""
    who: str
    """Whom or what the fact is about."""
    what: str
    """The fact, in one sentence."""
    when: str | None = None
    """When it holds or happened, as the conversation says it; null if it does not."""
    said_at: datetime
    """When the newest of its sources was said."""
    sources: list[FactSourceView]
    """The messages that it rests on."""
    superseded_by: UUID | None = None
    """The later fact that corrects it; null if it holds."""
    corrects: list[UUID]
    """The earlier facts that it corrects."""
    model: str
    """The model that derived it."""
    created_at: datetime
    """When it was created."""


class FactsDeleted(Answer):
    """Number of deleted facts."""

    deleted: int
    """Number of deleted facts."""


class FactsFound(Answer):
    """Facts about a question, best first. A model derived them from messages, which each of them names.
    `warnings`: if only a part of the question was looked for.
    """

    facts: list[FactHit]
    """The facts."""
    warnings: list[Caveat] = Field(default_factory=list)
    """If only the end of the query was searched for."""


class Fix(Answer):
    """An action, and the call that takes it or the command to run on the host."""

    action: FixAction | str
    """What it does."""
    label: str
    """The text of a button."""
    method: Literal["POST", "PATCH", "DELETE"] | str | None = None
    """The method of the call; null for a command."""
    path: str | None = None
    """The path of the call; null for a command."""
    body: FixBody | None = None
    """The body of the call; null without one."""
    command: str | None = None
    """A command to run on the host."""
    available: bool = True
    """Whether it can be done now."""


class FixBody(Answer):
    """The body of a call that ends a problem."""

    action: str | None = None
    """`retry`: the dead letters of the memory base."""
    memory_base_id: UUID | None = None
    """The memory base."""
    auto_capture: bool | None = None
    """Captures trigger ingestion again."""


class FlowOverview(Answer):
    """A flow in the window."""

    id: UUID
    """The UUID."""
    external_id: str | None = None
    """The id that the caller chose; null if that is a UUID."""
    name: str
    """The name of the flow."""
    runs: int
    """Number of runs."""
    runs_by_bucket: list[int]
    """Number of runs in each bucket."""
    sessions: int
    """Number of sessions with captures."""
    memories: list[MemoryBaseView]
    """Its memory bases."""
    delay_median_seconds: float | None = None
    """Median time until its latest messages were searchable; null if none was ingested."""
    last_captured_at: datetime | None = None
    """When a message was last captured; null if never."""


class FlowView(Answer):
    """A flow."""

    id: UUID
    """The UUID of the flow."""
    external_id: str | None = None
    """The id that the caller chose; null if that is a UUID."""
    name: str
    """The name, for people."""
    created_at: datetime
    """When it was created."""
    retain_days: int | None = None
    """Days until what was captured is deleted; null: it is kept."""
    standing: bool | None = None
    """Whether contexts contain the end user's standing statements unless the call says otherwise."""
    secrets: Literal["keep", "redact", "refuse"] | str | None = None
    """What is done with secrets that callers send, such as API keys and passwords: `keep` them, `redact` them, or
    `refuse` the request; null: as the setting `secrets` says.
    """
    time_zone: str | None = None
    """IANA name of the zone whose days queries and contexts mean, unless the call says one."""


class FlushResult(Answer):
    """The jobs that a flush queued, the sessions that have one already, and of a list of sessions the others."""

    jobs: list[JobBrief]
    """The queued jobs."""
    conflicts: list[JobConflict]
    """Sessions that already have an active job."""
    skipped: list[SkippedSession] = Field(default_factory=list)
    """Of the sessions in `session_ids`: those that need no job."""
    deferred: int = 0
    """How many more sessions are due: the sweeper queues their jobs."""


class FormerFields(Answer):
    """The fields of a message that an edit replaced, as they were."""

    content: str | list[dict[str, Any]] | None = None
    """The former content."""
    files: list[Any] = Field(default_factory=list)
    """The former files."""
    metadata: dict[str, Any] | None = None
    """The former metadata."""
    tool_calls: list[dict[str, Any]] | None = None
    """The former tool calls, replaced by a capture."""
    tool_call_id: str | None = None
    """The former tool call that it answered."""
    name: str | None = None
    """The former name."""
    status: str | None = None
    """The former status, replaced by a capture."""


class FoundSecret(Answer):
    """A stored secret, without its text."""

    place: str
    """Where it is: `messages`, `node_executions` or another kind of rows."""
    id: UUID
    """The UUID of the row, of a chat's message that of the chat."""
    flow_id: UUID
    """The flow."""
    field: str
    """The field with it."""
    kind: str
    """What kind of secret it is."""
    at: int
    """The number of its first character in the text of the field, from 1."""


class FunctionCall(TypedDict):
    """A call of a function."""

    id: NotRequired[str | UUID | None]
    """The id that the result refers to."""
    type: NotRequired[str]
    """Always `function`."""
    function: CalledFunction | Mapping[str, Any]
    """What is called."""


class GivenMemory(Answer):
    """A memory that a model was given."""

    message_id: UUID
    """The message."""
    score: float | None = None
    """The score of the memory; null if it was not recorded, or for a message that is shown next to a better one."""
    edited: bool
    """Whether the message was edited since: the model received other text."""
    message: MessageView | None = None
    """The message as it is now; null if it was deleted."""


class GivenView(Answer):
    """The memory that a node's model was given, best memories first."""

    at: datetime
    """When the memory was read."""
    query: str | None = None
    """What was looked for; null if nothing was."""
    verdict: Literal["not_asked", "nothing_found", "did_not_help", "may_help", "fits"] | str
    """What recall brought: `not_asked`, nothing was looked for; `nothing_found`; or by the best score
    `did_not_help`, `may_help` or `fits`.
    """
    best_score: float | None = None
    """The best score of the memories; null without one."""
    tokens: TokensByKind
    """Tokens of the view, by where they come from."""
    total_tokens: int
    """Tokens of the view."""
    budget: int | None = None
    """Maximum tokens of the view; null without a limit."""
    memories: list[GivenMemory]
    """The recalled memories, best first."""
    left_out: list[LeftOut]
    """Messages that the view left out, by reason."""
    flags: list[str]
    """What else there is to know, such as `gap` or `broken_link`."""
    degraded: list[str]
    """Parts that were unavailable, such as `recall`; the rest is complete."""


class HeldView(Answer):
    """A memory base and how many of the person's messages it holds."""

    memory_base_id: UUID
    """The memory base."""
    name: str
    """The name of the memory base."""
    flow_id: UUID
    """The flow: its UUID."""
    messages: int
    """Number of the person's messages that it holds."""


class HistoryAnswer(Answer):
    """A view; in mode node with the execution that it was read from."""

    messages: list[dict[str, Any]]
    """Messages that can go to a model unchanged."""
    sources: list[Source]
    """Where each message comes from, parallel to `messages`."""
    text: str
    """The same content as a transcript."""
    report: Report
    """What happened to the log."""
    execution_id: UUID | None = None
    """In mode `node`: the execution that the view was read from; null if the node has not succeeded yet."""


class Hit(Answer):
    """A found message."""

    message_id: UUID
    """The message."""
    memory_base_id: UUID
    """The memory base."""
    session_id: str
    """The session's id, chosen by the caller."""
    run_id: UUID
    """The run: its UUID."""
    seq: int
    """Number of the message in its session or chat, in commit order."""
    role: str
    """Who speaks."""
    sender_name: str | None = None
    """The speaker's name, for display."""
    content: str | list[dict[str, Any]] | None = None
    """The content of the message."""
    snippet: str
    """The matching passage: whole sentences, of `snippet_chars` at most."""
    snippet_start: int
    """Where the passage begins in the message's text, in characters."""
    snippet_end: int
    """Where the passage ends."""
    timestamp: datetime
    """When the message was written, for display and filters. `seq` decides the order."""
    score: float
    """From 0 to 1, higher is better; null if nothing was searched."""
    pending: bool
    """Whether the message, or its newest version, is not ingested yet."""
    metadata: dict[str, Any]
    """The metadata of the message."""
    before: list[Turn] = Field(default_factory=list)
    """The turns before the message, in conversation order; see `neighbors`."""
    after: list[Turn] = Field(default_factory=list)
    """The turns after the message, in conversation order."""
    parts: ScoreParts | None = None
    """How the score was computed; null unless `explain` was set."""
    alike: int = 0
    """Number of other messages with the same text that are folded into this result, with `fold_alike`."""
    pinned: bool = False
    """Whether the message is pinned: it comes first if it is relevant."""
    exact_match: Literal["whole", "part"] | str | None = None
    """`whole` if the message has the text of the query, `part` if one of the two contains the other's text. Up to
    three of them come first, whatever their score, in a search without `min_score`; null in others, and in mode
    `dense`.
    """
    reply_to: UUID | None = None
    """The result with an `exact_match` that this message replies to: it comes directly behind it."""
    corrects: CorrectionOf | None = None
    """An earlier message that says something else about what the query asks for: this result is the later one."""
    corrected_by: CorrectionOf | None = None
    """A later message that says something else about what the query asks for."""
    superseded_by: UUID | None = None
    """The later message that holds in place of this one: that of `corrected_by`, unless it is a denial, or the one
    that states the value of this one again after it had changed; null for most results.
    """


class HoldView(Answer):
    """A legal hold on a flow, on one of its sessions, or on an end user in all flows. What it keeps is not
    deleted.
    """

    id: UUID
    """The UUID."""
    flow_id: UUID | None = None
    """The held flow, or that of the held session; null for an end user."""
    session_id: str | None = None
    """The held session, by its present id; null for a flow or an end user."""
    end_user_id: str | None = None
    """The held end user; null for a flow or a session."""
    reason: str | None = None
    """Why, for people."""
    placed_by: str | None = None
    """The name of the API key."""
    placed_at: datetime
    """When it was placed."""


class ImportAnswer(Answer):
    """Result of an import: lines of each type, and the number of new messages."""

    lines: int = 0
    """Number of lines that were read."""
    flows: int = 0
    """Number of lines of flows."""
    sessions: int = 0
    """Number of lines of sessions."""
    runs: int = 0
    """Number of lines of runs."""
    messages: MessageTally | None = None
    """Messages that were new, known or deleted earlier."""
    chat_memories: int = 0
    """Number of chat memories."""
    chat_messages: MessageTally | None = None
    """Messages of chats that were new, known or deleted earlier."""
    node_executions: Tally | None = None
    """Node executions that were new or known."""
    memory_uses: Tally | None = None
    """Records of memory use that were new or known."""
    warnings: list[Caveat] = Field(default_factory=list)
    """Secrets that the request replaced; absent without any."""


class Ingestion(Answer):
    """Messages in one memory base. The times are of the jobs that ingested them; null for a step that has not
    ended, or whose job is not known.
    """

    memory_base_id: UUID
    """The memory base."""
    memory_base_name: str
    """The name of the memory base."""
    state: SearchState | str
    """Whether searches by meaning find the messages."""
    messages: int
    """Number of messages that the memory base counts."""
    searchable: int
    """How many of them it holds."""
    failed: int
    """How many of them could not be embedded."""
    chunks: int
    """Number of chunks."""
    error: str | None = None
    """Why the last of those could not be embedded; null without one."""
    pending: int
    """While they wait: counted messages of the session toward the threshold."""
    threshold: int
    """Counted messages of a session that start an ingestion."""
    auto_capture: bool
    """Whether they start it. If false, only a flush does."""
    job_id: UUID | None = None
    """The last job that ingested them; null without one."""
    attempts: int
    """How many attempts were made."""
    captured_at: datetime | None = None
    """When the last of them was stored. Searches by words find them from then on."""
    queued_at: datetime | None = None
    """When the first job was inserted."""
    started_at: datetime | None = None
    """When a worker claimed it."""
    embedding_at: datetime | None = None
    """When embedding began."""
    embedded_at: datetime | None = None
    """When embedding ended."""
    written_at: datetime | None = None
    """When the chunks were written and read back."""
    searchable_at: datetime | None = None
    """When searches by meaning found all of them; null before."""
    searchable_after_ms: int | None = None
    """Milliseconds from `captured_at` to `searchable_at`."""


class IngestionState(Answer):
    """The effect of a capture on one memory base."""

    memory_base_id: UUID
    """The memory base."""
    pending_messages: int
    """Number of pending messages that no job covers yet: they count towards the threshold."""
    pending_capped: bool
    """Whether `pending_messages` is only a lower bound."""
    job_id: UUID | None = None
    """The active job of the session; null if there is none."""


class JobBrief(Answer):
    """A queued job; GET /jobs/{id} shows the rest."""

    id: UUID
    """The UUID."""
    session_id: str
    """The session's id, chosen by the caller."""
    state: JobState | str
    """The state."""


class JobConflict(Answer):
    """A session that a flush left to its active job."""

    session_id: str
    """The session's id, chosen by the caller."""
    job_id: UUID
    """The active job."""
    state: str
    """The state of the job."""


class JobResult(Answer):
    """Result of an action on a job."""

    id: UUID
    """The UUID."""
    memory_base_id: UUID | None = None
    """The memory base."""
    session_id: str | None = None
    """The session's id, chosen by the caller."""
    reason: JobSkipReason | str | None = None
    """Why the action left the job alone; null if it took it. `not_found`: it does not exist. `ended`: it is done
    or cancelled, or a worker or another call was first. `running`: a worker has it. `due`: it waits for a
    worker only. `replaced`: it failed, and other jobs took its messages. `repair`: the store must match the
    messages. `build`: it belongs to a regenerate.
    """


class JobResults(Answer):
    """A result for each job of this call."""

    action: JobAction | str
    """The action."""
    results: list[JobResult]
    """A result for each job; empty after a dry run."""
    remaining: int
    """How many more match. 0 if the request named ids."""
    taken: int
    """How many the action took; after a dry run how many it would take, in as many calls as that needs."""
    skipped: dict[str, int]
    """How many it left alone, by reason: the reasons of the results."""
    dry_run: bool
    """Whether nothing was changed."""


class JobView(Answer):
    """A job: it ingests the messages of one session in (from_seq, to_seq]."""

    id: UUID
    """The UUID."""
    kind: JobKind | str
    """What the job does."""
    memory_base_id: UUID
    """The memory base."""
    memory_base_name: str
    """The name of the memory base."""
    flow_id: UUID
    """The flow of the session."""
    session_id: str
    """The session's id, chosen by the caller."""
    state: JobState | str
    """The state."""
    from_seq: int
    """The seq before the first message of the job."""
    to_seq: int
    """The seq of the last message of the job."""
    processed: int
    """Number of messages that are done."""
    total: int
    """Number of messages in the job."""
    stored_chunks: int | None = None
    """Number of their chunks that are stored, every few seconds."""
    total_chunks: int | None = None
    """Number of their chunks; 0 before they were read."""
    attempts: int
    """How many attempts were made."""
    error: str | None = None
    """Code of the last error; null without one."""
    created_at: datetime
    """When it was created."""
    available_at: datetime | None = None
    """When a worker may take it; of a queued job that is tried again, the next attempt."""
    started_at: datetime | None = None
    """When a worker first claimed it; null before."""
    finished_at: datetime | None = None
    """When it ended; null before."""


class KeyAnswer(Answer):
    """An API key, without its secret."""

    id: UUID
    """The UUID."""
    name: str
    """The name, for people."""
    prefix: str
    """The first characters of the secret, to recognize the key by."""
    scopes: list[str]
    """What the key allows."""
    created_at: datetime
    """When it was created."""
    expires_at: datetime | None = None
    """When the key stops working; null if never."""
    last_used_at: datetime | None = None
    """When the key was last used; null if never."""
    flow_ids: list[UUID] | None = None
    """The only flows of the key; null for all."""
    end_user_id: str | None = None
    """The only end user of the key; null for all."""
    rotated_to: UUID | None = None
    """The key that replaces this one; null if none does."""
    quotas: KeyQuotas | None = None
    """The quotas that were set for the key."""


class KeyQuotas(Answer):
    """The quotas that were set for a key; null: the default of the settings. GET /usage has the limits that hold."""

    messages_per_day: int | None = None
    """New messages a day in UTC, captured or of chats; null: the default of the settings."""
    stored_messages: int | None = None
    """Messages stored now, captured or of chats; null: the default of the settings."""
    searches_per_minute: int | None = None
    """Searches a minute, and contexts with a query; null: the default of the settings."""
    end_users: int | None = None
    """End users that something is stored of; null: the default of the settings."""


class KnowledgeBaseView(Answer):
    """A knowledge base in the list. `documents`: for a memory base, the messages in its serving ledger.

    status: pending while a memory base has messages to ingest, or an ordinary one has no collection yet.
    """

    id: UUID
    """The UUID."""
    name: str
    """The name, for people."""
    is_memory_base: bool
    """Whether it belongs to a memory base, which alone writes to it."""
    memory_base_id: UUID | None = None
    """Its memory base; null for an ordinary knowledge base."""
    embedding_model: str
    """The embedding model, by name."""
    documents: int
    """Number of documents; for a memory base, of messages in the serving ledger."""
    status: Literal["ready", "pending", "regenerating", "deleting"] | str
    """Whether it is ready, being built or being deleted."""
    created_at: datetime
    """When it was created."""


class LabelView(Answer):
    """A message marked as right or wrong for a question."""

    id: UUID
    """The UUID."""
    flow_id: UUID
    """The flow: its UUID."""
    message_id: UUID
    """The message."""
    message_external_id: str | None = None
    """The message's id that the caller chose; null if that is a UUID."""
    message_version: int
    """The version of the message that was judged."""
    current_version: int
    """The version of the message now."""
    query: str
    """The question, as it was searched."""
    session_id: str | None = None
    """The question was asked of this session only; null: of all."""
    end_user_id: str | None = None
    """The question was asked of this end user's sessions only; null: of all."""
    settings: dict[str, Any]
    """Settings of the search that found the message: any JSON object."""
    right: bool
    """Whether the message answers the question."""
    marked_by: str | None = None
    """The name of the API key; null if it was deleted."""
    marked_at: datetime
    """When it was marked."""
    warnings: list[Caveat] = Field(default_factory=list)
    """Secrets that the request replaced; absent without any."""


class LangChainData(TypedDict):
    """The fields of a dumped LangChain message."""

    content: NotRequired[str | Sequence[TextPart | Mapping[str, Any] | OtherPart | str] | None]
    """Text or content parts; null only next to tool calls."""
    tool_calls: NotRequired[Sequence[FunctionCall | Mapping[str, Any]] | None]
    """Calls of tools by the model."""
    tool_call_id: NotRequired[str | UUID | int | None]
    """The tool call that this message answers."""
    name: NotRequired[str | None]
    """The name of the speaker or the tool."""
    id: NotRequired[str | UUID | int | None]
    """A UUID, any string or an integer; generated by default. Unique in the flow."""
    is_output: NotRequired[bool | None]
    """Whether it is an output of the flow; by default true for `assistant`."""
    files: NotRequired[Sequence[Any] | None]
    """Files of the message, stored unchanged."""
    metadata: NotRequired[Mapping[str, Any] | None]
    """Any JSON object; searches can filter by it."""
    parent_message_id: NotRequired[str | UUID | int | None]
    """The message that this one follows."""
    timestamp: NotRequired[str | float | None]
    """When it was written: ISO 8601, or seconds since 1970; by default now."""
    sender_name: NotRequired[str | None]
    """The speaker's name, for display."""
    status: NotRequired[Literal["completed", "failed", "stopped", "success", "error"] | None]
    """By default `completed`."""
    example: NotRequired[Any]
    """Dropped."""
    additional_kwargs: NotRequired[Any]
    """Stored in `metadata`."""
    response_metadata: NotRequired[Any]
    """Stored in `metadata`."""
    usage_metadata: NotRequired[Any]
    """Stored in `metadata`."""
    invalid_tool_calls: NotRequired[Any]
    """Stored in `metadata`."""
    artifact: NotRequired[Any]
    """Stored in `metadata`."""
    type: NotRequired[Any]
    """Dropped."""


class LangChainDump(TypedDict):
    """A message as LangChain's messages_to_dict returns it."""

    type: Literal["human", "ai", "system", "developer", "tool", "HumanMessageChunk", "AIMessageChunk"]
    """Who speaks."""
    data: LangChainData | Mapping[str, Any]
    """The message."""


class LangChainMessage(TypedDict):
    """A message in LangChain's format."""

    content: NotRequired[str | Sequence[TextPart | Mapping[str, Any] | OtherPart | str] | None]
    """Text or content parts; null only next to tool calls."""
    tool_calls: NotRequired[Sequence[FunctionCall | Mapping[str, Any]] | None]
    """Calls of tools by the model."""
    tool_call_id: NotRequired[str | UUID | int | None]
    """The tool call that this message answers."""
    name: NotRequired[str | None]
    """The name of the speaker or the tool."""
    id: NotRequired[str | UUID | int | None]
    """A UUID, any string or an integer; generated by default. Unique in the flow."""
    is_output: NotRequired[bool | None]
    """Whether it is an output of the flow; by default true for `assistant`."""
    files: NotRequired[Sequence[Any] | None]
    """Files of the message, stored unchanged."""
    metadata: NotRequired[Mapping[str, Any] | None]
    """Any JSON object; searches can filter by it."""
    parent_message_id: NotRequired[str | UUID | int | None]
    """The message that this one follows."""
    timestamp: NotRequired[str | float | None]
    """When it was written: ISO 8601, or seconds since 1970; by default now."""
    sender_name: NotRequired[str | None]
    """The speaker's name, for display."""
    status: NotRequired[Literal["completed", "failed", "stopped", "success", "error"] | None]
    """By default `completed`."""
    example: NotRequired[Any]
    """Dropped."""
    additional_kwargs: NotRequired[Any]
    """Stored in `metadata`."""
    response_metadata: NotRequired[Any]
    """Stored in `metadata`."""
    usage_metadata: NotRequired[Any]
    """Stored in `metadata`."""
    invalid_tool_calls: NotRequired[Any]
    """Stored in `metadata`."""
    artifact: NotRequired[Any]
    """Stored in `metadata`."""
    type: Literal["human", "ai", "system", "developer", "tool", "HumanMessageChunk", "AIMessageChunk"]
    """Who speaks."""


class LangflowMessage(TypedDict):
    """A message in Langflow's format."""

    id: NotRequired[str | UUID | int | None]
    """A UUID, any string or an integer; generated by default. Unique in the flow."""
    is_output: NotRequired[bool | None]
    """Whether it is an output of the flow; by default true for `assistant`."""
    files: NotRequired[Sequence[Any] | None]
    """Files of the message, stored unchanged."""
    metadata: NotRequired[Mapping[str, Any] | None]
    """Any JSON object; searches can filter by it."""
    parent_message_id: NotRequired[str | UUID | int | None]
    """The message that this one follows."""
    timestamp: NotRequired[str | float | None]
    """When it was written: ISO 8601, or seconds since 1970; by default now."""
    sender_name: NotRequired[str | None]
    """The speaker's name, for display."""
    text: str
    """The text."""
    sender: str
    """`User` or `Machine`."""
    status: NotRequired[Literal["completed", "failed", "stopped"] | None]
    """By default `completed`."""


class LatestRun(Answer):
    """A run, its topic, and the progress of its ingestion."""

    run_id: UUID
    """The run: its UUID."""
    external_id: str | None = None
    """The id that the caller chose; null if that is a UUID."""
    flow_id: UUID
    """The flow: its UUID."""
    flow_name: str
    """The name of the flow."""
    session_id: str
    """The session's id, chosen by the caller."""
    question: str | None = None
    """The user's last message in it, shortened; null without one."""
    answer: str | None = None
    """The assistant's last message in it, shortened; null without one."""
    created_at: datetime
    """When it was created."""
    state: SearchState | str
    """Whether searches by meaning find its messages: the worst state in a memory base of its flow."""
    searchable_after_seconds: float | None = None
    """Time from the run until all its messages were searchable; null before."""
    pending: int | None = None
    """Pending messages of its session while it waits."""
    threshold: int | None = None
    """The threshold that they wait for; null if only a flush ingests them."""
    memories: int | None = None
    """Number of memories that its nodes were given; null if nothing was recorded."""
    tokens: int | None = None
    """Number of tokens of these memories."""


class LeftOut(Answer):
    """Number of messages that a view left out for one reason."""

    reason: str
    """Why, such as `limit` or `summarised`."""
    messages: int
    """Number of messages."""


class Liveness(Answer):
    """The process answers."""

    status: Literal["ok"] | str = "ok"
    """Always `ok`."""
    version: str
    """The version of the server."""


class MapClusterView(Answer):
    """A group of near messages."""

    cluster: int
    """The number of the cluster, the largest first."""
    label: str
    """Up to three words that its messages have and others do not; empty if no word stands out."""
    points: int
    """How many of the points it has."""


class MapPointView(Answer):
    """A message on the map."""

    message_id: UUID
    """The message."""
    x: float
    """Along the direction in which the messages differ most."""
    y: float
    """Along the next direction."""
    cluster: int
    """The cluster that it belongs to."""
    session_id: str
    """The session's id, chosen by the caller."""
    role: str
    """Who speaks."""
    speaker: str
    """Who speaks: the sender's name, else the role."""
    timestamp: datetime
    """When the message was written, for display and filters. `seq` decides the order."""


class MapQuestionView(Answer):
    """Position of a question on the map."""

    x: float
    """As of a point."""
    y: float
    """As of a point."""


class MapView(Answer):
    """A memory base's map. While another one is computed, or fails, the last one is shown."""

    memory_base_id: UUID
    """The memory base."""
    state: MapState | str
    """`too_few`: fewer than `min_messages` are ingested; `unavailable`: the last attempt failed and is repeated;
    `computing`; `none`: not computed yet, or the memory base was regenerated since; `stale`: messages changed
    since; `ready`.
    """
    progress: int | None = None
    """While it is computed: percent."""
    error: str | None = None
    """If it is unavailable: the code of the error."""
    failing_since: datetime | None = None
    """If it is unavailable: when the first of the failed attempts was."""
    messages: int
    """How many messages the memory base holds now."""
    min_messages: int
    """So many messages are needed for a map."""
    computed_at: datetime | None = None
    """When the map was computed; null without one."""
    as_of: datetime | None = None
    """Messages that were ingested later are not on the map."""
    mapped_messages: int
    """How many messages the memory base held then. Of more than 5,000 a sample is on the map."""
    added: int
    """How many messages were ingested since."""
    removed: int
    """How many messages were removed since."""
    edited: int
    """How many messages on the map were edited since. They keep their places until the next map."""
    explained: float | None = None
    """The share of all differences between the messages that two dimensions show, from 0 to 1."""
    shown: int
    """How many messages have a point."""
    points: list[MapPointView]
    """The messages on the map, by cluster, from the middle of a cluster outwards."""
    clusters: list[MapClusterView]
    """The clusters of near messages."""
    question: MapQuestionView | None = None
    """Where the question is; null without a question or a map."""


class MemoryBaseView(Answer):
    """A memory base and its progress."""

    id: UUID
    """The UUID."""
    name: str
    """The name; unique for the user."""
    flow_id: UUID
    """The flow: its UUID."""
    user_id: UUID
    """The user that owns it."""
    kb_name: str
    """The name of its knowledge base; unique for the user."""
    threshold: int
    """Number of pending messages in a session that starts its ingestion."""
    auto_capture: bool
    """Whether captures start ingestion. If false, only a flush does."""
    capture: Capture | str
    """Which messages count toward the threshold and are embedded."""
    idle_after: int
    """Seconds without a capture until a session's pending messages are ingested; 0: off."""
    retain_days: int | None = None
    """Days until the knowledge base forgets what was captured; the conversation stays. Null: nothing is forgotten."""
    embedding_model: str
    """The embedding model, by name."""
    vector_store: Literal["chroma", "pgvector"] | str
    """Where the vectors of the serving generation are stored."""
    created_at: datetime
    """When it was created."""
    priority: Priority | str | None = None
    """How large its share of the workers is, compared with other memory bases: `low`, `normal` or `high`."""
    paused_at: datetime | None = None
    """Since when its ingestion is paused; null if it is not. Captures go on, and repairs after edits and
    deletions.
    """
    status: MemoryBaseStatus | str
    """What is going on, the last of these that is true: `ready`, `pending` (messages wait), `paused`, `ingesting`,
    `preparing` (its sessions are gone through), `regenerating`, `unavailable` (the vector store or the model
    fails) and `deleting`. Lost vectors and dead letters are in `mismatch` and `dead_letters`.
    """
    pending_messages: int
    """Number of pending messages."""
    pending_capped: bool
    """Whether `pending_messages` is only a lower bound."""
    total_processed: int
    """Number of messages in the serving ledger."""
    last_sync_at: datetime | None = None
    """When messages were last ingested; null if never."""
    sessions: int
    """Number of tracked sessions."""
    mismatch: bool | None = None
    """Result of the last comparison with the vector store; null if there was none."""
    mismatch_checked_at: datetime | None = None
    """When it was last compared; null if never."""
    mismatch_since: datetime | None = None
    """When a comparison first found the mismatch; null without one."""
    chunks_missing: int | None = None
    """Chunks that the vector store lacked then; null if not known, as without a collection."""
    dead_letters: int
    """Number of dead letters."""
    sessions_near_threshold: int
    """Sessions with at least 80 % of the threshold pending, counted up to 1,000."""
    warnings: list[Caveat] = Field(default_factory=list)
    """What it will not remember, and which settings of a PUT it did not take."""


class MemorySourceBody(TypedDict):
    """Origin of a message of a memory use."""

    kind: NotRequired[Literal["history", "summary", "recall", "fact", "predefined", "standing"]]
    """How the message was given: by `recall`, as `history`, in a `summary`, as `standing` statement, `fact`, or
    `predefined`.
    """
    message_ids: NotRequired[Sequence[str | UUID]]
    """The stored messages in it: their UUIDs or the caller's ids. If one is not stored, or is another end user's,
    the text is stored as `[deleted]`.
    """
    scores: NotRequired[Sequence[float | None]]
    """The score of each of `message_ids`, if they were found by a search."""
    score: NotRequired[float | None]
    """The score of the message; default: the best of `scores`."""
    tokens: NotRequired[int | None]
    """Number of tokens; default: the server counts them."""


class MemoryUseSummary(Answer):
    """The session memory that was shown."""

    summary: str | None = None
    """The text of the summary; empty without one."""
    chatMessages: list[ShownPair] = Field(default_factory=list)
    """The pairs of question and reply, newest first."""


class MessageIngestion(Answer):
    """A message in each memory base of its flow."""

    message_id: UUID
    """The message."""
    memories: list[Ingestion]
    """The message in each memory base of its flow, oldest first."""
    runs: int
    """In how many runs a model received the message."""


class MessageTally(Answer):
    """The messages of an import, by what became of them."""

    created: int = 0
    """How many were new."""
    known: int = 0
    """How many were stored already."""
    deleted: int = 0
    """How many were deleted earlier and stay deleted."""


class MessageUse(Answer):
    """A run whose model was given a message: as part of the history, in a summary, or recalled."""

    run_id: UUID
    """The run: its UUID. It may not be captured."""
    external_id: str | None = None
    """The id that the caller chose; null if that is a UUID."""
    session_id: str | None = None
    """The session of the run; null if it is unknown."""
    node_id: str
    """The node whose model received it."""
    kind: Literal["history", "summary", "recall", "fact", "predefined", "standing"] | str
    """How it was given: as `history`, in a `summary`, by `recall`, as `standing` statement, or `predefined`."""
    score: float | None = None
    """The score of the memory; null for other kinds."""
    query: str | None = None
    """What was looked for; null if nothing was."""
    at: datetime
    """When the memory was read."""


class MessageView(Answer):
    """A stored message. `ingested` is present if the request named a memory base."""

    id: UUID
    """The UUID."""
    external_id: str | None = None
    """The id that the caller chose; null if that is a UUID."""
    flow_id: UUID
    """The flow: its UUID."""
    session_id: str
    """The session's id, chosen by the caller."""
    run_id: UUID
    """The run: its UUID."""
    end_user_id: str | None = None
    """The person that the session or chat belongs to; null if unknown."""
    seq: int
    """Number of the message in its session or chat, in commit order."""
    role: str
    """Who speaks."""
    is_output: bool
    """Whether the message is an output of the flow."""
    content: str | list[dict[str, Any]] | None = None
    """Text, a list of content parts, or null next to tool calls."""
    tool_calls: list[dict[str, Any]] | None = None
    """Calls of tools by the model, in OpenAI's format."""
    tool_call_id: str | None = None
    """The tool call that this message answers."""
    name: str | None = None
    """The name of the speaker or the tool, as in OpenAI's format."""
    sender_name: str | None = None
    """The speaker's name, for display."""
    parent_message_id: UUID | None = None
    """The message that this one follows; null if it was not named or begins a thread."""
    files: list[Any]
    """Files of the message, as they were sent."""
    metadata: dict[str, Any]
    """Any JSON object of the caller."""
    status: str
    """Whether the message is complete: `completed`, `failed` or `stopped`."""
    version: int
    """Number of the version, from 1; each edit adds one."""
    timestamp: datetime
    """When the message was written, for display and filters. `seq` decides the order."""
    captured_at: datetime
    """When the message was stored."""
    edited_at: datetime | None = None
    """When the message was last edited; null if never."""
    muted: bool
    """Whether no search recalls it; its conversation still shows it."""
    pinned: bool
    """Whether searches return it first where it is relevant."""
    ingested: bool | None = None
    """Whether the memory base that the request named holds this version."""


class MetadataComparison(TypedDict):
    """A comparison with the metadata of a message. Earlier versions of Dify send several names."""

    name: str | Sequence[str]
    """A key of the message's metadata, or a field that every message has, such as `role`."""
    comparison_operator: str
    """One of contains, not contains, start with, end with, is, is not, in, not in, empty, not empty, =, ≠, >, <,
    ≥, ≤, before, after.
    """
    value: NotRequired[str | float | bool | Sequence[str | float | bool] | None]
    """What to compare with; not for `empty` and `not empty`."""


class MetadataCondition(TypedDict):
    """Comparisons with the metadata of messages."""

    logical_operator: NotRequired[Literal["and", "or"] | None]
    """Whether all comparisons must hold, or any."""
    conditions: NotRequired[Sequence[MetadataComparison | Mapping[str, Any]] | None]
    """The comparisons; without any, all messages are searched."""


class Mismatch(Answer):
    """Differences between a ledger and its store, counted in chunks unless the field says otherwise."""

    mismatch: bool
    """Whether store and ledger differ."""
    state: Literal["ok", "mismatch", "unavailable"] | str
    """`ok`, `mismatch`, or `unavailable` if the store could not be read."""
    expected: int = 0
    """Number of chunks in the ledger."""
    found: int = 0
    """Number of chunks in the store."""
    missing: int = 0
    """Number of chunks that the store lacks."""
    extra: int = 0
    """Number of chunks that only the store has."""
    altered: int = 0
    """Number of the newest chunks with another text or an unreadable vector."""
    missing_token_vectors: int = 0
    """Number of messages without token vectors."""
    missing_ids: list[str] = Field(default_factory=list)
    """Some of the missing chunks."""
    extra_ids: list[str] = Field(default_factory=list)
    """Some of the extra chunks."""


class NewKeyAnswer(Answer):
    """A new key. Only this response contains the secret."""

    id: UUID
    """The UUID."""
    name: str
    """The name, for people."""
    prefix: str
    """The first characters of the secret, to recognize the key by."""
    scopes: list[str]
    """What the key allows."""
    created_at: datetime
    """When it was created."""
    expires_at: datetime | None = None
    """When the key stops working; null if never."""
    last_used_at: datetime | None = None
    """When the key was last used; null if never."""
    flow_ids: list[UUID] | None = None
    """The only flows of the key; null for all."""
    end_user_id: str | None = None
    """The only end user of the key; null for all."""
    rotated_to: UUID | None = None
    """The key that replaces this one; null if none does."""
    quotas: KeyQuotas | None = None
    """The quotas that were set for the key."""
    secret: str
    """The key itself. It is shown only here."""


class NodeExecutionView(Answer):
    """A stored execution."""

    id: UUID
    """The UUID."""
    external_id: str | None = None
    """The id that the caller chose; null if that is a UUID."""
    flow_id: UUID
    """The flow: its UUID."""
    session_id: str
    """The session's id, chosen by the caller."""
    run_id: UUID
    """The run: its UUID."""
    node_id: str
    """The node of the flow, named by the caller."""
    index: int
    """Number of this execution among the node's executions in the run."""
    status: str
    """How the execution ended; node memory reads only `succeeded` ones."""
    outputs: StoredOutputs
    """What the node returned."""
    few_shots: list[dict[str, Any]]
    """Messages that the node's template puts before its context."""
    created_at: datetime
    """When it was created."""
    updated_at: datetime
    """When it last changed."""
    warnings: list[Caveat] = Field(default_factory=list)
    """Secrets that the request replaced; absent without any."""


class NodeStory(Answer):
    """A node of a run: the memory that its model was given, and the text that it returned, if they were recorded."""

    node_id: str
    """The node of the flow, named by the caller."""
    given: GivenView | None = None
    """The memory that the model of the node received; null if none was recorded."""
    status: str | None = None
    """How the last recorded execution of the node ended; null without one."""
    answer: str | None = None
    """The text that it returned; null without one."""


class NodeUse(Answer):
    """The messages that the model of one node was given, as they were sent."""

    node_id: str
    """The node of the flow, named by the caller."""
    memoryUseSummary: MemoryUseSummary | None = None
    """The pairs and the summary that session memory showed; null for other memory."""
    messages: list[dict[str, Any]]
    """The messages as they were sent. Text deleted since reads `[deleted]`."""
    sources: list[Source]
    """Where each message comes from, parallel to `messages`."""
    report: dict[str, Any]
    """The report of the view at that time."""
    query: str | None = None
    """What was looked for in the memory bases; null if nothing was. Text deleted since reads `[deleted]`."""
    at: datetime
    """When the memory was read."""
    warnings: list[Caveat] = Field(default_factory=list)
    """Secrets that the request replaced; absent without any."""


class OpenAIMessage(TypedDict):
    """A message in OpenAI's format. Fields that are not here are stored in `metadata`. With tool calls a view
    returns `reasoning_content`, if its model wants it.
    """

    content: NotRequired[str | Sequence[TextPart | Mapping[str, Any] | OtherPart | str] | None]
    """Text or content parts; null only next to tool calls."""
    tool_calls: NotRequired[Sequence[FunctionCall | Mapping[str, Any]] | None]
    """Calls of tools by the model."""
    tool_call_id: NotRequired[str | UUID | int | None]
    """The tool call that this message answers."""
    name: NotRequired[str | None]
    """The name of the speaker or the tool."""
    id: NotRequired[str | UUID | int | None]
    """A UUID, any string or an integer; generated by default. Unique in the flow."""
    is_output: NotRequired[bool | None]
    """Whether it is an output of the flow; by default true for `assistant`."""
    files: NotRequired[Sequence[Any] | None]
    """Files of the message, stored unchanged."""
    metadata: NotRequired[Mapping[str, Any] | None]
    """Any JSON object; searches can filter by it."""
    parent_message_id: NotRequired[str | UUID | int | None]
    """The message that this one follows."""
    timestamp: NotRequired[str | float | None]
    """When it was written: ISO 8601, or seconds since 1970; by default now."""
    sender_name: NotRequired[str | None]
    """The speaker's name, for display."""
    role: Literal["user", "assistant", "system", "developer", "tool", "function"]
    """Who speaks; `developer` is stored as `system`, `function` as `tool`."""
    status: NotRequired[Literal["completed", "failed", "stopped"] | None]
    """By default `completed`."""
    type: NotRequired[str | None]
    """`message`, of the Responses API, is dropped."""
    refusal: NotRequired[Any]
    """The content, if there is no other."""
    annotations: NotRequired[Any]
    """Stored in `metadata`."""
    audio: NotRequired[Any]
    """Its `transcript` is the content, if there is no other."""
    function_call: NotRequired[Any]
    """Stored as a tool call."""


class OtherPart(TypedDict):
    """A part without text, such as an image, as the model's provider defines it."""

    type: str
    """What the part is, such as `image_url`."""


class Overview(Answer):
    """Everything that was captured in the window.

    `searchable`, `waiting`, `failed` and `lost` count messages that a memory base counts; one that is off does
    so only if no other of its flow is on. Delays are from capture until a message was searchable, of the latest
    messages of each flow; null without any.
    """

    window: Window | str
    """The time that it covers: the last hour, day or week."""
    since: datetime
    """Start of the first bucket."""
    until: datetime
    """End of the last bucket."""
    bucket_seconds: int
    """Length of a bucket."""
    captured: int
    """Number of messages captured."""
    searchable: int
    """Number of counted messages that every memory base of their flow holds. One that is off is left out while
    another one of its flow is on.
    """
    waiting: int
    """Number of counted messages that a memory base does not hold yet, up to 10,000."""
    waiting_capped: bool
    """Whether more than that are waiting."""
    failed: int
    """Number of messages that could not be embedded."""
    lost: int
    """Number of messages that a memory base counts that has lost vectors."""
    runs: int
    """Number of runs."""
    sessions: int
    """Number of sessions with captures."""
    recalls: int
    """Number of views recorded for nodes of runs."""
    delay_median_seconds: float | None = None
    """Median time from capture until a message was searchable; null if none was ingested."""
    delay_p95_seconds: float | None = None
    """The time within which 95 % of them were searchable; null if none was ingested."""
    buckets: list[OverviewBucket]
    """The window in buckets, oldest first."""
    flows: list[FlowOverview]
    """The flows with the latest captures, latest first."""
    flows_total: int
    """Number of flows."""
    latest_runs: list[LatestRun]
    """The latest runs, newest first."""


class OverviewBucket(Answer):
    """The messages captured from `at` on, until the next bucket, by what has become of them."""

    at: datetime
    """Start of the bucket."""
    searchable: int
    """Captured then, and searchable now."""
    waiting: int
    """Captured then, and not searchable yet."""
    failed: int
    """Captured then, and could not be embedded."""
    lost: int
    """Captured then, and counted by a memory base that has lost vectors."""
    other: int
    """Captured then, and counted by no memory base."""


class PartWeightsBody(TypedDict):
    """Factors for the parts of a score, on top of the weights. They have no effect in mode `dense`."""

    meaning: NotRequired[float]
    """How close the message is in meaning to the question."""
    words: NotRequired[float]
    """The question's words, in the message or next to it."""
    around: NotRequired[float]
    """What the conversation around the message is about."""
    kind: NotRequired[float]
    """Length, speaker, dates, times and numbers."""


class PartialSuccess(Answer):
    """Spans whose messages are not stored."""

    rejectedSpans: str | None = None
    """Their number, as text."""
    errorMessage: str | None = None
    """Why the first of them was refused."""


class Piece(Answer):
    """A part of a difference: in both texts, only in the new one (`added`), or only in the former one (`removed`)."""

    kind: Literal["same", "added", "removed"] | str
    """`same`: in both texts; `added`: only in the new one; `removed`: only in the former one."""
    text: str
    """The text."""


class Posted(Answer):
    """The result of a post, and what a view of the chat has now."""

    chat_id: str
    """The chat's id, chosen by the caller."""
    messages: list[PostedMessage]
    """The result for each message, in order."""
    trimmed: int
    """Number of messages of the log that a view now leaves out."""
    tokens: int
    """Tokens of a view of the chat now."""
    warnings: list[Caveat] = Field(default_factory=list)
    """Secrets that the request replaced; absent without any."""


class PostedMessage(Answer):
    """A posted message."""

    id: UUID
    """The UUID."""
    external_id: str | None = None
    """The id that the caller chose; null if that is a UUID."""
    seq: int
    """Number of the message in its session or chat, in commit order."""
    created: bool
    """Whether it is new; false for a repeat."""


class PredefinedMessage(Answer):
    """A message shown before the history, never stored in it."""

    role: Literal["user", "assistant", "system"] | str
    """Who speaks."""
    content: str
    """The text."""


class PredefinedMessageInput(TypedDict):
    """A message shown before the history, never stored in it."""

    role: Literal["user", "assistant", "system"]
    """Who speaks."""
    content: str
    """The text."""


class Problem(Answer):
    """Something that needs a person. Counts are null where they do not apply, and stop at 1,000."""

    kind: ProblemKind | str
    """`part`: a part of the stack does not answer. `restore`: the vectors of memory bases are rebuilt after a
    restore; nothing needs to be done. `lost`: a memory base has lost vectors. `failed`: it has dead letters.
    `overdue`: due messages wait for more than ten minutes. `long`: a job of a long message has run for more
    than two minutes; others continue meanwhile. `quota`: a quota is used up, and calls are refused. `webhook`:
    a webhook was disabled because it failed, or did not get events. `paused`: it is paused, or auto_capture is
    off, and messages wait.
    """
    title: str
    """The problem in a few words."""
    text: str
    """What it means."""
    since: datetime | None = None
    """Since when; null if not known."""
    part: str | None = None
    """The part that does not answer: `database`, `redis`, `broker`, `chroma`, `pgvector`, `worker` or `sweeper`."""
    memory_base_id: UUID | None = None
    """The memory base; null if all are concerned."""
    memory_base_name: str | None = None
    """The name of the memory base."""
    messages: int | None = None
    """Number of messages concerned."""
    texts: int | None = None
    """Number of different texts among them."""
    sessions: int | None = None
    """Number of sessions with such messages."""
    webhook_id: UUID | None = None
    """The webhook; null for other kinds."""
    job_id: UUID | None = None
    """The job of a long message, or the one that due messages wait for; else null."""
    fixes: list[Fix] = Field(default_factory=list)
    """What ends it."""


class Problems(Answer):
    """The problems of the user's memory bases and of the stack, the worst first."""

    problems: list[Problem]
    """What needs a person, the worst first."""
    total: int
    """Number of problems, with those left out."""


class ProfileItem(Answer):
    """Something that holds for a person."""

    text: str
    """What the person said, verbatim; long text is cut with an ellipsis."""
    kind: Literal["standing", "pinned", "repeated", "about"] | str
    """`standing`: an instruction or preference; `pinned`: a pinned message; `repeated`: said more than once;
    `about`: said about themselves.
    """
    times: int
    """In how many messages it was said."""
    message_id: UUID
    """The newest message that says it."""
    session_id: str
    """The session of that message."""
    said_at: datetime
    """The timestamp of that message."""
    sources: list[UUID]
    """Every message that was read and says it, the newest first."""


class ProfileView(Answer):
    """A person's statements about themselves in a flow."""

    end_user_id: str
    """The person, by the id that captures named."""
    items: list[ProfileItem]
    """What holds for the person, the most useful first."""


class QuotaUsage(Answer):
    """One quota and how much of it is in use."""

    quota: Literal["messages_per_day", "stored_messages", "searches_per_minute", "end_users"] | str
    """`messages_per_day`, `stored_messages`, `searches_per_minute` or `end_users`."""
    limit: int | None = None
    """The quota; null: unlimited."""
    used: int | None = None
    """How much is in use; null without a limit, because nothing is counted then."""
    resets_at: datetime | None = None
    """When the window ends; null for what is stored, which falls by deletions."""


class QuotasBody(TypedDict):
    """Quotas of a key; null: the default of the settings."""

    messages_per_day: NotRequired[int | None]
    """New messages a day in UTC, captured or of chats; null: the default of the settings."""
    stored_messages: NotRequired[int | None]
    """Messages stored now, captured or of chats; null: the default of the settings."""
    searches_per_minute: NotRequired[int | None]
    """Searches a minute, and contexts with a query; null: the default of the settings."""
    end_users: NotRequired[int | None]
    """End users that something is stored of; null: the default of the settings."""


class Readiness(Answer):
    """Every part responds. `degraded`: jobs are still not processed; `reason` says why."""

    status: Literal["ready", "degraded"] | str
    """`degraded`: every part responds, but the queue makes no progress."""
    parts: dict[str, Literal["ok", "degraded"] | str]
    """The state of each part, by name."""
    reason: str | None = None
    """Why it is degraded; null otherwise."""


class RecallBody(TypedDict):
    """Recall of memories. `share`: part of the budget that is reserved for memories; 0: no recall. `top_k`:
    maximum messages to recall from; default: as many as fit, with the turns around them. `scope`: where a
    session without an end user recalls from; default: the whole flow if it knows no end users at all, else the
    session. `facts`: add facts that a model derived, in up to half of the share.
    """

    top_k: NotRequired[int | None]
    """Maximum messages to recall from; by default as many as fit, with the turns around them. At most 100."""
    share: NotRequired[float]
    """Part of the budget that is reserved for memories; 0: no recall."""
    min_score: NotRequired[float | None]
    """Minimum score of a result, from 0 to 1."""
    scope: NotRequired[Literal["session", "flow"] | None]
    """Where a session without an end user recalls from; null: the flow if no session of it has one, else the
    session.
    """
    facts: NotRequired[bool]
    """Whether to add facts that a model derived from messages, in up to half of the share."""
    mode: NotRequired[Literal["hybrid", "dense", "keyword"]]
    """`hybrid`; `dense`, vectors alone; or `keyword`, words alone."""
    weights: NotRequired[PartWeightsBody | Mapping[str, Any] | None]
    """Factors for the parts of each score; null: 1 for each."""
    half_life_days: NotRequired[float | None]
    """After this many days a message has lost a quarter of its score, in the end half; 0: age does not count.
    Default: as the memory base's own weights say.
    """
    roles: NotRequired[Sequence[Literal["user", "assistant", "system", "tool"]] | None]
    """Only messages with one of these roles."""
    since: NotRequired[datetime | str | None]
    """Only messages with a `timestamp` from this time on."""
    until: NotRequired[datetime | str | None]
    """Only messages with a `timestamp` up to this time."""
    corrections: NotRequired[bool | None]
    """Rank later statements of the same fact first and say what they correct, in mode `hybrid`. Default: unless
    the embedding model is behind an endpoint.
    """


class Recalled(Answer):
    """A recalled memory."""

    message_id: str
    """The message."""
    score: float | None = None
    """Its score; null for a message that is shown next to a better one, and for one of the profile."""
    superseded_by: str | None = None
    """The later message that holds in place of this one; null for most."""


class RecalledFact(Answer):
    """A fact that a model derived from messages."""

    fact_id: UUID
    """The fact."""
    score: float
    """How much it has to do with the question, from 0 to 1."""
    source_message_ids: list[UUID]
    """The messages that it rests on."""


class RecalledView(Answer):
    """The memory that the models of a run's nodes were given."""

    nodes: int
    """Number of nodes with a recorded memory use."""
    memories: int
    """Number of different messages that were recalled."""
    tokens: int
    """Tokens of the recalled messages, over all nodes."""


class Regeneration(Answer):
    """The started build. Searches read the old generation until the build is complete."""

    generation: int
    """Number of the new generation."""
    jobs: list[JobBrief]
    """The queued jobs."""


class Remainder(Answer):
    """Something that stays for a while after an erasure."""

    code: str
    """What it is: `store_log`, `freed_pages`, `vectors`, `write_ahead_log`, `dead_rows`, `audit_log` or `backups`."""
    message: str
    """What stays where, and until when. For people; may change."""


class Removed(Answer):
    """A message that is not in the view, and why."""

    id: str
    """The message."""
    reason: str
    """Why it is not in the view, such as `limit`."""


class RemovedFrom(Answer):
    """A memory base that held a deleted message, and in how many chunks; a repair deletes them."""

    memory_base_id: UUID
    """The memory base."""
    kb_name: str
    """The name of its knowledge base; unique for the user."""
    chunks: int
    """Number of its chunks there, in all generations."""


class Repairs(Answer):
    """Jobs that update the knowledge bases; empty if no knowledge base holds the message."""

    job_ids: list[UUID]
    """The queued jobs."""
    warnings: list[Caveat] = Field(default_factory=list)
    """Secrets that the request replaced; absent without any."""


class Replayed(Answer):
    """Number of dead deliveries that start again, and whether more are left."""

    replayed: int
    """How many deliveries are sent again."""
    remaining: bool
    """Whether more dead deliveries match."""


class Report(Answer):
    """The records of a log that were filtered, cleared, trimmed, summarized or replaced."""

    kept: list[str]
    """Ids of the messages in the view."""
    removed: list[Removed]
    """Messages of the thread that are not in the view."""
    tokens_before: int
    """Tokens of the thread, before clearing and trimming."""
    tokens_after: int
    """Tokens of the view."""
    budget: int | None = None
    """Maximum tokens of the view; null without a limit."""
    over_budget: bool
    """Whether not even the newest unit fits."""
    counter: str
    """What counted the tokens: a tokenizer, or the estimate with its version."""
    flags: list[str] = Field(default_factory=list)
    """What else there is to know, such as `gap` or `broken_link`."""
    degraded: list[str] = Field(default_factory=list)
    """Parts that were unavailable, such as `recall`; the rest is complete."""
    replaced_parts: int = 0
    """How many content parts a model does not get: a line replaces each, and nothing a thought."""
    summary: SummaryUse | None = None
    """What the summary of the view covers; null without one."""


class ReportedExecution(Answer):
    """The result for an execution that came with its run."""

    id: UUID
    """The UUID of the node execution."""
    node_id: str
    """The node of the flow, named by the caller."""
    index: int
    """Number of this execution among the node's executions in the run."""
    created: bool
    """Whether it is new; false if it was replaced."""
    error: str | None = None
    """Code of the error if it was not stored; absent otherwise."""


class ReportedExecutionBody(TypedDict):
    """A node execution of the captured run."""

    node_id: str | UUID
    """The node of the flow, named by the caller."""
    index: NotRequired[int]
    """Number of this execution among the node's executions in the run."""
    status: Literal["running", "succeeded", "failed", "exception", "stopped"]
    """How the execution ended; node memory reads only `succeeded` ones."""
    outputs: ExecutionOutputs | Mapping[str, Any]
    """What the node returned."""
    few_shots: NotRequired[
        Sequence[OpenAIMessage | Mapping[str, Any] | LangflowMessage | LangChainMessage | LangChainDump] | None
    ]
    """Messages that the node's template puts before its context; they are not history."""
    id: NotRequired[str | UUID | None]
    """The id of the execution: a UUID or any string; generated by default."""


class ResourceSpans(TypedDict):
    """Spans of one resource."""

    scopeSpans: NotRequired[Sequence[ScopeSpans | Mapping[str, Any]] | None]
    """Spans, by the instrumentation that made them."""


class RetentionPassView(Answer):
    """Rows that one pass of a rule deleted."""

    id: UUID
    """The UUID."""
    rule: Literal["flow", "session", "memory_base", "memory_use"] | str
    """What rule it was: that of a `flow`, the expiry of a `session`, that of a `memory_base`, or the server's
    setting for recorded uses, `memory_use`.
    """
    flow_id: UUID
    """The flow: its UUID."""
    memory_base_id: UUID | None = None
    """The memory base whose knowledge base forgot; null for other rules."""
    retain_days: int | None = None
    """The rule; null for the expiry of a session."""
    expired_before: datetime
    """What was captured until then was deleted."""
    sessions: int
    """Number of sessions that were deleted completely."""
    runs: int
    """Number of deleted runs."""
    messages: int
    """Number of deleted messages; for a memory base, of those that its knowledge base forgot."""
    chunks: int
    """Number of chunks that knowledge bases held of them; repairs delete these."""
    node_executions: int
    """Number of deleted node executions."""
    memory_uses: int
    """Number of deleted recorded uses."""
    summaries: int
    """Number of deleted summaries."""
    message_changes: int
    """Number of deleted records of changes, with former versions of messages."""
    restorable_messages: int
    """Number of messages that had been deleted one by one and could still be restored."""
    chats: int
    """Number of deleted chats."""
    chat_messages: int
    """Number of deleted messages of chats."""
    started_at: datetime
    """When the first of it was deleted."""
    finished_at: datetime | None = None
    """When nothing was left to delete; null while the pass runs."""
    facts: int = 0
    """Number of deleted facts that a model had derived from the messages."""


class RetentionPreview(Answer):
    """Rows that one rule would delete now. Sessions that a hold keeps count nowhere else."""

    rule: Literal["flow", "session", "memory_base"] | str
    """What rule it is: that of a `flow`, the expiry of a `session`, or that of a `memory_base`."""
    flow_id: UUID
    """The flow: its UUID."""
    memory_base_id: UUID | None = None
    """The memory base whose knowledge base would forget; null for other rules."""
    retain_days: int | None = None
    """The rule; null for the expiry of a session."""
    expired_before: datetime
    """What was captured until then would be deleted."""
    sessions: int
    """Number of sessions that would be deleted completely."""
    messages: int
    """Number of messages; for a memory base, of those that its knowledge base would forget."""
    chunks: int
    """Number of chunks that knowledge bases hold of them."""
    node_executions: int
    """Number of node executions."""
    chat_messages: int
    """Number of messages of chats."""
    held_sessions: int
    """Number of sessions with expired messages that a legal hold keeps."""
    memory_uses: int = 0
    """Number of recorded uses of memory."""


class RetentionPreviews(Answer):
    """One item for each rule that is set: of flows, of sessions that have expired, and of memory bases."""

    items: list[RetentionPreview]
    """What each rule would delete."""


class RetrievalAnswer(Answer):
    """The found messages, best first."""

    records: list[RetrievalRecord]
    """The messages; empty if none is found."""


class RetrievalRecord(Answer):
    """A found message. `content` is its text, or the passage that matched if the text is long."""

    content: str
    """The text, or the passage."""
    score: float
    """From 0 to 1, higher is better."""
    title: str
    """Who said it, when, and in which session."""
    metadata: dict[str, Any]
    """The message's own metadata, and fields that every message has."""


class RetrievalSetting(TypedDict):
    """Limits of the answer."""

    top_k: NotRequired[int | None]
    """At most 100. Default: 4, as in Dify."""
    score_threshold: NotRequired[float | None]
    """Lowest score; 0 is off."""


class RolePrefix(TypedDict):
    """Prefixes of the lines in the view's text."""

    user: NotRequired[str]
    """Prefix of what users say."""
    assistant: NotRequired[str]
    """Prefix of what the model says."""


class RunMemory(Answer):
    """The memory that the nodes of a run were given."""

    run_id: UUID
    """The run: its UUID."""
    session_id: str | None = None
    """The session of the run; until it is captured, the one that its memory was asked for, null if none was."""
    nodes: list[NodeUse]
    """What each node received, oldest first."""


class RunRef(Answer):
    """A run by both of its ids."""

    run_id: UUID
    """The run: its UUID."""
    external_id: str | None = None
    """The id that the caller chose; null if that is a UUID."""


class RunStory(Answer):
    """A run from its question to the moment when searches find it."""

    run_id: UUID
    """The run: its UUID."""
    external_id: str | None = None
    """The id that the caller chose; null if that is a UUID."""
    flow_id: UUID
    """The flow: its UUID."""
    session_id: str | None = None
    """The session's id, chosen by the caller."""
    end_user_id: str | None = None
    """The person that the session or chat belongs to; null if unknown."""
    captured_at: datetime | None = None
    """When the run was captured; null if only its memory is recorded."""
    question: str | None = None
    """The text of its first user message; null without one."""
    answer: str | None = None
    """The text of its last assistant message; null without one."""
    nodes: list[NodeStory]
    """The nodes whose memory or execution is recorded, in the order of time."""
    memories: list[Ingestion]
    """Its messages in each memory base of the flow, oldest first."""
    previous: RunRef | None = None
    """The run of the session captured before it; null for the first."""
    next: RunRef | None = None
    """The run of the session captured after it; null for the last."""


class RunView(Answer):
    """One run of a flow: its messages, its last question and answer, and whether its messages are searchable."""

    run_id: UUID
    """The run: its UUID."""
    external_id: str | None = None
    """The id that the caller chose; null if that is a UUID."""
    flow_id: UUID
    """The flow: its UUID."""
    session_id: str
    """The session's id, chosen by the caller."""
    end_user_id: str | None = None
    """The person that the session or chat belongs to; null if unknown."""
    messages: int
    """Number of messages."""
    created_at: datetime
    """When it was created."""
    question: str | None = None
    """The beginning of its last message of a user; null without text."""
    answer: str | None = None
    """The beginning of its last message of the assistant; null without text."""
    state: SearchState | str
    """The worst state of its messages in the flow's memory bases. One that is off counts only if no other one of
    the flow is on.
    """
    searchable_after_seconds: float | None = None
    """Time from its capture until its last message was ingested; null unless `searchable`."""
    given: RecalledView | None = None
    """What the models of its nodes were given from memory; null if nothing is recorded."""


class ScopeSpans(TypedDict):
    """Spans of one instrumentation."""

    spans: NotRequired[Sequence[Span | Mapping[str, Any]] | None]
    """The spans."""


class ScoreParts(Answer):
    """The parts of a score. Mode `dense` has only the cosine and the chunk."""

    signals: dict[str, SignalPart] | None = None
    """Each signal, by its name."""
    bias: float | None = None
    """Added to the sum of the shares."""
    weights: str | None = None
    """`default`, or `tuned` for the memory base's own."""
    weight_set: str | None = None
    """The name of the set of weights."""
    recency: float | None = None
    """The factor for the age of the message."""
    evidence: float | None = None
    """The chance that the memory base answers the question at all, the same for all of its results: of a text with
    several questions, the question that found this message. Null in mode `keyword`. From 0.5 on the best
    results have a score of 0.05 or more, which recalls them.
    """
    own_score: float | None = None
    """The score before the result moved to that of another, or was lowered."""
    place_of: UUID | None = None
    """The earlier message whose place and score this later one took."""
    echo_of: UUID | None = None
    """The earlier message that this one repeats: it ranks below that."""
    non_answer: bool | None = None
    """True for a message that says only that something is not known."""
    lacks_name: bool | None = None
    """True if the memory base answers the question by a rare name alone, which this message lacks."""
    reranker: float | None = None
    """The score of the reranker, if one is set."""
    dense: float | None = None
    """In mode `dense`: the cosine before the correction for length."""
    chunk: int | None = None
    """Number of the chunk that matched best."""
    source: str | None = None
    """Where the chunk was found."""


class SearchAnswer(Answer):
    """Hits, best first, each message once; ties: the later message first, then by id. `facts`: if the request asks
    for them, what a model derived from messages, best first. Their scores do not compare with those of
    messages. `warnings`: why nothing was found, if nothing can be.
    """

    results: list[Hit]
    """What was found, best first."""
    took_ms: float
    """Duration of the search in milliseconds."""
    facts: list[FactHit] = Field(default_factory=list)
    """What a model derived from messages, if the request asks for it, best first. The scores do not compare with
    those of messages.
    """
    warnings: list[Caveat] = Field(default_factory=list)
    """Why nothing was found, if nothing can be; and if only the end of the query was searched for."""


class SecretScan(Answer):
    """What a part of a scan found. Send `next_cursor` until it is null."""

    dry_run: bool
    """Whether nothing was changed."""
    scanned: int = 0
    """Number of rows that were looked through."""
    kinds: dict[str, int] | None = None
    """Number of secrets, by kind."""
    places: dict[str, int] | None = None
    """Number of rows with secrets, by place."""
    found: list[FoundSecret] = Field(default_factory=list)
    """The first 100 of them."""
    redacted: int = 0
    """Number of rows that were redacted."""
    held: int = 0
    """Number of rows with secrets that a legal hold keeps as they are."""
    job_ids: list[UUID] = Field(default_factory=list)
    """The repairs that update the knowledge bases."""
    receipt_id: UUID | None = None
    """The receipt of what was redacted; null if nothing was."""
    next_cursor: str | None = None
    """Where to continue; null at the end."""


class SessionView(Answer):
    """A session of a flow."""

    id: UUID
    """The UUID of the session."""
    flow_id: UUID
    """The flow: its UUID."""
    session_id: str
    """The session's id, chosen by the caller."""
    end_user_id: str | None = None
    """The person that the session or chat belongs to; null if unknown."""
    title: str | None = None
    """`title` of its metadata, else the beginning of its first question; null without either."""
    messages: int
    """Number of messages."""
    state: SearchState | str
    """The worst state of its messages in the flow's memory bases. One that is off counts only if no other one of
    the flow is on.
    """
    metadata: dict[str, Any]
    """Any JSON object of the caller."""
    created_at: datetime
    """When it was created."""
    last_captured_at: datetime
    """When a message was last captured."""
    expires_at: datetime | None = None
    """When everything that was captured until then is deleted; null: only by the rule of its flow."""
    warnings: list[Caveat] = Field(default_factory=list)
    """Secrets that the request replaced; absent without any."""


class ShownPair(Answer):
    """A question and its reply."""

    messageId: str | None = None
    """The question's message."""
    userMessage: str | None = None
    """The text of the question."""
    agentMessage: str | None = None
    """The text of the reply."""


class SignInLinkAnswer(Answer):
    """A link for one use. Append `url_path` to the address of the API."""

    url_path: str
    """The path of the link; it contains a token for one use."""
    expires_at: datetime
    """When the link stops working."""


class SignalPart(Answer):
    """A signal in a score."""

    value: float
    """The value of the signal."""
    share: float
    """Its weight times the value."""


class SkippedSession(Answer):
    """A session that a flush named and that needs no job."""

    session_id: str
    """The session."""
    reason: Literal["nothing_pending", "not_found"] | str
    """`nothing_pending`, or `not_found` if there is no such session."""


class Source(Answer):
    """Origin of a message of the view. A message that strict alignment merged is history if one of its parts is."""

    kind: Literal["history", "summary", "recall", "fact", "predefined", "standing"] | str
    """What the message is."""
    message_ids: list[str]
    """The stored messages that it stands for; of a summary, its own id."""
    tokens: int
    """Tokens of the message."""
    score: float | None = None
    """The score of a memory; null for other messages."""


class Span(TypedDict):
    """A span. Its other fields are ignored."""

    traceId: NotRequired[str | None]
    """The trace, in hexadecimal digits: the run."""
    spanId: NotRequired[str | None]
    """The span, in hexadecimal digits."""
    startTimeUnixNano: NotRequired[str | int | None]
    """When it began: nanoseconds since 1970."""
    endTimeUnixNano: NotRequired[str | int | None]
    """When it ended: nanoseconds since 1970."""
    attributes: NotRequired[Sequence[SpanAttribute | Mapping[str, Any]] | None]
    """Messages, session, end user: by their names."""


class SpanAttribute(TypedDict):
    """An attribute."""

    key: NotRequired[str | None]
    """Its name."""
    value: NotRequired[SpanValue | Mapping[str, Any] | None]
    """Its value."""


class SpanValue(TypedDict):
    """A value: a string, or a list or an object as OTLP has them."""

    stringValue: NotRequired[str | None]
    """The string."""


class Spent(Answer):
    """The tokens of the budget that each part of a context uses."""

    summary: int
    """Tokens of the summary."""
    standing: int | None = None
    """Tokens of standing statements."""
    recall: int
    """Tokens of memories, the profile included."""
    facts: int | None = None
    """Tokens of facts that a model derived."""
    history: int
    """Tokens of history."""
    unused: int
    """Tokens of the budget that are left."""


class StandingBody(TypedDict):
    """Standing statements of the end user. `include`: default as the flow says. `share`: part of the budget that
    they use at most.
    """

    include: NotRequired[bool | None]
    """Whether the context contains the end user's standing statements; null: as the flow says."""
    share: NotRequired[float]
    """Part of the budget that standing statements use at most; 0: none."""


class StandingStatementView(Answer):
    """A statement that contexts contain."""

    id: UUID
    """The UUID of the standing statement."""
    kind: str
    """`instruction` or `preference`."""
    text: str
    """What contexts contain: what was found, or a person's own words."""
    found: str
    """What was found in the message, verbatim."""
    own_words: bool
    """Whether a person wrote the text in the place of what was found."""
    state: Literal["active", "replaced", "deleted"] | str
    """`active`; `replaced` by a later statement that repeats or contradicts it; or `deleted` by a person."""
    replaced_by: UUID | None = None
    """The UUID of the later statement; null unless it was replaced."""
    message_id: UUID
    """The message that states it."""
    message_external_id: str | None = None
    """The id that the caller chose for the message; null if that is a UUID."""
    session_id: str
    """The session of the message."""
    seq: int
    """The seq of the message."""
    sender_name: str | None = None
    """The sender of the message; null if unknown."""
    said_at: datetime
    """The timestamp of the message."""
    changed_by: str | None = None
    """The name of the API key that changed it last; null if nobody did."""
    changed_at: datetime | None = None
    """When it was changed last; null if never."""
    warnings: list[Caveat] = Field(default_factory=list)
    """Secrets that the request replaced; absent without any."""


class StandingUse(Answer):
    """A standing statement in a context."""

    id: str
    """The UUID of the standing statement."""
    message_id: str
    """The message that states it."""
    kind: str
    """`instruction` or `preference`."""
    own_words: bool
    """Whether a person wrote the text in the place of what was found."""


class StandingView(Answer):
    """The standing statements of an end user, or of a session without one, the latest first."""

    flow_id: UUID
    """The UUID of the flow."""
    end_user_id: str | None = None
    """The person; null for a session without one."""
    session_id: str | None = None
    """The session, if it has no end user; else null."""
    in_contexts: bool
    """Whether the flow's contexts contain them unless the call says otherwise."""
    statements: list[StandingStatementView]
    """The statements, the latest first."""


class StoredOutputs(Answer):
    """A node's outputs as they are stored."""

    text: str | None = None
    """The text that the node returned."""
    context: list[dict[str, Any]] | None = None
    """The messages of the node's model call: the prompt without the system message, then the answer."""
    branch: int | str | None = None
    """Tells executions that ran in parallel, with the same index, from each other: the next one reads all of them.
    Without it only the last one with this index counts.
    """


class StoredWeights(Answer):
    """A memory base's own weights: sets by name, each replacing the default set of that name, and a half-life."""

    sets: dict[str, WeightSet]
    """Weights by the name of the default set that each replaces."""
    fitted_at: datetime | None = None
    """When the weights were fitted."""
    questions: int | None = None
    """Number of questions that the weights were fitted on."""
    note: str | None = None
    """A note for people."""
    half_life_days: float | None = None
    """The half-life of searches that set none; null: age does not count."""


class SummaryUse(Answer):
    """The summary of a view: it covers the messages from_seq to to_seq."""

    from_seq: int
    """The seq of the first message that the summary covers."""
    to_seq: int
    """The seq of the last message."""
    overlap: int
    """Number of covered messages that are also sent verbatim."""


class SummaryView(Answer):
    """A session's summary: null until one is made, and after a covered message was deleted."""

    summary: str | None = None
    """The text of the summary; null if there is none."""
    covers: Covers | None = None
    """The messages that the summary covers; null if there is none."""
    stale: bool
    """Whether a covered message was edited since."""
    preset: str
    """The preset whose summary it is."""
    summarizer: str
    """What wrote the summary."""
    requested_seq: int
    """The last message that the next summary must cover."""
    error: str | None = None
    """Code of the last error; null without one."""
    updated_at: datetime | None = None
    """When it last changed."""


class Tally(Answer):
    """Rows of one kind in an import."""

    created: int = 0
    """How many were new."""
    known: int = 0
    """How many were stored already."""


class TextPart(TypedDict):
    """A part with text."""

    type: Literal["text", "input_text", "output_text"]
    """What kind of text it is."""
    text: str
    """The text."""


class TokensByKind(Answer):
    """The tokens of a view, by where its messages come from."""

    recall: int = 0
    """Tokens of memories."""
    history: int = 0
    """Tokens of history."""
    summary: int = 0
    """Tokens of the summary."""
    predefined: int = 0
    """Tokens of predefined messages."""
    standing: int = 0
    """Tokens of standing statements."""


class TracesAnswer(Answer):
    """OTLP's ExportTraceServiceResponse: empty if every message is stored."""

    partialSuccess: PartialSuccess | None = None
    """How many spans have messages that are not stored, and why."""


class Trimmed(Answer):
    """Messages that trimming left out of views. A summary is a remaining message."""

    deleted_count: int
    """Number of messages that views no longer show; the log keeps them."""
    remaining_count: int
    """Number of messages that views may still show; a summary is one of them."""
    summary: str | None = None
    """The text of the summary; null if there is none."""


class Turn(Answer):
    """A message before or after a result."""

    message_id: UUID
    """The message."""
    run_id: UUID
    """Its run."""
    seq: int
    """Its number in the session."""
    role: str
    """Who speaks."""
    sender_name: str | None = None
    """The speaker's name."""
    content: str | list[dict[str, Any]] | None = None
    """Text, content parts, or null next to tool calls."""
    timestamp: datetime
    """When it was written."""


class Usage(Answer):
    """The quotas of a user, over all keys, and those of a key."""

    key_id: UUID | None = None
    """The key."""
    user: list[QuotaUsage]
    """Quotas of the user, over all of its keys; empty for a limited key."""
    key: list[QuotaUsage]
    """Quotas of the key."""


class ViewAnswer(Answer):
    """Messages for a model. `sources` is parallel to `messages`; `text` is the same content as a transcript."""

    messages: list[dict[str, Any]]
    """Messages that can go to a model unchanged."""
    sources: list[Source]
    """Where each message comes from, parallel to `messages`."""
    text: str
    """The same content as a transcript."""
    report: Report
    """What happened to the log."""


class WebhookView(Answer):
    """An endpoint as it is shown, without its secrets."""

    id: UUID
    """The UUID."""
    url: str
    """Where events are sent."""
    description: str
    """A note for people."""
    event_types: list[EventType | str]
    """The types of the events that are sent."""
    enabled: bool
    """Whether events are recorded and sent."""
    disabled_reason: str | None = None
    """Why it is disabled: `request`; `gone`, it answered with 410; `failing`, no attempt succeeded for days. Null
    while enabled.
    """
    disabled_at: datetime | None = None
    """Since when it is disabled; null while enabled."""
    failing_since: datetime | None = None
    """The first failed attempt after the last successful one; null if the last one succeeded."""
    former_secret_until: datetime | None = None
    """Until when requests are signed with the former secret too; null without one."""
    pending: int
    """Number of deliveries that wait for their next attempt, without tests."""
    dead: int
    """Number of deliveries whose attempts have all failed, without tests."""
    created_at: datetime
    """When it was created."""


class WebhookWithSecret(Answer):
    """An endpoint with its new secret. Only this answer contains the secret."""

    id: UUID
    """The UUID."""
    url: str
    """Where events are sent."""
    description: str
    """A note for people."""
    event_types: list[EventType | str]
    """The types of the events that are sent."""
    enabled: bool
    """Whether events are recorded and sent."""
    disabled_reason: str | None = None
    """Why it is disabled: `request`; `gone`, it answered with 410; `failing`, no attempt succeeded for days. Null
    while enabled.
    """
    disabled_at: datetime | None = None
    """Since when it is disabled; null while enabled."""
    failing_since: datetime | None = None
    """The first failed attempt after the last successful one; null if the last one succeeded."""
    former_secret_until: datetime | None = None
    """Until when requests are signed with the former secret too; null without one."""
    pending: int
    """Number of deliveries that wait for their next attempt, without tests."""
    dead: int
    """Number of deliveries whose attempts have all failed, without tests."""
    created_at: datetime
    """When it was created."""
    secret: str
    """The secret that signs requests. It is shown only here."""


class WeightSet(Answer):
    """The weight of each signal (0 where it has none), and the bias of the sum."""

    bias: float
    """Added to the weighted sum of the signals."""
    weights: dict[str, float]
    """The weight of each signal, by its name."""


class WeightSetBody(TypedDict):
    """The score is the bias plus the sum of weight times signal; a signal without a weight adds nothing."""

    bias: float
    """Added to the weighted sum of the signals."""
    weights: Mapping[str, float]
    """The weight of each signal, by its name."""


class WeightsView(Answer):
    """The default weights, the memory base's own weights if any, and its previous ones."""

    defaults: dict[str, WeightSet]
    """The default sets, by name."""
    stored: StoredWeights | None = None
    """The memory base's own weights; null if the default ones are used."""
    previous: StoredWeights | None = None
    """The value of `stored` before the last change."""


class WorkerView(Answer):
    """A worker with what it holds."""

    name: str
    """Host, data directory, process and start time."""
    state: WorkerState | str
    """`running`; `draining`: it ends its jobs and takes no others; `lost`: its heartbeats have stopped."""
    started_at: datetime
    """When it started."""
    last_seen_at: datetime
    """Its last heartbeat."""
    drain_requested_at: datetime | None = None
    """When somebody asked it to stop; null: nobody has."""
    draining_at: datetime | None = None
    """Since when it takes no jobs; null: it takes them."""
    jobs: int
    """Number of jobs that it holds."""
    messages: int
    """Number of messages in these jobs."""
    oldest_job_at: datetime | None = None
    """When the first of these jobs started; null without one."""


class Workers(Answer):
    """Every worker that has a heartbeat, the one that has run longest first. A clean stop leaves none."""

    items: list[WorkerView]
    """Every worker that has a heartbeat, the one that has run longest first."""
