"""Errors for constraints that a write can violate because of another request at the same time.

A check or NOT NULL is no race: input is validated before, so its violation is a defect.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import sqlalchemy as sa

from memorybase.core import errors
from memorybase.core.models import Base

UNIQUE = frozenset({"23505", "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_ROWID"})
REFERENCE = frozenset({"23503", "SQLITE_CONSTRAINT_FOREIGNKEY"})


class Gone(errors.NotFound, errors.ConstraintViolated):
    """What the request refers to was deleted at the same time."""

    retryable = False


class NameTaken(errors.NameTaken, errors.ConstraintViolated):
    """This name is already in use. Choose another."""

    retryable = False


class SessionTaken(errors.SessionConflict, errors.ConstraintViolated):
    """A session with this id exists."""

    retryable = False


# The unique keys that a caller chooses, with the field that names them. The others, like the primary keys: the same
# request finds the other one's row when it is sent again.
CHOSEN: Mapping[str, tuple[type[errors.ConstraintViolated], str]] = {
    "uq_knowledge_bases_user_id_name": (NameTaken, "name"),
    "uq_memory_bases_user_id_name": (NameTaken, "name"),
    "uq_sessions_flow_id_session_id": (SessionTaken, "new_session_id"),
    "uq_users_name": (NameTaken, "name"),
}


def error_of(exc: sa.exc.IntegrityError) -> errors.MemorybaseError:
    """The error for whoever sent the statement. It names no value: the driver's message quotes whole rows."""
    state = getattr(exc.orig, "sqlstate", None) or getattr(exc.orig, "sqlite_errorname", None)
    constraint = _constraint(exc)
    if state in UNIQUE:
        return taken(constraint)
    if state not in REFERENCE:
        return errors.StatementRefused(f"The database refused a statement: {state}", constraint=constraint)
    if (exc.statement or "").lstrip().upper().startswith("DELETE"):  # another request refers to the row since
        return errors.ConstraintViolated(constraint=constraint)
    return gone(constraint)


def taken(constraint: str) -> errors.ConstraintViolated:
    """Another request has stored a row with the same unique key."""
    kind, field = CHOSEN.get(constraint, (errors.ConstraintViolated, None))
    return kind(field=field, constraint=constraint)


def gone(constraint: str) -> Gone:
    """Another request has deleted the row that a foreign key refers to; SQLite does not say which."""
    noun = _referred().get(constraint)
    return Gone(None if noun is None else f"The {noun} was deleted at the same time", constraint=constraint)


def _constraint(exc: sa.exc.IntegrityError) -> str:
    """Its name; of SQLite, which has none, its table and columns where it says them."""
    name = getattr(getattr(exc.orig, "diag", None), "constraint_name", None)
    if name:
        return str(name)
    columns = str(exc.orig).partition("failed: ")[2]
    return _unique_keys().get(columns, columns)


@lru_cache
def _referred() -> Mapping[str, str]:
    """The noun of the table that each foreign key refers to."""
    nouns = {mapper.local_table: getattr(mapper.class_, "noun", "") for mapper in Base.registry.mappers}
    tables = Base.metadata.tables.values()
    return {str(key.name): nouns[key.referred_table] for table in tables for key in table.foreign_key_constraints}


@lru_cache
def _unique_keys() -> Mapping[str, str]:
    """Unique keys by the columns that SQLite's errors name."""
    found: dict[str, str] = {}
    for table in Base.metadata.tables.values():
        keys = [each for each in table.constraints if isinstance(each, sa.PrimaryKeyConstraint | sa.UniqueConstraint)]
        indexes = [index for index in table.indexes if index.unique]
        found |= {
            ", ".join(f"{table.name}.{each.name}" for each in key.columns): str(key.name) for key in [*keys, *indexes]
        }
    return found
