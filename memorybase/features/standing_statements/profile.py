"""A person's profile, without a model: statements about themselves that hold now, were made often, or are pinned.
Computed from messages.

In this order: pinned messages, standing statements, repeated statements, introductions, then other statements about
themselves, the newest first and lasting ones before the rest. A statement that a later one corrects is left out. Read
are the newest messages, and the first ones; nothing is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Annotated, Literal, NamedTuple
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.comparison import ONESELF, Relation
from memorybase.core.messages import message_text
from memorybase.core.queries.ownership import check_flow, not_found
from memorybase.core.services import Services
from memorybase.features.standing_statements import finder, oneself
from memorybase.features.standing_statements.finder import MAX_CHARS, is_conditional
from memorybase.features.standing_statements.index import key_of
from memorybase.features.standing_statements.oneself import Sentence
from memorybase.features.standing_statements.queries import profile as rows
from memorybase.features.standing_statements.queries import statements as statement_rows
from memorybase.features.standing_statements.queries.profile import Written
from memorybase.features.standing_statements.queries.statements import Owner
from memorybase.features.standing_statements.replacement import holding, is_repetition, text_of

NEWEST_READ = 1_000  # messages of any role, from the newest on
OLDEST_READ = 100  # from the first on: people introduce themselves there
MAX_PINNED = 50
MAX_STANDING = 200
MAX_ITEMS = 200
INTRODUCTION = 3  # of the first messages in which a person tells of themselves
SHORTEST_OF_ANY = 5  # words with a meaning, of a sentence that is said again and does not tell what lasts

Kind = Literal["standing", "pinned", "repeated", "about"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileItem:
    """Something that holds for a person."""

    text: Annotated[str, Field(description="What the person said, verbatim; long text is cut with an ellipsis.")]
    kind: Annotated[
        Kind,
        Field(
            description="`standing`: an instruction or preference; `pinned`: a pinned message; `repeated`: said more "
            "than once; `about`: said about themselves."
        ),
    ]
    times: Annotated[int, Field(description="In how many messages it was said.")]
    message_id: Annotated[UUID, Field(description="The newest message that says it.")]
    session_id: Annotated[str, Field(description="The session of that message.")]
    said_at: Annotated[datetime, Field(description="The timestamp of that message.")]
    sources: Annotated[list[UUID], Field(description="Every message that was read and says it, the newest first.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileView:
    """A person's statements about themselves in a flow."""

    end_user_id: Annotated[str, Field(description="The person, by the id that captures named.")]
    items: Annotated[list[ProfileItem], Field(description="What holds for the person, the most useful first.")]


@dataclass(frozen=True, slots=True)
class _Found:
    """A statement that was found in a message now, in the shape of a stored one."""

    found: str
    message: Written
    edited: str | None = None
    deleted_at: datetime | None = None


class _At(NamedTuple):
    """A sentence of a message."""

    message: Written
    sentence: Sentence


@dataclass(slots=True)
class _Said:
    """A sentence with the messages that say it, the newest first."""

    newest: _At
    messages: list[Written] = field(default_factory=list)


def get_profile(services: Services, user_id: UUID, flow_id: UUID, end_user_id: str, *, limit: int) -> ProfileView:
    """Raises NotFound for the flow, and for a person without a session in it."""
    with services.database.reading() as db:
        check_flow(db, user_id, flow_id)
        owner = Owner(flow_id, end_user_id, None)
        if not rows.has_session(db, owner):
            raise not_found("end user", end_user_id)
        items = of_person(db, owner, limit=limit)
    return ProfileView(end_user_id=end_user_id, items=items)


