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
    """A page of a list."""

    items: list[Item]
    total: int
    page: int
    size: int
    next_cursor: str | None = None


Capture = Literal["outputs", "all"]
JobKind = Literal["ingest", "regenerate", "repair"]
JobState = Literal["queued", "running", "done", "failed", "cancelled"]
MemoryBaseStatus = Literal["ready", "pending", "ingesting", "regenerating", "unavailable", "deleting"]
SessionState = Literal["synced", "pending", "ingesting", "failed"]


class Accepted(Answer):
    """The resource is no longer visible; its deletion continues in the background."""

    status: Literal["deleting"] | str = "deleting"


class Activity(Answer):
    """The window, widened to whole buckets, and its buckets, oldest first without gaps."""

    since: datetime
    until: datetime
    bucket_seconds: int
    buckets: list[Bucket]


class BaseSessionView(Answer):
    """The progress of one session. Without an `id` it is not tracked yet and all its messages are pending."""

    id: UUID | None
    session_id: str
    cursor_id: UUID | None
    cursor_seq: int
    total_messages: int
    total_processed: int
    pending_messages: int
    last_sync_at: datetime | None
    state: SessionState | str


class Bucket(Answer):
    """`bucket_seconds` from `at` on. The delays are those of the messages ingested then; null without any."""

    at: datetime
    captured: int
    ingested: int
    delay_mean_seconds: float | None
    delay_max_seconds: float | None


class CaptureAnswer(Answer):
    """Result of a capture, with the result of each node execution in it."""

    run_id: UUID
    run_external_id: str | None
    session_id: str
    created: bool
    messages: list[CapturedMessage]
    ingestion: list[IngestionState]
    node_executions: list[ReportedExecution] = Field(default_factory=list)


class CapturedMessage(Answer):
    """CapturedMessage."""

    id: UUID
    external_id: str | None
    seq: int
    created: bool
    deleted: bool


class ChatMemoryView(Answer):
    """A stored chat memory."""

    name: str
    chat_id: str
    """Template of the chat id, such as user-{{ start.user_id }}."""
    user_message_content: str = "{{ start | json }}"
    """Template of user messages."""
    limit_type: Literal["messages", "tokens"] | str = "messages"
    trim_strategy: Literal["drop_oldest", "drop_middle"] | str = "drop_oldest"
    clear_tool_results: bool = False
    enable_summarization: bool = False
    summarize_prompt: str = (
        "Summarize the key points of the removed messages, preserving important context and decisions made."
    )
    use_predefined_messages: bool = False
    predefined_messages: list[PredefinedMessage] = Field(default_factory=list)
    trim_mode: Literal["continuous", "threshold"] | str = "continuous"
    """For limit_type messages."""
    max_messages: int = 20
    """Messages that continuous trimming keeps."""
    threshold_trigger: int = 500
    """Trims at this many messages."""
    threshold_target: int = 100
    """Messages kept then; below the trigger."""
    max_images: int = 1
    max_tokens: int = 2000
    min_messages: int = 0
    """Newest messages kept beyond max_tokens."""
    pin_predefined: bool = False
    """Never trim predefined messages; they still count."""
    keep_first: int | None = None
    """First messages kept by drop_middle; by default the predefined ones, at least 2."""
    id: UUID
    flow_id: UUID
    node_id: str
    created_at: datetime
    updated_at: datetime


class ChatMessageView(Answer):
    """A stored message of a chat. `request_id`: the run that wrote it, or a new id for a call without a run."""

    id: UUID
    external_id: str | None
    seq: int
    run_id: UUID | None
    request_id: UUID
    role: str
    content: str | list[Any] | None
    tool_calls: list[Any] | None
    tool_call_id: str | None
    name: str | None
    files: list[Any]
    metadata: dict[str, Any]
    status: str
    tokens: int
    created_at: datetime


class ChatPage(Answer):
    """A page of a log, oldest first. `next_offset` and `next_cursor` continue in the same direction; `counter`
    counted the messages' tokens.
    """

    items: list[ChatMessageView]
    total: int
    has_more: bool
    counter: str
    next_offset: int | None = None
    next_cursor: str | None = None


