"""Flows, sessions, runs, messages, and the keyword index over them."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    ScalarSelect,
    SmallInteger,
    String,
    Text,
    UniqueConstraint,
    and_,
    false,
    literal_column,
    select,
)
from sqlalchemy.orm import Mapped, column_property, mapped_column

from memorybase.core.models.base import ID_LENGTH, NAME_LENGTH, Base, Json, partial_index
from memorybase.core.time_zones import DEFAULT as DEFAULT_ZONE
from memorybase.core.time_zones import NAME_LENGTH as ZONE_LENGTH


class Flow(Base):
    """What a runtime executes; it owns sessions, runs and messages. With `deleting_at` it is 404, and its rows go."""

    __tablename__ = "flows"
    noun = "flow"
    __table_args__ = (
        UniqueConstraint("user_id", "external_id"),
        Index("ix_flows_page", "user_id", "created_at", "id"),
        # Only flows with `retain_days`.
        partial_index("ix_flows_retention", "retention_due_at", where="retention_due_at IS NOT NULL"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    external_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    created_at: Mapped[datetime]
    deleting_at: Mapped[datetime | None]
    retain_days: Mapped[int | None]  # what was captured earlier than that is deleted; None: kept
    retention_due_at: Mapped[datetime | None]  # when the sweeper looks again; None without retain_days
    # Contexts contain the end user's standing statements, unless the call says otherwise.
    standing: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())
    secrets: Mapped[str | None] = mapped_column(String(8))  # keep, redact or refuse; None: the installation's setting
    time_zone: Mapped[str] = mapped_column(String(ZONE_LENGTH), default=DEFAULT_ZONE, server_default=DEFAULT_ZONE)


BLOCK = 1_024  # positions in a block of postings; a session begins with one


class Session(Base):
    """A session of a flow. `last_seq` is the counter of its messages; the row lock makes seq order commit order."""

    __tablename__ = "sessions"
    noun = "session"
    __table_args__ = (
        UniqueConstraint("flow_id", "session_id"),
        Index("ix_sessions_page", "flow_id", "created_at", "id"),
        # With all that the list of end users reads.
        Index("ix_sessions_end_user", "flow_id", "end_user_id", "last_captured_at", "deleted_at"),
        # Only deleted sessions: SQLite would find all others by it, and filter them by flow and time.
        partial_index("ix_sessions_deleted", "deleted_at", where="deleted_at IS NOT NULL"),
        # Lists are by the last capture, and a search reads pending messages of the latest sessions.
        partial_index("ix_sessions_recent", "flow_id", "last_captured_at", "id", where="deleted_at IS NULL"),
        # The few sessions with an expiry.
        partial_index("ix_sessions_expires", "expires_at", where="expires_at IS NOT NULL"),
        # Lists of memory bases look for pending messages in these few sessions alone.
        partial_index("ix_sessions_behind", "flow_id", "id", where="deleted_at IS NULL AND last_seq > passed_seq"),
        # The few whose rename is not done.
        partial_index("ix_sessions_renamed", "renamed_at", where="renamed_at IS NOT NULL"),
        # The sweeper packs the postings of these.
        partial_index("ix_sessions_unpacked", "last_captured_at", where="last_seq > packed_seq"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    flow_id: Mapped[UUID] = mapped_column(ForeignKey("flows.id", ondelete="CASCADE"))
    session_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    end_user_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    # The keyword index identifies a message by its position: the session's first_position + seq. First positions are
    # random and far apart, each at the beginning of a block. In case two sessions overlap, readers of a position also
    # compare the session.
    first_position: Mapped[int] = mapped_column(BigInteger, default=lambda: secrets.randbits(52) * BLOCK)
    last_seq: Mapped[int] = mapped_column(BigInteger)
    # Every memory base of the flow has its cursor here or beyond. The sweeper raises it to last_seq, so it may be lower
    # than the cursors are; a new memory base with pending messages sets it to 0.
    passed_seq: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    documents: Mapped[int] = mapped_column(BigInteger, default=0)  # messages in the keyword index
    terms: Mapped[int] = mapped_column(BigInteger, default=0)  # their lengths in total
    # The postings of messages up to here were packed. Those of a message that was edited since may be rows again.
    packed_seq: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    keyword_language: Mapped[str | None] = mapped_column(String(32))  # keyword_index/index.py; None: in several ways
    created_at: Mapped[datetime]
    last_captured_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]  # its messages are deleted; the row follows once every store is repaired
    expires_at: Mapped[datetime | None]  # what was captured up to then is deleted then
    # Until all of a rename is done: the id before it and when it was; messages up to here are to be written again.
    former_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    renamed_at: Mapped[datetime | None]
    renamed_seq: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    # Declarative classes reserve the name "metadata".
    meta: Mapped[dict[str, Any]] = mapped_column("metadata", Json, default=dict)


# A session with messages that a memory base may not have passed: the condition of a partial index.
IS_BEHIND: ColumnElement[bool] = and_(Session.deleted_at.is_(None), Session.last_seq > Session.passed_seq)


def shown_id(session_uuid: Mapped[UUID]) -> ScalarSelect[str]:
    """The id by which callers know the session that a row refers to: to be read, not to be searched for."""
    shown = select(Session.session_id).where(Session.id == session_uuid)
    return shown.correlate_except(Session).scalar_subquery()


class Run(Base):
    """One invocation of a flow."""

    __tablename__ = "runs"
    noun = "run"
    __table_args__ = (
        Index("ix_runs_page", "flow_id", "created_at", "id"),
        Index("ix_runs_session", "session_uuid", "created_at", "id"),
        partial_index("uq_runs_external_id", "flow_id", "external_id", where="external_id IS NOT NULL", unique=True),
        partial_index("ix_runs_key", "key_id", where="key_id IS NOT NULL"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    flow_id: Mapped[UUID]
    session_uuid: Mapped[UUID] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"))
    session_id: Mapped[str] = column_property(shown_id(session_uuid))
    external_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    # SHA-256 of the first body without message ids: an equal body is a replay, another one a conflict.
    fingerprint: Mapped[bytes | None] = mapped_column(LargeBinary(32))
    created_at: Mapped[datetime]
    # api_keys.quota_subject of the key that captured it, if the key has a quota of stored messages.
    key_id: Mapped[UUID | None]


class Message(Base):
    """A captured message. role, is_output and session are fixed; the rest changes with a new version."""

    __tablename__ = "messages"
    noun = "message"
    __table_args__ = (
        UniqueConstraint("session_uuid", "seq"),
        # The trigger and the planner count and read along these two, whatever the length of the history.
        Index("ix_messages_outputs", "session_uuid", "is_output", "seq"),
        Index("ix_messages_dialogue", "session_uuid", "is_dialogue", "seq"),
        Index("ix_messages_run", "run_id", "seq"),
        # The last two columns let the overview count a window's messages in the index alone.
        Index("ix_messages_page", "flow_id", "captured_at", "id", "is_output", "is_dialogue"),
        partial_index(
            "uq_messages_external_id", "flow_id", "external_id", where="external_id IS NOT NULL", unique=True
        ),
        # Whether a session has branches, and from which message on.
        partial_index("ix_messages_parents", "session_uuid", "seq", where="parent_message_id IS NOT NULL"),
        # The replies to a message: the branches from there.
        partial_index("ix_messages_children", "parent_message_id", "seq", where="parent_message_id IS NOT NULL"),
        # The few that were muted or pinned: every search reads the pinned ones.
        partial_index("ix_messages_pinned", "flow_id", "captured_at", where="pinned"),
        partial_index("ix_messages_muted", "flow_id", "captured_at", where="muted"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    flow_id: Mapped[UUID]
    session_uuid: Mapped[UUID] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"))
    session_id: Mapped[str] = column_property(shown_id(session_uuid))
    run_id: Mapped[UUID] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    external_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    seq: Mapped[int] = mapped_column(BigInteger)
    position: Mapped[int] = mapped_column(BigInteger, index=True)  # sessions.first_position + seq
    role: Mapped[str] = mapped_column(String(16))
    is_output: Mapped[bool] = mapped_column(Boolean)
    is_dialogue: Mapped[bool] = mapped_column(Boolean)  # NewMessage.is_dialogue
    content: Mapped[Any] = mapped_column(Json, nullable=True)  # string, list of parts, or null: OpenAI's shape
    tool_calls: Mapped[list[Any] | None] = mapped_column(Json)
    tool_call_id: Mapped[str | None] = mapped_column(Text)
    name: Mapped[str | None] = mapped_column(Text)
    sender_name: Mapped[str | None] = mapped_column(Text)
    parent_message_id: Mapped[UUID | None]
    # linked: its parent was null, not left out; a thread begins here if the session names parents. none: in any case.
    # exact: follows its parent, even where a question would follow its parent's whole turn.
    parent_rule: Mapped[str | None] = mapped_column(String(8))
    files: Mapped[list[Any]] = mapped_column(Json, default=list)
    meta: Mapped[dict[str, Any]] = mapped_column("metadata", Json, default=dict)
    status: Mapped[str] = mapped_column(String(16))
    version: Mapped[int] = mapped_column(Integer, default=1)
    text_bytes: Mapped[int] = mapped_column(Integer)  # of the text parts; limits the size of jobs
    terms: Mapped[int] = mapped_column(Integer, default=0)  # length for keyword search; 0: not in the index
    traits: Mapped[int] = mapped_column(SmallInteger, default=0)  # keyword_index.analyzer.Traits
    # Nothing reads these two: the version before does, so a later one drops them.
    first_person: Mapped[int] = mapped_column(SmallInteger, default=0)
    capitals: Mapped[int] = mapped_column(SmallInteger, default=0)
    fingerprint: Mapped[bytes] = mapped_column(LargeBinary(32))  # SHA-256 of the content as captured
    timestamp: Mapped[datetime]
    captured_at: Mapped[datetime]
    edited_at: Mapped[datetime | None]
    muted: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())  # never recalled
    pinned: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())  # first where it is relevant


# The conditions of the partial indexes, without a type: with a typed one SQLite would not use the index.
IS_PINNED: ColumnElement[Any] = literal_column("messages.pinned")
IS_MUTED: ColumnElement[Any] = literal_column("messages.muted")


class Posting(Base):
    """Number of occurrences of a term in the message at a position. A term is a number, hashed for one flow, not text.

    `packed`: all of the term's postings in a block of positions; then `position` is negative, and `times` 0.
    """

    __tablename__ = "postings"
    __table_args__ = (Index("ix_postings_position", "position"), {"sqlite_with_rowid": False})

    term: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    position: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    times: Mapped[int] = mapped_column(SmallInteger)
    packed: Mapped[str | None] = mapped_column(Text)  # queries/posting_blocks.py


class Speaker(Base):
    """A word of a sender's name in a session, folded. Deleted with the session."""

    __tablename__ = "speakers"
    __table_args__ = (Index("ix_speakers_session", "session_uuid"),)

    flow_id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True)
    session_uuid: Mapped[UUID] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True)


