"""Builds the view: what a model reads on its next turn. The log is never changed.

    log -> thread -> filters -> clearing -> images -> trim -> summary -> rendering

Each step is a module of this package. This one calls them in order and reports what each did: `prepare` the steps that
do not depend on limits, `PreparedLog.draft` the others, `Draft.view` renders, and `build_view` is all three.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic_core import to_jsonable_python

from memorybase.core.conversation.view.budget import LIMIT, SUMMARISED, Rules, Summary, fit
from memorybase.core.conversation.view.clearing import ToolResultClearing, clear_tool_results, keep_newest_images
from memorybase.core.conversation.view.content_parts import accepted
from memorybase.core.conversation.view.files import FileResolver, remote_images
from memorybase.core.conversation.view.limits import Limits, Size
from memorybase.core.conversation.view.records import (
    Content,
    Kind,
    Record,
    Role,
    message_ids,
    with_files,
    with_reasoning,
)
from memorybase.core.conversation.view.rendering import (
    Align,
    Format,
    Prefixes,
    align,
    history_text,
    to_langchain,
    to_openai,
)
from memorybase.core.conversation.view.threads import inferred_parents, thread
from memorybase.core.conversation.view.tokens import ESTIMATE, TokenCounter
from memorybase.core.conversation.view.turns import drop_unpaired_tool_messages
from memorybase.core.described import CounterName
from memorybase.core.messages import canonical

# none: the whole log; given: the records are a thread, in its order; parents: by parent_id; inferred: by
# inferred_parents.
ThreadRule = Literal["none", "given", "parents", "inferred"]

# A date in digits or with the name of its month, maybe with its weekday before or behind it; or a time of day.
_WHEN = re.compile(
    r"(?:\b(?:[^\W\d]{1,20},|(?:mon|tues|wednes|thurs|fri|satur|sun)day) )?"
    r"(?:\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{2,4}|\d{4}年\d\d?月\d\d?日"
    r"|\d\d?\.? [^\W\d]{1,20},? \d{4}|[^\W\d]{1,20}\.? \d\d?(?:st|nd|rd|th)?,? \d{4})(?: ?\([^\W\d]{1,20}\))?"
    r"|T?\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[ap]\.?m\b\.?)?(?:Z|[+-]\d\d:?\d\d)?",
    re.IGNORECASE,
)
SUMMARY_PREFIX = "[Previous Conversation Summary]\n"
FILE_DEGRADED = "files"


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """How to build a view.

    leaf_id            the last message of the thread; by default the newest, of exclude_run_id if it has messages
    roles              only messages of these roles
    answers_only       leave out assistant messages that are no answers to the user
    exclude_run_id     leave out the messages of this run: the caller has them
    max_images         number of the newest images that are sent; None is no limit
    reserved_tokens    part of limits.max_tokens for what the caller sends besides the view; inserts use it first
    uncovered_tokens   set if there are summaries: tokens of messages that none covers yet, sent verbatim
    pin_predefined     predefined messages count, but are never left out
    clip_oversized     truncate a newest turn that is too large instead of leaving it out
    clip_edge          fill the remaining room with the next older unit, its longest message truncated
    model              the model that reads the view, if it is named
    """

    thread: ThreadRule = "none"
    leaf_id: str | None = None
    roles: frozenset[Role] | None = None
    answers_only: bool = False
    exclude_run_id: str | None = None
    drop_empty: bool = True
    clearing: ToolResultClearing | None = None
    max_images: int | None = None
    limits: Limits = field(default_factory=Limits)
    reserved_tokens: int = 0
    uncovered_tokens: int | None = None
    pin_predefined: bool = False
    clip_oversized: bool = False
    clip_edge: bool = False
    model: str | None = None
    summary_role: Role = "user"
    summary_prefix: str = SUMMARY_PREFIX
    align: Align = "none"
    format: Format = "openai"
    prefixes: Prefixes = field(default_factory=Prefixes)
    faithful_text: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """Origin of a message of the view. A message that strict alignment merged is history if one of its parts is."""

    kind: Annotated[Kind, Field(description="What the message is.")]
    message_ids: Annotated[
        tuple[str, ...], Field(description="The stored messages that it stands for; of a summary, its own id.")
    ]
    tokens: Annotated[int, Field(description="Tokens of the message.")]
    score: Annotated[float | None, Field(description="The score of a memory; null for other messages.")] = None


@dataclass(frozen=True, slots=True)
class Removed:
    """A message that is not in the view, and why."""

    id: Annotated[str, Field(description="The message.")]
    reason: Annotated[str, Field(description="Why it is not in the view, such as `limit`.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryUse:
    """The summary of a view: it covers the messages from_seq to to_seq."""

    from_seq: Annotated[int, Field(description="The seq of the first message that the summary covers.")]
    to_seq: Annotated[int, Field(description="The seq of the last message.")]
    overlap: Annotated[int, Field(description="Number of covered messages that are also sent verbatim.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The records of a log that were filtered, cleared, trimmed, summarized or replaced."""

    kept: Annotated[tuple[str, ...], Field(description="Ids of the messages in the view.")]
    removed: Annotated[tuple[Removed, ...], Field(description="Messages of the thread that are not in the view.")]
    tokens_before: Annotated[int, Field(description="Tokens of the thread, before clearing and trimming.")]
    tokens_after: Annotated[int, Field(description="Tokens of the view.")]
    budget: Annotated[int | None, Field(description="Maximum tokens of the view; null without a limit.")]
    over_budget: Annotated[bool, Field(description="Whether not even the newest unit fits.")]
    counter: CounterName
    flags: Annotated[
        tuple[str, ...], Field(description="What else there is to know, such as `gap` or `broken_link`.")
    ] = ()
    degraded: Annotated[
        tuple[str, ...], Field(description="Parts that were unavailable, such as `recall`; the rest is complete.")
    ] = ()
    replaced_parts: Annotated[
        int,
        Field(description="How many content parts a model does not get: a line replaces each, and nothing a thought."),
    ] = 0
    summary: Annotated[
        SummaryUse | None, Field(description="What the summary of the view covers; null without one.")
    ] = None

    @property
    def is_full(self) -> bool:
        """Whether the limits left something out: then whole units older than that would be left out too."""
        return any(removed.reason in {LIMIT, SUMMARISED} for removed in self.removed)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """`sources` and `records` are parallel to `messages`; `text` is the view as a transcript.

    `overflow` is the records that the limits leave out and no summary covers, as stored, oldest first: the next summary
    should cover it.
    """

    messages: list[dict[str, Any]]
    sources: tuple[Source, ...]
    text: str
    report: Report
    records: tuple[Record, ...] = ()
    overflow: tuple[Record, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """messages, sources, text and report as JSON."""
        return {
            "messages": self.messages,
            "sources": [asdict(source) for source in self.sources],
            "text": self.text,
            "report": to_jsonable_python(self.report),
        }


@dataclass(frozen=True, slots=True)
class Draft:
    """A view before it is rendered: its records are chosen, aligned and counted."""

    options: ViewOptions
    records: tuple[Record, ...]
    sources: tuple[Source, ...]
    report: Report
    overflow: tuple[Record, ...]

    def view(self) -> View:
        options = self.options
        render = to_langchain if options.format == "langchain" else to_openai
        return View(
            messages=[render(record) for record in self.records],
            sources=self.sources,
            text=history_text(self.records, options.prefixes, faithful=options.faithful_text),
            report=self.report,
            records=self.records,
            overflow=self.overflow,
        )


@dataclass(slots=True)
class _Notes:
    """Collects the parts of the report that do not depend on limits."""

    removed: list[tuple[Record, str]] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    degraded: list[str] = field(default_factory=list)
    replaced_parts: int = 0

    def remove(self, records: Iterable[Record], reason: str) -> None:
        self.removed += [(record, reason) for record in records]


class _Costs:
    """Counts each record once; a changed record is another one."""

    def __init__(self, counter: TokenCounter) -> None:
        self.counter = counter
        self._tokens: dict[int, int] = {}  # by identity
        self._held: list[Record] = []  # so that Python reuses no identity

    def of(self, record: Record) -> int:
        tokens = self._tokens.get(id(record))
        if tokens is None:
            tokens = self._tokens[id(record)] = self.counter.count(record)
            self._held.append(record)
        return tokens

    def total(self, records: Iterable[Record]) -> int:
        return sum(self.of(record) for record in records)


def build_view(
    records: Sequence[Record],
    options: ViewOptions | None = None,
    *,
    counter: TokenCounter = ESTIMATE,
    summary: Summary | None = None,
    predefined: Sequence[Record] = (),
    inserts: Sequence[Record] = (),
    resolve: FileResolver = remote_images,
    flags: Iterable[str] = (),
    degraded: Iterable[str] = (),
) -> View:
    """The view of a log. `inserts`, such as recalled memories, go before the first message of the history."""
    log = prepare(records, options or ViewOptions(), counter=counter, predefined=predefined, resolve=resolve)
    return log.draft(summary=summary, inserts=inserts, flags=flags, degraded=degraded).view()


@dataclass(frozen=True, slots=True)
class PreparedLog:
    """A log after the steps that do not depend on limits, for drafts with different reserved tokens and inserts."""

    options: ViewOptions
    predefined: list[Record]
    history: list[Record]  # cleared, and with fewer images
    stored: list[Record]  # the same messages before that
    repeated_prompts: set[str]
    tokens_before: int
    notes: _Notes
    costs: _Costs

    def draft(
        self,
        *,
        reserved_tokens: int | None = None,
        summary: Summary | None = None,
        inserts: Sequence[Record] = (),
        flags: Iterable[str] = (),
        degraded: Iterable[str] = (),
    ) -> Draft:
        """The draft of a view; by default with the reserved tokens of the options."""
        options = self.options
        if reserved_tokens is not None:
            options = replace(options, reserved_tokens=reserved_tokens)
        pinned = self.predefined if options.pin_predefined else []
        log = self.history if options.pin_predefined else [*self.predefined, *self.history]
        selection = fit(log, _rules(self.predefined, options, self.costs, summary, inserts))
        sent = _with_inserts([*pinned, *_prompts_first(selection.records, self.repeated_prompts)], inserts)
        aligned = align(sent, options.align)
        unaligned = {id(record) for record, _ in aligned.removed}
        sent = [record for record in sent if id(record) not in unaligned]
        sources = tuple(map(self._source, aligned.records))
        tokens_after = sum(source.tokens for source in sources)
        budget = options.limits.max_tokens
        spent = tokens_after + max(0, options.reserved_tokens - self.costs.total(inserts))
        removed = (*self.notes.removed, *selection.removed, *aligned.removed)
        report = Report(
            kept=_kept(sent),
            removed=tuple(Removed(record.id, reason) for record, reason in removed),
            tokens_before=self.tokens_before,
            tokens_after=tokens_after,
            budget=budget,
            over_budget=selection.over or (budget is not None and spent > budget),
            counter=self.costs.counter.name,
            flags=tuple(dict.fromkeys([*flags, *self.notes.flags, *selection.flags])),
            degraded=tuple(dict.fromkeys([*degraded, *self.notes.degraded])),
            replaced_parts=self.notes.replaced_parts,
            summary=summary_use(summary, sent),
        )
        return Draft(options, tuple(aligned.records), sources, report, self._as_stored(selection.overflow))

    def _source(self, record: Record) -> Source:
        return Source(record.kind, message_ids(record), self.costs.of(record), record.score)

    def _as_stored(self, shaped: Iterable[Record]) -> tuple[Record, ...]:
        """The messages of these records as they were before clearing; one with tool results is several records."""
        ids = {record.id for record in shaped}
        return tuple(record for record in self.stored if record.id in ids)


def prepare(
    records: Sequence[Record],
    options: ViewOptions,
    *,
    counter: TokenCounter,
    predefined: Sequence[Record] = (),
    resolve: FileResolver = remote_images,
) -> PreparedLog:
    """The thread of a log, filtered, with old tool results cleared and images replaced."""
    notes, costs, leading = _Notes(), _Costs(counter), len(predefined)
    chosen, prompts = _with_each_prompt_once(_chosen(records, options, notes), notes)
    stored = _with_files(chosen, resolve, notes)
    before = [*(replace(record, kind="predefined") for record in predefined), *stored]
    shaped = _shaped(before, leading, options, costs)
    return PreparedLog(options, shaped[:leading], shaped[leading:], stored, prompts, costs.total(before), notes, costs)


def _kept(sent: Sequence[Record]) -> tuple[str, ...]:
    """The ids of the history in the order of the log, each once: a message with tool results is several records."""
    history = sorted((record for record in sent if record.kind == "history"), key=lambda record: record.seq)
    return tuple(dict.fromkeys(record.id for record in history))


def summary_use(summary: Summary | None, sent: Sequence[Record]) -> SummaryUse | None:
    """The overlap of the summary with the messages that are sent; None unless it is one of them."""
    if summary is None or not any(record.kind == "summary" for record in sent):
        return None
    overlap = sum(summary.covers(record) for record in sent)
    return SummaryUse(from_seq=summary.from_seq, to_seq=summary.to_seq, overlap=overlap)


def _chosen(records: Sequence[Record], options: ViewOptions, notes: _Notes) -> list[Record]:
    """The records after thread and filters; unless single messages are pruned, without what no model accepts."""
    chosen: list[Record] = []
    on_thread = (with_reasoning(record, options.model) for record in _on_thread(records, options, notes))
    for record in _with_accepted_parts(on_thread, notes):
        reason = _removal_reason(record, options)
        if reason is None:
            chosen.append(record)
        else:
            notes.remove([record], reason)
    if options.limits.prune == "message":
        return chosen
    paired = drop_unpaired_tool_messages(chosen)
    notes.removed += paired.removed
    if paired.stripped:
        notes.flags.append("tool_calls_stripped")
    return paired.records


def _with_accepted_parts(records: Iterable[Record], notes: _Notes) -> Iterator[Record]:
    for record in records:
        read, lost = accepted(record)
        notes.replaced_parts += lost
        yield from read


def _on_thread(records: Sequence[Record], options: ViewOptions, notes: _Notes) -> list[Record]:
    if options.thread == "given":
        return list(records)
    ordered = sorted(records, key=lambda record: (record.seq, record.id))
    if options.thread == "none":
        return ordered
    parents = inferred_parents(ordered) if options.thread == "inferred" else None
    found = thread(ordered, _leaf_id(ordered, options), parents=parents)
    notes.flags += found.flags
    ids = {record.id for record in found.rows}
    notes.remove((record for record in ordered if record.id not in ids), "not_in_thread")
    return found.rows


def _leaf_id(ordered: Sequence[Record], options: ViewOptions) -> str | None:
    """The current run continues its own branch, not the newest one."""
    if options.leaf_id is not None or options.exclude_run_id is None:
        return options.leaf_id
    of_run = (record.id for record in reversed(ordered) if record.run_id == options.exclude_run_id)
    return next(of_run, None)


def _removal_reason(record: Record, options: ViewOptions) -> str | None:
    if options.exclude_run_id is not None and record.run_id == options.exclude_run_id:
        return "current_run"
    if options.roles is not None and record.role not in options.roles:
        return "role"
    if options.answers_only and record.intermediate:
        return "intermediate"
    if options.drop_empty and record.is_empty:
        return "empty"
    return None


def _with_each_prompt_once(records: list[Record], notes: _Notes) -> tuple[list[Record], set[str]]:
    """Keep only the newest copy of a system prompt that several runs captured, maybe with another date in each. It goes
    behind the newest question, so that it stays as long as that turn does. Also returns the ids of such prompts."""
    by_text: dict[bytes | str, list[Record]] = defaultdict(list)
    for record in records:
        if record.role == "system":
            by_text[_without_time(record.content)].append(record)
    repeated = [same for same in by_text.values() if len(same) > 1]
    if not repeated:
        return records, set()
    notes.remove((record for same in repeated for record in same[:-1]), "repeated")
    moved = {id(record) for same in repeated for record in same}
    others = [record for record in records if id(record) not in moved]
    asked = max((index for index, record in enumerate(others) if record.role == "user"), default=-1)
    prompts = [same[-1] for same in repeated]
    return [*others[: asked + 1], *prompts, *others[asked + 1 :]], {record.id for record in prompts}


def _without_time(prompt: Content) -> bytes | str:
    """The prompt without the parts that change with each call: dates, times of day, white space."""
    return " ".join(_WHEN.sub(" ", prompt).split()) if isinstance(prompt, str) else canonical(prompt)


def _prompts_first(records: Sequence[Record], prompt_ids: set[str]) -> list[Record]:
    return sorted(records, key=lambda record: 0 if record.kind == "predefined" else 1 if record.id in prompt_ids else 2)


def _with_files(records: Sequence[Record], resolve: FileResolver, notes: _Notes) -> list[Record]:
    attached: list[Record] = []
    for record in records:
        if not record.files:
            attached.append(record)
            continue
        shown, is_stub = with_files(record, resolve)
        attached += _with_accepted_parts([shown], notes)  # such as no image in an answer
        if is_stub:
            notes.degraded.append(FILE_DEGRADED)
    return attached


def _shaped(records: Sequence[Record], leading: int, options: ViewOptions, costs: _Costs) -> list[Record]:
    """The records after clearing tool results and replacing images; as many as before."""
    shaped = list(records)
    clearing = options.clearing
    if clearing is not None and (clearing.above_tokens is None or costs.total(shaped) > clearing.above_tokens):
        shaped = [*shaped[:leading], *clear_tool_results(shaped[leading:], clearing)]
    return shaped if options.max_images is None else keep_newest_images(shaped, options.max_images)


def _rules(
    predefined: Sequence[Record],
    options: ViewOptions,
    costs: _Costs,
    summary: Summary | None,
    inserts: Sequence[Record],
) -> Rules:
    limits = options.limits
    if limits.max_tokens is not None:
        limits = replace(limits, max_tokens=max(0, limits.max_tokens - options.reserved_tokens))
    is_pinned = options.pin_predefined
    beyond_reserve = max(0, costs.total(inserts) - options.reserved_tokens)
    return Rules(
        limits=limits,
        used=Size(
            messages=len(predefined) if is_pinned else 0,
            tokens=beyond_reserve + (costs.total(predefined) if is_pinned else 0),
        ),
        leading=0 if is_pinned else len(predefined),
        counter=costs.counter,
        cost=costs.of,
        clip_oversized=options.clip_oversized,
        clip_edge=options.clip_edge,
        uncovered_tokens=options.uncovered_tokens,
        summary=summary,
        message=None if summary is None else summary.as_record(options.summary_role, options.summary_prefix),
    )


def _with_inserts(records: Sequence[Record], inserts: Sequence[Record]) -> list[Record]:
    index = next((index for index, record in enumerate(records) if record.kind == "history"), len(records))
    return [*records[:index], *inserts, *records[index:]]