class ChatView(Answer):
    """A chat; `messages` and `tokens` count its whole log, and `counter` names what counts its tokens."""

    chat_id: str
    end_user_id: str | None
    messages: int
    tokens: int
    counter: str
    created_at: datetime
    updated_at: datetime


class ContextAnswer(Answer):
    """A view with a report of how the budget was spent and what a larger budget would add."""

    messages: list[dict[str, Any]]
    sources: list[Source]
    text: str
    report: ContextReport


class ContextConfig(TypedDict):
    """Overrides of the preset. `pairs`: number of latest pairs of question and reply, in session memory."""

    pairs: NotRequired[int]
    max_turns: NotRequired[int]
    max_messages: NotRequired[int]
    summary: NotRequired[bool]
    summarizer: NotRequired[str]
    uncovered_tokens: NotRequired[int]
    count_current: NotRequired[bool]
    clip: NotRequired[bool]
    summary_style: NotRequired[Literal["line", "heading", "both"]]
    summary_first: NotRequired[bool]
    align: NotRequired[Literal["none", "user_first", "strict"]]
    format: NotRequired[Literal["openai", "langchain", "text"]]


class ContextReport(Answer):
    """The report of a view, how its budget was spent, and what a larger one would add."""

    kept: list[str]
    removed: list[Removed]
    tokens_before: int
    tokens_after: int
    budget: int | None
    over_budget: bool
    counter: str
    flags: list[str] = Field(default_factory=list)
    degraded: list[str] = Field(default_factory=list)
    summary: SummaryUse | None = None
    spent: Spent
    further: Further


class Covers(Answer):
    """Covers."""

    from_seq: int
    to_seq: int


class DeadLetterError(Answer):
    """Why the message could not be embedded."""

    code: str
    message: str


class DeadLetterView(Answer):
    """A message that could not be embedded; `message` is null if it was deleted since."""

    id: UUID
    memory_base_id: UUID
    session_id: str
    message_id: UUID
    message: MessageView | None
    state: str
    error: DeadLetterError
    attempts: int
    created_at: datetime
    updated_at: datetime


class Deleted(Answer):
    """Deleted."""

    deleted: list[UUID]
    remaining_count: int


class DocumentAnswer(Answer):
    """Chunks, best first; ties by document and index."""

    results: list[DocumentHit]
    took_ms: float


class DocumentBody(TypedDict):
    """A text. Without `metadata`, stored metadata is kept."""

    text: str
    """At most 1000000 characters."""
    id: NotRequired[str | UUID | None]
    metadata: NotRequired[Mapping[str, Any] | None]


class DocumentHit(Answer):
    """A chunk that a search found; `id` is the caller's id, or the document_id without one."""

    id: str
    document_id: UUID
    chunk_index: int
    snippet: str
    score: float
    metadata: dict[str, Any]


class DocumentResult(Answer):
    """The result for one document. updated: the same text with other metadata; failed: error_code has the reason."""

    id: str
    document_id: UUID
    status: Literal["created", "replaced", "updated", "unchanged", "failed"] | str
    chunks: int
    error_code: str | None = None


class DocumentsAnswer(Answer):
    """The result of each document, in order."""

    documents: list[DocumentResult]


class Erasure(Answer):
    """A receipt: what was deleted from SQL, and how many chunks of it the stores hold according to the ledgers.

    `context_messages` were in contexts of node executions; `memory_uses` record what models received;
    `summaries` are those of sessions and of chats. `pending_repairs` repairs delete the chunks, one for each
    memory base and session; those in `job_ids` are queued, the others follow the active jobs. No search returns
    any of this from now on.
    """

    sessions: int = 0
    runs: int = 0
    messages: int = 0
    node_executions: int = 0
    context_messages: int = 0
    memory_uses: int = 0
    summaries: int = 0
    chunks: int = 0
    pending_repairs: int = 0
    job_ids: list[UUID] = Field(default_factory=list)
    chats: int = 0
    chat_messages: int = 0


class ExecutionOutputs(TypedDict):
    """A node's outputs: its text, and its context (the prompt without the system message, then the answer). Other
    fields are stored too.
    """

    text: NotRequired[str | None]
    context: NotRequired[Sequence[Any] | None]
    branch: NotRequired[int | str | None]
    """Tells executions that ran in parallel, with the same index, from each other: the next one reads all of them.
    Without it only the last one with this index counts.
    """


