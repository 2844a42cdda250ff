"""The end user's standing statements as one message of a context."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from memorybase.conversation.view.records import Record
from memorybase.conversation.view.tokens import ESTIMATE, TokenCounter
from memorybase.queries.standing_statements import Said
from memorybase.standing.replacement import text_of

STANDING = "standing"
STANDING_HEADING = (
    "What this user asked for or prefers, from earlier messages. Follow it where it applies, unless the user now says "
    "otherwise."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingOptions:
    """Whether a context contains standing statements; None: as the flow says. `share`: of the budget, at most."""

    include: bool | None = None
    share: float = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingUse:
    """A standing statement in a context."""

    id: Annotated[str, Field(description="The UUID of the standing statement.")]
    message_id: Annotated[str, Field(description="The message that states it.")]
    kind: Annotated[str, Field(description="`instruction` or `preference`.")]
    own_words: Annotated[bool, Field(description="Whether a person wrote the text in the place of what was found.")]


@dataclass(frozen=True, slots=True)
class StandingPart:
    """A context's standing statements: the statements in chronological order, one system message, and its tokens."""

    statements: tuple[Said, ...] = ()
    record: Record | None = None
    tokens: int = 0

    def uses(self) -> tuple[StandingUse, ...]:
        return tuple(
            StandingUse(
                id=str(each.id), message_id=str(each.message_id), kind=each.kind, own_words=each.edited is not None
            )
            for each in self.statements
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """Statements, the most useful first, to be packed into any budget."""

    ranked: Sequence[Said] = ()
    share: float = 0.0
    counter: TokenCounter = field(default=ESTIMATE)

    def within(self, budget: int, *, shown: Collection[str] = ()) -> StandingPart:
        """The statements that fit into their share, without those whose message the history shows as it was said."""
        left = int(budget * self.share)
        chosen: list[Said] = []
        part = StandingPart()
        for each in self.ranked:
            if each.edited is None and str(each.message_id) in shown:
                continue
            larger = self._part([*chosen, each])
            if larger.tokens <= left:
                chosen.append(each)
                part = larger
        return part

    def _part(self, statements: Sequence[Said]) -> StandingPart:
        ordered = sorted(statements, key=lambda each: (each.said_at, each.seq))
        record = Record(
            id=STANDING,
            seq=0,
            role="system",
            content="\n".join([STANDING_HEADING, *(f"- {text_of(each)}" for each in ordered)]),
            kind="standing",
            message_ids=tuple(dict.fromkeys(str(each.message_id) for each in ordered)),
        )
        return StandingPart(tuple(ordered), record, self.counter.count(record))
