"""The messages of one request: messages that are new since the last one, or were edited, and a little of what came
before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.conversation.view.token_estimate import estimated_tokens
from memorybase.core.keyword_index.analyzer import Analyzer
from memorybase.core.messages import message_text
from memorybase.core.models import Message
from memorybase.core.queries import messages as message_queries
from memorybase.core.queries import sessions, threads
from memorybase.features.facts.models import Distillation, Fact
from memorybase.features.facts.prompt import Known, Quoted, messages_for
from memorybase.features.facts.queries import facts

MESSAGES = 20  # new ones in a request; half as many after each failed attempt
CONTEXT = 4  # messages before them
KNOWN = 15  # facts that the model may correct
SCOPE = 500  # the latest facts of an end user, among which those are chosen
MAX_MESSAGE_CHARS = 4_000
MIN_TERMS = 3  # of a message that may be worth remembering


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The messages of one request. `redone`: the seqs of edited messages in it, some of which may be deleted."""

    quoted: tuple[Quoted, ...]
    to_seq: int
    redone: frozenset[int]
    end_user_id: str | None
    scope: tuple[Fact, ...]  # the facts that hold for this end user

    @property
    def is_worth_asking(self) -> bool:
        return any(each.is_new for each in self.quoted)


def read(db: OrmSession, row: Distillation, *, attempts: int) -> Batch:
    """The next batch of a session: edited messages first."""
    limit = max(1, MESSAGES >> attempts)
    flow_id, session_id = row.flow_id, row.session_id
    redone = frozenset((row.redo or [])[:limit])
    if redone:
        new, to_seq = threads.messages_at(db, flow_id, session_id, redone), row.cursor_seq
        new.sort(key=lambda message: message.seq)
    else:
        new = message_queries.messages_after(
            db, flow_id, session_id, after_seq=row.cursor_seq, to_seq=row.target_seq, limit=limit
        )
        to_seq = row.target_seq if len(new) < limit else new[-1].seq
    before = facts.messages_before(db, flow_id, session_id, new[0].seq, limit=CONTEXT) if new else []
    end_user_id = sessions.end_user_of(db, flow_id, session_id)
    scope = facts.current_in_scope(db, row.memory_base_id, flow_id, session_id, end_user_id, limit=SCOPE)
    return Batch(
        quoted=(*_quoted(before, is_new=False), *_quoted(new, is_new=True, start=len(before))),
        to_seq=to_seq,
        redone=redone,
        end_user_id=end_user_id,
        scope=tuple(scope),
    )


def _quoted(messages: Sequence[Message], *, is_new: bool, start: int = 0) -> list[Quoted]:
    return [
        Quoted(
            label=f"m{index}",
            message_id=message.id,
            version=message.version,
            seq=message.seq,
            speaker=message.sender_name or message.role,
            said_at=message.timestamp,
            text=message_text(message.content)[:MAX_MESSAGE_CHARS],
            is_new=is_new,
        )
        for index, message in enumerate(messages, start=start + 1)
        if message.is_dialogue and not message.muted
    ]


def gated(batch: Batch, analyzer: Analyzer) -> Batch:
    """The batch without new messages if none of them says anything: "thanks" costs no request."""
    if any(each.is_new and len(set(analyzer.terms(each.text))) >= MIN_TERMS for each in batch.quoted):
        return batch
    return replace(batch, quoted=())


def fitted(batch: Batch, known: Sequence[Known], max_tokens: int) -> Batch:
    """The batch with as many new messages as fit into the prompt; the last one that is left is clipped."""
    quoted = list(batch.quoted)
    while len(quoted) > 1 and _tokens(quoted, known) > max_tokens:
        if sum(each.is_new for each in quoted) > 1:
            quoted.pop()
        else:
            quoted.pop(0)
    while _tokens(quoted, known) > max_tokens and len(quoted[0].text) > 1:
        quoted[0] = replace(quoted[0], text=quoted[0].text[: len(quoted[0].text) // 2])
    if len(quoted) == len(batch.quoted) or quoted[-1] == batch.quoted[-1]:
        return replace(batch, quoted=tuple(quoted))
    kept = {each.seq for each in quoted if each.is_new}
    if batch.redone:
        dropped = {each.seq for each in batch.quoted if each.is_new} - kept
        return replace(batch, quoted=tuple(quoted), redone=batch.redone - dropped)
    return replace(batch, quoted=tuple(quoted), to_seq=max(kept))


def _tokens(quoted: Sequence[Quoted], known: Sequence[Known]) -> int:
    return sum(estimated_tokens(message["content"]) for message in messages_for(quoted, known))


def known_facts(batch: Batch, analyzer: Analyzer) -> list[Known]:
    """The facts that share most words with the new messages."""
    said = {term for each in batch.quoted if each.is_new for term in analyzer.terms(f"{each.speaker} {each.text}")}
    scored = [(len(said.intersection(analyzer.terms(fact.what))), fact) for fact in batch.scope]
    near = sorted((each for each in scored if each[0]), key=lambda each: -each[0])[:KNOWN]
    return [
        Known(label=f"f{index}", fact_id=fact.id, who=fact.who, what=fact.what, said_at=fact.said_at)
        for index, (_, fact) in enumerate(near, start=1)
    ]