class FlowView(Answer):
    """A flow. `external_id` is the id that the caller chose; null if that is a UUID."""

    id: UUID
    external_id: str | None
    name: str
    created_at: datetime


class FlushResult(Answer):
    """FlushResult."""

    jobs: list[JobBrief]
    conflicts: list[JobConflict]


class Further(Answer):
    """What a budget larger by `budget` tokens would add: messages that are new or longer, and their tokens."""

    budget: int
    history_messages: int
    history_tokens: int
    recall_messages: int
    recall_tokens: int


class HistoryAnswer(Answer):
    """A view; in mode node with the execution that it was read from."""

    messages: list[dict[str, Any]]
    sources: list[Source]
    text: str
    report: Report
    execution_id: UUID | None = None


class Hit(Answer):
    """A found message. `pending`: the serving generation does not hold it yet, or holds an older version.

    `snippet` is the passage that matched, `text[snippet_start:snippet_end]` of the message. `before` and
    `after` are the turns around it as dicts, in conversation order. `parts` explains the score; null unless
    requested.
    """

    message_id: UUID
    memory_base_id: UUID
    session_id: str
    run_id: UUID
    seq: int
    role: str
    sender_name: str | None
    content: Any
    snippet: str
    snippet_start: int
    snippet_end: int
    timestamp: datetime
    score: float
    pending: bool
    metadata: dict[str, Any]
    before: list[dict[str, Any]] = Field(default_factory=list)
    after: list[dict[str, Any]] = Field(default_factory=list)
    parts: dict[str, Any] | None = None


class ImportAnswer(Answer):
    """How many lines of each type were read, and how many messages were new."""

    lines: int = 0
    flows: int = 0
    sessions: int = 0
    runs: int = 0
    messages: MessageTally | None = None
    chat_memories: int = 0
    chat_messages: MessageTally | None = None
    node_executions: Tally | None = None
    memory_uses: Tally | None = None


class IngestionState(Answer):
    """The effect of a capture on one memory base. `pending_capped`: at least `pending_messages` are pending."""

    memory_base_id: UUID
    pending_messages: int
    pending_capped: bool
    job_id: UUID | None


class JobBrief(Answer):
    """A queued job; GET /jobs/{id} shows the rest."""

    id: UUID
    session_id: str
    state: JobState | str


class JobConflict(Answer):
    """JobConflict."""

    session_id: str
    job_id: UUID
    state: str


class JobView(Answer):
    """A job: it ingests the messages of one session in (from_seq, to_seq]."""

    id: UUID
    kind: JobKind | str
    memory_base_id: UUID
    memory_base_name: str
    session_id: str
    state: JobState | str
    from_seq: int
    to_seq: int
    processed: int
    total: int
    attempts: int
    error: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class KeyAnswer(Answer):
    """KeyAnswer."""

    id: UUID
    name: str
    prefix: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


class KnowledgeBaseView(Answer):
    """A knowledge base in the list. `documents`: for a memory base, the messages in its serving ledger.

    status: pending while a memory base has messages to ingest, or an ordinary one has no collection yet.
    """

    id: UUID
    name: str
    is_memory_base: bool
    memory_base_id: UUID | None
    embedding_model: str
    documents: int
    status: Literal["ready", "pending", "regenerating", "deleting"] | str
    created_at: datetime


class Liveness(Answer):
    """Liveness."""

    status: Literal["ok"] | str = "ok"
    version: str


class MemoryBaseView(Answer):
    """A memory base and its progress. `pending_capped`: `pending_messages` is a lower bound."""

    id: UUID
    name: str
    flow_id: UUID
    user_id: UUID
    kb_name: str
    threshold: int
    auto_capture: bool
    capture: Capture | str
    idle_after: int
    embedding_model: str
    created_at: datetime
    status: MemoryBaseStatus | str
    pending_messages: int
    pending_capped: bool
    total_processed: int
    last_sync_at: datetime | None
    sessions: int
    mismatch: bool | None
    mismatch_checked_at: datetime | None
    dead_letters: int


