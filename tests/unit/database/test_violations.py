"""Every constraint of the tables has an error that a caller can act on."""

from __future__ import annotations

import sqlalchemy as sa

from memorybase import errors
from memorybase.database import violations
from memorybase.models import Base

TABLES = list(Base.metadata.tables.values())


def test_every_foreign_key_says_what_is_gone() -> None:
    for key in (key for table in TABLES for key in table.foreign_key_constraints):
        noun = violations.NOUNS.get(key.referred_table.name)
        assert noun, f"add what callers call a row of {key.referred_table.name} to violations.NOUNS"
        error = violations.gone(str(key.name))
        assert (error.status_code, error.code, error.retryable) == (404, "not_found", False)
        assert error.message == f"The {noun} was deleted at the same time"


def test_every_unique_key_says_whether_to_repeat_the_request() -> None:
    unique = [each for table in TABLES for each in table.constraints if isinstance(each, sa.UniqueConstraint)]
    indexes = [index for table in TABLES for index in table.indexes if index.unique]
    names = {str(each.name) for each in [*unique, *indexes]}
    missing = names - violations.CHOSEN.keys() - violations.REPEATABLE
    assert not missing, f"add {missing} to violations.CHOSEN if a caller chooses the value, else to REPEATABLE"
    assert violations.CHOSEN.keys() | violations.REPEATABLE == names
    assert not violations.CHOSEN.keys() & violations.REPEATABLE
    for name in names | {str(table.primary_key.name) for table in TABLES}:
        error = violations.taken(name)
        assert error.status_code == 409
        assert error.retryable == (name not in violations.CHOSEN)
        assert isinstance(error, errors.ConstraintViolated)  # what was stored meanwhile can be looked up