def of_person(
    db: OrmSession,
    owner: Owner,
    *,
    limit: int = MAX_ITEMS,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[ProfileItem]:
    """The items of an end user, of a session without one, or of all sessions without one, the most useful first.
    `since` and `until`: when they were said last, inclusive."""
    pinned = rows.pinned(db, owner, limit=MAX_PINNED)
    messages = _messages(db, owner, {each.id for each in pinned})
    found = _found(db, owner, messages)
    standing = list(_standing(found))
    items = [_item(message_text(each.content), "pinned", [each]) for each in pinned]
    items += standing
    items += _told(messages, [each.found for each in found])
    wanted = (
        item
        for item in items
        if item.text and (since is None or item.said_at >= since) and (until is None or item.said_at <= until)
    )
    return list(islice(wanted, limit))


def message_ids(items: Iterable[ProfileItem]) -> list[UUID]:
    """The newest message of each item in order, each once."""
    return list(dict.fromkeys(item.message_id for item in items))


def _messages(db: OrmSession, owner: Owner, without: set[UUID]) -> list[Written]:
    """The newest and the first messages, the newest first."""
    read = rows.written(db, owner, "newest", at_most=NEWEST_READ)
    read += rows.written(db, owner, "oldest", at_most=OLDEST_READ)
    by_id = {each.id: each for each in read if each.id not in without}
    return sorted(by_id.values(), key=lambda each: (each.timestamp, each.seq), reverse=True)


def _found(db: OrmSession, owner: Owner, messages: Sequence[Written]) -> list[_Found]:
    """Stored statements with what people made of them, and those of messages that were captured without them, the
    latest first."""
    stored = statement_rows.newest(db, owner, limit=MAX_STANDING)
    known = {(each.message_id, key_of(each.found)) for each in stored}
    said = [
        _Found(
            each.found,
            Written(each.message_id, each.session_id, each.seq, "", each.said_at),
            each.edited,
            each.deleted_at,
        )
        for each in stored
    ]
    said += [
        _Found(statement.text, message)
        for message in messages
        for statement in finder.find(message_text(message.content))
        if (message.id, key_of(statement.text)) not in known
    ]
    said.sort(key=lambda each: (each.message.timestamp, each.message.seq), reverse=True)
    return said[:MAX_STANDING]


def _standing(said: Sequence[_Found]) -> Iterator[ProfileItem]:
    """The statements that hold, those without a condition first."""
    held = holding(said)
    repeated: dict[int, list[Written]] = {index: [said[index].message] for index in held.holding}
    for older, later in sorted(held.replaced_by.items()):
        if later in repeated and is_repetition(said[later], said[older]):
            repeated[later].append(said[older].message)
    for index in sorted(held.holding, key=lambda index: (is_conditional(text_of(said[index])), index)):
        yield _item(text_of(said[index]), "standing", repeated[index])


def _told(messages: Sequence[Written], standing: Sequence[str]) -> list[ProfileItem]:
    """Repeated statements, then other statements of the person about themselves."""
    taken = {each.casefold() for each in standing}
    read = [
        _At(message, sentence)
        for message in messages
        for sentence in oneself.sentences_of(message_text(message.content))
        if not _is_taken(sentence.text.casefold(), taken)
    ]
    said = _current(read)
    repeated = [each for each in said if len(each.messages) > 1 and _states(each.newest.sentence)]
    repeated.sort(key=lambda each: -len(each.messages))
    items = [_item(each.newest.sentence.text, "repeated", each.messages) for each in repeated]
    once = [each.newest for each in said if len(each.messages) == 1 or each.newest.sentence.tells]
    shown = {id(each.newest) for each in repeated}
    return items + [_item(text, "about", [message]) for message, text in _by_message(messages, once, without=shown)]


def _states(sentence: Sentence) -> bool:
    """Whether a sentence that is said again states something: small talk is said again most."""
    return sentence.lasts or len(sentence.words) >= SHORTEST_OF_ANY


def _is_taken(said: str, statements: Iterable[str]) -> bool:
    """Whether a sentence is hardly more than a standing statement, which is listed as such or no longer holds."""
    return any(each in said and 2 * len(each) > len(said) for each in statements)


def _current(read: Sequence[_At]) -> list[_Said]:
    """The sentences, from the newest on: each with those that say the same, without those that a later one corrects."""
    common: dict[str, int] = {}
    for at in read:
        for word in at.sentence.words:
            common[word] = common.get(word, 0) + 1
    kept: list[_Said] = []
    by_word: dict[str, list[int]] = {}
    for at in read:
        rare = sorted(at.sentence.words, key=lambda word: (common[word], word))
        # Two sentences that share enough of their words share one of the rarest ones.
        rare = rare[: 1 + int((1 - ONESELF.changed) * len(rare))]
        keys = [*rare, *([" ".join(("", *at.sentence.attribute))] if at.sentence.attribute else [])]
        near = [kept[index] for index in sorted({each for key in keys for each in by_word.get(key, ())})]
        if _joins(at, near):
            continue
        for key in keys:
            by_word.setdefault(key, []).append(len(kept))
        kept.append(_Said(at, [at.message]))
    return kept


def _joins(at: _At, later: Sequence[_Said]) -> bool:
    """Whether a later sentence says the same, which is noted there, or corrects this one."""
    for each in later:
        if each.newest.message.id == at.message.id:
            continue
        relation = oneself.relation(each.newest.sentence, at.sentence)
        if relation is Relation.REPEATS and at.message.id != each.messages[-1].id:
            each.messages.append(at.message)
        if relation is not Relation.NONE:
            return True
    return False


def _by_message(
    messages: Sequence[Written], once: Sequence[_At], *, without: set[int]
) -> Iterator[tuple[Written, str]]:
    """For each message in which the person describes themselves, its text from there on: introductions, then lasting
    facts."""
    of: dict[UUID, list[_At]] = {}
    for at in once:
        if id(at) not in without:
            of.setdefault(at.message.id, []).append(at)
    told: list[tuple[Written, str, bool]] = []
    for message in messages:
        sentences = [at.sentence for at in of.get(message.id, ())]
        first = next((index for index, each in enumerate(sentences) if each.tells), None)
        if first is not None:
            own = sentences[first:]
            told.append((message, " ".join(each.text for each in own), any(each.lasts for each in own)))
    lasting = [(message, text) for message, text, lasts in told if lasts]
    introduction, lasting = lasting[-INTRODUCTION:], lasting[:-INTRODUCTION]
    yield from reversed(introduction)
    yield from lasting
    yield from ((message, text) for message, text, lasts in told if not lasts)


def _item(text: str, kind: Kind, messages: Sequence[Written]) -> ProfileItem:
    newest = messages[0]
    sources = list(dict.fromkeys(each.id for each in messages))
    return ProfileItem(
        text=_shortened(text),
        kind=kind,
        times=len(sources),
        message_id=newest.id,
        session_id=newest.session_id,
        said_at=newest.timestamp,
        sources=sources,
    )


def _shortened(text: str) -> str:
    said = " ".join(text.split())
    return said if len(said) <= MAX_CHARS else (said[:MAX_CHARS].rpartition(" ")[0] or said[:MAX_CHARS]) + " \u2026"