class MessageTally(Answer):
    """`deleted`: messages that were deleted from an existing session and stay deleted."""

    created: int = 0
    known: int = 0
    deleted: int = 0


class MessageView(Answer):
    """A stored message. `ingested` is present if the request named a memory base."""

    id: UUID
    external_id: str | None
    flow_id: UUID
    session_id: str
    run_id: UUID
    end_user_id: str | None
    seq: int
    role: str
    is_output: bool
    content: str | list[Any] | None
    tool_calls: list[Any] | None
    tool_call_id: str | None
    name: str | None
    sender_name: str | None
    parent_message_id: UUID | None
    files: list[Any]
    metadata: dict[str, Any]
    status: str
    version: int
    timestamp: datetime
    captured_at: datetime
    edited_at: datetime | None
    ingested: bool | None = None


class Mismatch(Answer):
    """Counted in chunks, except `missing_token_vectors`, which counts messages.

    `altered` counts those of the newest chunks that are stored with another text or without a readable vector.
    """

    mismatch: bool
    state: Literal["ok", "mismatch", "unavailable"] | str
    expected: int = 0
    found: int = 0
    missing: int = 0
    extra: int = 0
    altered: int = 0
    missing_token_vectors: int = 0
    missing_ids: list[str] = Field(default_factory=list)
    extra_ids: list[str] = Field(default_factory=list)


class NewKeyAnswer(Answer):
    """A new key. Only this response contains the secret."""

    id: UUID
    name: str
    prefix: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    secret: str


class NodeExecutionView(Answer):
    """A stored execution."""

    id: UUID
    external_id: str | None
    flow_id: UUID
    session_id: str
    run_id: UUID
    node_id: str
    index: int
    status: str
    outputs: dict[str, Any]
    few_shots: list[Any]
    created_at: datetime
    updated_at: datetime


class NodeUse(Answer):
    """What the model of one node was given, as it was sent; `memoryUseSummary` for session memory only."""

    node_id: str
    memoryUseSummary: dict[str, Any] | None
    messages: list[dict[str, Any]]
    sources: list[dict[str, Any]]
    report: dict[str, Any]
    at: datetime


class Posted(Answer):
    """The result of a post. A view of the chat now has `tokens` and leaves out `trimmed` messages."""

    chat_id: str
    messages: list[PostedMessage]
    trimmed: int
    tokens: int


class PostedMessage(Answer):
    """A posted message; `created` is false if the chat had it already."""

    id: UUID
    external_id: str | None
    seq: int
    created: bool


class PredefinedMessage(Answer):
    """A message shown before the history, never stored in it."""

    role: Literal["user", "assistant", "system"] | str
    content: str


class PredefinedMessageInput(TypedDict):
    """A message shown before the history, never stored in it."""

    role: Literal["user", "assistant", "system"]
    content: str


class Readiness(Answer):
    """Every part responds. `degraded`: jobs are still not processed; `reason` says why."""

    status: Literal["ready", "degraded"] | str
    parts: dict[str, Literal["ok", "degraded"] | str]
    reason: str | None = None


class RecallBody(TypedDict):
    """Recall of memories. `share`: part of the budget that is reserved for memories; 0: no recall. `top_k`:
    maximum messages to recall from; default: as many as fit, with the turns around them. `scope`: where a
    session without an end user recalls from.
    """

    top_k: NotRequired[int | None]
    """At most 100, by the setting max_top_k."""
    share: NotRequired[float]
    min_score: NotRequired[float | None]
    scope: NotRequired[Literal["session", "flow"]]


class Regeneration(Answer):
    """The started build. Searches read the old generation until the build is complete."""

    generation: int
    jobs: list[JobBrief]


class Removed(Answer):
    """Removed."""

    id: str
    reason: str


class Repairs(Answer):
    """Jobs that update the knowledge bases; empty if no knowledge base holds the message."""

    job_ids: list[UUID]


class Report(Answer):
    """What happened to the log. tokens_before: after thread and filters, before clearing and trimming. `summary`:
    what the view's summary covers, if it has one.
    """

    kept: list[str]
    removed: list[Removed]
    tokens_before: int
    tokens_after: int
    budget: int | None
    over_budget: bool
    counter: str
    flags: list[str] = Field(default_factory=list)
    degraded: list[str] = Field(default_factory=list)
    summary: SummaryUse | None = None


