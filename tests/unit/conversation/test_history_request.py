"""What a request for history asks of a view."""

from __future__ import annotations

from harness.rows import each_row

from memorybase.core.conversation.history.request import turn_limit


@each_row(("message_limit", "turns"), [(None, 500), (0, 500), (-3, 500), (1, 1), (100, 100), (500, 500), (9999, 500)])
def test_turns_are_at_most_500(message_limit: int | None, turns: int) -> None:
    assert turn_limit(message_limit) == turns
