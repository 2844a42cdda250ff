"""Bounds of reads of the keyword index: they count positions, not rows."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from harness.world import World

from memorybase.core.models import Posting
from memorybase.core.queries import keyword_index

MOST = 10
FORMS = (1, 2, 3)  # of one word, in several languages


@pytest.mark.both_databases
def test_messages_with_several_forms_of_a_word_are_counted_once(world: World) -> None:
    with world.services.database.transaction() as db:

        def add(position: int) -> None:
            db.execute(sa.insert(Posting), [{"term": term, "position": position, "times": 1} for term in FORMS])

        for position in range(1, MOST + 1):
            add(position)
        assert keyword_index.positions_of(db, FORMS, forms=len(FORMS), most=MOST) == list(range(1, MOST + 1))
        add(MOST + 1)
        assert len(keyword_index.positions_of(db, FORMS, forms=len(FORMS), most=MOST)) > MOST
        found = keyword_index.some_occurrences(db, FORMS, limit=MOST)
        assert [len(found[term].positions) for term in FORMS] == [MOST] * len(FORMS)