class ReportedExecution(Answer):
    """The result for an execution that came with its run; `error` is the code of the error if it was not stored."""

    id: UUID
    node_id: str
    index: int
    created: bool
    error: str | None = None


class ReportedExecutionBody(TypedDict):
    """A node execution of the captured run."""

    node_id: str | UUID
    index: NotRequired[int]
    """Number of this execution among the node's executions in the run."""
    status: Literal["running", "succeeded", "failed", "exception", "stopped"]
    outputs: ExecutionOutputs | Mapping[str, Any]
    few_shots: NotRequired[Sequence[Any] | None]
    """Messages that the node's template puts before its context; they are not history."""
    id: NotRequired[str | UUID | None]


class RolePrefix(TypedDict):
    """Prefixes of the lines in the view's text."""

    user: NotRequired[str]
    assistant: NotRequired[str]


class RunMemory(Answer):
    """The memory that the nodes of a run were given; `session_id` is null if it is unknown."""

    run_id: UUID
    session_id: str | None
    nodes: list[NodeUse]


class RunView(Answer):
    """One run of a flow. `messages`: number of messages."""

    run_id: UUID
    external_id: str | None
    flow_id: UUID
    session_id: str
    end_user_id: str | None
    messages: int
    created_at: datetime


class SearchAnswer(Answer):
    """Hits, best first, each message once; ties: the later message first, then by id."""

    results: list[Hit]
    took_ms: float


class SessionView(Answer):
    """A session of a flow. `messages`: number of messages."""

    id: UUID
    flow_id: UUID
    session_id: str
    end_user_id: str | None
    messages: int
    metadata: dict[str, Any]
    created_at: datetime
    last_captured_at: datetime


class SignInLinkAnswer(Answer):
    """A link for one use. Append `url_path` to the address of the API."""

    url_path: str
    expires_at: datetime


class Source(Answer):
    """Where a message of the view comes from; `message_ids` are the stored messages that it stands for.

    The kind of messages that strict alignment merged is history if one of them is.
    """

    kind: Literal["history", "summary", "recall", "predefined"] | str
    message_ids: list[str]
    tokens: int
    score: float | None = None


class Spent(Answer):
    """The tokens of the budget that each part of a context uses."""

    summary: int
    recall: int
    history: int
    unused: int


class StoredWeights(Answer):
    """A memory base's own weights: sets by name, each replacing the default set of that name."""

    sets: dict[str, WeightSet]
    fitted_at: datetime | None = None
    questions: int | None = None
    note: str | None = None


class SummaryUse(Answer):
    """The summary of a view: it covers the messages from_seq to to_seq, of which `overlap` are also sent verbatim."""

    from_seq: int
    to_seq: int
    overlap: int


class SummaryView(Answer):
    """A session's summary. `summary` is null until one is made, and after a covered message was deleted.

    `stale`: a covered message was edited. `requested_seq`: the end of the next summary; `error`: of its last
    attempt.
    """

    summary: str | None
    covers: Covers | None
    stale: bool
    preset: str
    summarizer: str
    requested_seq: int
    error: str | None
    updated_at: datetime | None


class Tally(Answer):
    """Tally."""

    created: int = 0
    known: int = 0


class Trimmed(Answer):
    """`deleted_count`: messages that views no longer show but the log keeps. A summary is a remaining message."""

    deleted_count: int
    remaining_count: int
    summary: str | None = None


class ViewAnswer(Answer):
    """Messages for a model. `sources` is parallel to `messages`; `text` is the same content as a transcript."""

    messages: list[dict[str, Any]]
    sources: list[Source]
    text: str
    report: Report


class WeightSet(Answer):
    """The weight of each signal (0 where it has none), and the bias of the sum."""

    bias: float
    weights: dict[str, float]


class WeightSetBody(TypedDict):
    """The score is the bias plus the sum of weight times signal; a signal without a weight adds nothing."""

    bias: float
    weights: Mapping[str, float]


class WeightsView(Answer):
    """The default weights, the memory base's own weights if any, and its previous ones."""

    defaults: dict[str, WeightSet]
    stored: StoredWeights | None
    previous: StoredWeights | None
