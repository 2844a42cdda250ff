"""The end user's standing statements as one message of a context."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.conversation.context import Resolved
from memorybase.core.conversation.context_parts import NOTHING, Packable, Part
from memorybase.core.conversation.context_report import StandingUse
from memorybase.core.conversation.view.records import Record
from memorybase.core.conversation.view.tokens import TokenCounter
from memorybase.features.standing_statements import statements
from memorybase.features.standing_statements.queries import statements as rows
from memorybase.features.standing_statements.queries.statements import Said
from memorybase.features.standing_statements.replacement import text_of

STANDING = "standing"
STANDING_HEADING = (
    "What this user asked for or prefers, from earlier messages. Follow it where it applies, unless the user now says "
    "otherwise."
)


def statements_part(db: OrmSession, resolved: Resolved) -> Packable:
    """The statements that the context may contain; none unless the call wants them, or it leaves that to the flow and
    the flow does."""
    request, options = resolved.request, resolved.request.standing
    if options.include is False or not request.use_memory or not options.share:
        return NOTHING
    if options.include is None and not rows.adds_to_contexts(db, request.flow_id):
        return NOTHING
    whole_flow = request.recall.scope == "flow"
    ranked = statements.for_context(
        db,
        request.flow_id,
        request.session_id,
        resolved.end_user_id,
        whole_flow=whole_flow,
        query=request.query,
        as_of=request.as_of,
    )
    share = int(request.token_budget * options.share)
    return Standing(ranked=ranked, share=share, counter=request.counter)


@dataclass(frozen=True, kw_only=True)
class Standing(Packable):
    """Statements, the most useful first, in chronological order where they are shown."""

    ranked: Sequence[Said]
    counter: TokenCounter

    def within(self, tokens: int, *, shown: Collection[str] = ()) -> Part:
        """The statements that fit, without those whose message the history shows as it was said."""
        left = min(tokens, self.share)
        chosen: list[Said] = []
        part = Part()
        for each in self.ranked:
            if each.edited is None and str(each.message_id) in shown:
                continue
            larger = self._part([*chosen, each])
            if larger.tokens <= left:
                chosen.append(each)
                part = larger
        return part

    def _part(self, chosen: Sequence[Said]) -> Part:
        ordered = sorted(chosen, key=lambda each: (each.said_at, each.seq))
        record = Record(
            id=STANDING,
            seq=0,
            role="system",
            content="\n".join([STANDING_HEADING, *(f"- {text_of(each)}" for each in ordered)]),
            kind="standing",
            message_ids=tuple(dict.fromkeys(str(each.message_id) for each in ordered)),
        )
        return Part(record, self.counter.count(record), tuple(map(_reported, ordered)))


def _reported(statement: Said) -> StandingUse:
    return StandingUse(
        id=str(statement.id),
        message_id=str(statement.message_id),
        kind=statement.kind,
        own_words=statement.edited is not None,
    )
