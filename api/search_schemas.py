"""Request bodies and answers of searches, and bodies of search weights."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from api.schemas import QUERY_BOUND, Body, Identifier, Moment, Role, SentUuid, Stored, TimeZone, Until, example
from memorybase.core.caveats import Caveat
from memorybase.core.described import MemoryBaseId, SessionId
from memorybase.core.search import part_weights, request, weights
from memorybase.core.search.hits import Hit
from memorybase.core.vectors.search import MAX_FILTER_KEYS, MAX_TOP_K

Factor = Annotated[float, Field(ge=0, le=part_weights.MAX_FACTOR, allow_inf_nan=False)]
HalfLife = Annotated[float, Field(ge=0, le=request.MAX_HALF_LIFE_DAYS, allow_inf_nan=False)]


class PartWeightsBody(Body):
    """Factors for the parts of a score, on top of the weights. They have no effect in mode `dense`."""

    meaning: Factor = Field(default=1, description="How close the message is in meaning to the question.")
    words: Factor = Field(default=1, description="The question's words, in the message or next to it.")
    around: Factor = Field(default=1, description="What the conversation around the message is about.")
    kind: Factor = Field(default=1, description="Length, speaker, dates, times and numbers.")


# Fields of searches and of recall.
Mode = Annotated[
    Literal["hybrid", "dense", "keyword"],
    Field(description="`hybrid`; `dense`, vectors alone; or `keyword`, words alone."),
]
Roles = Annotated[list[Role] | None, Field(max_length=8, description="Only messages with one of these roles.")]
WrittenSince = Annotated[Moment | None, Field(description="Only messages with a `timestamp` from this time on.")]
WrittenUntil = Annotated[Until | None, Field(description="Only messages with a `timestamp` up to this time.")]
AsOf = Annotated[
    Until | None,
    Field(
        description="Answer as on this date: without messages with a later `timestamp`, with edits and corrections "
        "since taken back, and with times and ages counted from then. What was deleted since stays deleted. A date "
        "alone is the whole day, in UTC."
    ),
]
MinScore = Annotated[
    float | None, Field(ge=0, le=1, allow_inf_nan=False, description="Minimum score of a result, from 0 to 1.")
]
PartFactors = Annotated[
    PartWeightsBody | None, Field(description="Factors for the parts of each score; null: 1 for each.")
]
HalfLifeDays = Annotated[
    HalfLife | None,
    Field(
        description="After this many days a message has lost a quarter of its score, in the end half; 0: age does "
        "not count. Default: as the memory base's own weights say.",
    ),
]
Corrections = Annotated[
    bool | None,
    Field(
        description="Rank later statements of the same fact first and say what they correct, in mode `hybrid`. "
        "Default: unless the embedding model is behind an endpoint.",
    ),
]
QueryZone = Annotated[
    TimeZone | None,
    Field(description="IANA name of the zone whose days the query means; null: as the flow says."),
]


class SearchBody(Body):
    """A search in one memory base. `since` and `until` are inclusive."""

    model_config = example(query="Is Anna allergic to peanuts?", top_k=5, end_user_id="anna")

    query: Stored = Field(min_length=1, description=f"What to look for. {QUERY_BOUND}")
    top_k: int = Field(default=10, ge=1, description=f"Maximum results. At most {MAX_TOP_K}.")
    mode: Mode = "hybrid"
    session_id: Identifier | None = Field(default=None, description="Only messages of this session.")
    end_user_id: Identifier | None = Field(default=None, description="Only messages of this end user's sessions.")
    roles: Roles = None
    since: WrittenSince = None
    until: WrittenUntil = None
    as_of: AsOf = None
    metadata: dict[str, Any] | None = Field(
        default=None,
        max_length=MAX_FILTER_KEYS,
        description="Keys that the metadata must have, with exactly these values.",
    )
    min_score: MinScore = None
    neighbors: int = Field(
        default=0, ge=0, le=request.MAX_NEIGHBORS, description="Number of turns to show before and after each result."
    )
    snippet_chars: int = Field(
        default=request.MAX_SNIPPET_CHARS,
        ge=request.MIN_SNIPPET_CHARS,
        le=request.MAX_SNIPPET_CHARS,
        description="Maximum characters of each `snippet`.",
    )
    include_pending: bool = Field(default=True, description="Whether to find messages that are not ingested yet.")
    exclude_message_ids: list[Identifier] = Field(
        default_factory=list,
        max_length=request.MAX_EXCLUDED,
        description="Messages to leave out: UUIDs or the caller's ids; those of other flows count too.",
    )
    explain: bool = Field(default=False, description="Whether to show how each score was computed, in `parts`.")
    default_weights: bool = Field(
        default=False, description="Use the default weights and no half-life instead of the memory base's own."
    )
    weights: PartFactors = None
    half_life_days: HalfLifeDays = None
    fold_alike: bool = Field(
        default=False,
        description="Of messages with the same text return only the best, with the number of others in `alike`.",
    )
    corrections: Corrections = None
    time_zone: QueryZone = None
    facts: bool = Field(default=False, description="Also return facts that a model derived, in `facts`.")


class FlowSearchBody(SearchBody):
    """A search in every memory base of a flow, in the named ones, or in all; exactly one of the three is given."""

    model_config = example(flow_id="support", query="Is Anna allergic to peanuts?", top_k=5)

    flow_id: Identifier | None = Field(
        default=None, description="Search every memory base of this flow: a UUID or the caller's id."
    )
    memory_base_ids: list[SentUuid] = Field(
        default_factory=list,
        max_length=request.MAX_MEMORY_BASES,
        description="Memory bases of one flow or of several.",
    )
    all: bool = Field(default=False, description=f"Search every memory base, at most {request.MAX_MEMORY_BASES}.")


class FactHit(BaseModel):
    """A fact about a question, which a model derived from messages."""

    model_config = ConfigDict(from_attributes=True)

    fact_id: UUID = Field(description="The fact.")
    memory_base_id: MemoryBaseId
    session_id: SessionId
    kind: str = Field(default="fact", description="Always `fact`.")
    derived: bool = Field(default=True, description="Always true: a model derived it from messages.")
    who: str = Field(description="Whom or what the fact is about.")
    what: str = Field(description="The fact, in one sentence.")
    when: str | None = Field(description="When it holds or happened, as the conversation says it; null if it does not.")
    said_at: datetime = Field(description="When the newest of its sources was said.")
    score: float = Field(description="How much it has to do with the question, from 0 to 1.")
    source_message_ids: list[UUID] = Field(description="The messages that it rests on.")


class SearchAnswer(BaseModel):
    """Hits, best first, each message once; ties: the later message first, then by id. `facts`: if the request asks for
    them, what a model derived from messages, best first. Their scores do not compare with those of messages.
    `warnings`: why nothing was found, if nothing can be."""

    results: list[Hit] = Field(description="What was found, best first.")
    took_ms: float = Field(description="Duration of the search in milliseconds.")
    facts: list[FactHit] = Field(
        default_factory=list,
        description="What a model derived from messages, if the request asks for it, best first. The scores "
        "do not compare with those of messages.",
    )
    warnings: list[Caveat] = Field(
        default_factory=list,
        description="Why nothing was found, if nothing can be; and if only the end of the query was searched for.",
    )


Weight = Annotated[float, Field(ge=-weights.MAX_WEIGHT, le=weights.MAX_WEIGHT, allow_inf_nan=False)]


class WeightSetBody(Body):
    """The score is the bias plus the sum of weight times signal; a signal without a weight adds nothing."""

    bias: Weight = Field(description="Added to the weighted sum of the signals.")
    weights: dict[str, Weight] = Field(description="The weight of each signal, by its name.")


class WeightsBody(Body):
    """A memory base's own weights. Each set replaces the default set of its name."""

    sets: dict[str, WeightSetBody] = Field(
        description="Weights by the name of the default set that each replaces. "
        "May be empty if `half_life_days` is given."
    )
    fitted_at: Moment | None = Field(default=None, description="When the weights were fitted.")
    questions: int | None = Field(
        default=None, ge=0, le=1_000_000, description="Number of questions that the weights were fitted on."
    )
    note: Annotated[Stored, StringConstraints(max_length=weights.MAX_NOTE_CHARS)] | None = Field(
        default=None, description="A note for people."
    )
    half_life_days: HalfLife | None = Field(
        default=None, description="Of searches that set none; null: age does not count."
    )