class SpokenLanguage(Base):
    """A language in which a message of the flow is indexed, as ISO 639-1: those that a single word does not show. A
    question of few words is looked up in each. Deleted with the flow."""

    __tablename__ = "spoken_languages"

    flow_id: Mapped[UUID] = mapped_column(ForeignKey("flows.id", ondelete="CASCADE"), primary_key=True)
    language: Mapped[str] = mapped_column(String(2), primary_key=True)


class PlannedDeletion(Base):
    """A session that the sweeper deletes at `due_at`. Until it has `started`, its batch can be kept."""

    __tablename__ = "planned_deletions"

    session_uuid: Mapped[UUID] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    batch_id: Mapped[UUID] = mapped_column(index=True)  # what was deleted at once
    due_at: Mapped[datetime] = mapped_column(index=True)
    started: Mapped[bool] = mapped_column(Boolean, default=False)


class DeletedMessage(Base):
    """The id and the last version of a deleted message, and the message that is followed in its place.

    `stays_deleted`: it was deleted by itself; a capture that posts it again in its session does not store it. No
    foreign key to the session: the version must outlive it.
    """

    __tablename__ = "deleted_messages"
    __table_args__ = (
        Index("ix_deleted_messages_session", "session_uuid"),
        Index("ix_deleted_messages_expires", "expires_at"),
    )

    flow_id: Mapped[UUID] = mapped_column(ForeignKey("flows.id", ondelete="CASCADE"), primary_key=True)
    message_id: Mapped[UUID] = mapped_column(primary_key=True)
    session_uuid: Mapped[UUID]  # sessions.id, which a rename does not change
    seq: Mapped[int] = mapped_column(BigInteger)
    version: Mapped[int]
    stays_deleted: Mapped[bool]
    follows_id: Mapped[UUID | None]  # a capture may still name the deleted one as its parent; null: a thread begins
    expires_at: Mapped[datetime | None]  # set once the session is removed
