"""What is asked in the playground: a question, its scope, and one or two settings; from an address, and to one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from starlette.datastructures import QueryParams

from memorybase.core import errors
from memorybase.core.conversation.context import ContextRequest, RecallOptions
from memorybase.core.conversation.session_memory.presets import PRESETS
from memorybase.core.ids import flow_id
from memorybase.core.messages import ROLES
from memorybase.core.search.bands import MIN_SCORE, min_score_of
from memorybase.core.search.part_weights import MAX_FACTOR, PARTS, PartWeights
from memorybase.core.search.request import MODES, SearchRequest

DEFAULT_K, MAX_K = 10, 50
DEFAULT_BUDGET, MAX_BUDGET = 600, 100_000
NO_SESSION = "playground: no session"  # has no history; a context needs a session
DAYS = (1, 7, 30, 365)
HALF_LIVES = (1, 7, 30, 90, 365)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How to search. half_life: None is as the memory keeps it, 0 is off. corrections: None is the server's default.
    memory: the only one that this side of a comparison searches; None: those of the question."""

    mode: str = "hybrid"
    k: int = DEFAULT_K
    min_score: float = MIN_SCORE
    half_life: float | None = None
    corrections: bool | None = None
    weights: PartWeights = field(default_factory=PartWeights)
    memory: UUID | None = None

    @property
    def limit(self) -> float | None:
        """The limit that was chosen; None: the mode's own, of what a model is given."""
        return None if self.min_score == min_score_of(self.mode) else self.min_score

    def address(self, prefix: str = "") -> dict[str, Any]:
        """What differs from the defaults, by name."""
        values: dict[str, Any] = {
            "mode": self.mode if self.mode != "hybrid" else None,
            "k": self.k if self.k != DEFAULT_K else None,
            "min": None if self.limit is None else f"{self.limit:g}",
            "recent": None if self.half_life is None else f"{self.half_life:g}",
            "corrections": _flag(self.corrections) or None,
            "in": None if self.memory is None else str(self.memory),
        }
        factors = {f"w.{part}": f"{value:g}" for part, value in asdict(self.weights).items() if value != 1}
        return {f"{prefix}{name}": value for name, value in (values | factors).items() if value is not None}

    @property
    def factors(self) -> PartWeights | None:
        return None if self.weights.changes_nothing else self.weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The question and its scope. `memories`: only these; without any all of the flow, without a flow all."""

    q: str = ""
    flow: str = ""
    session: str = ""
    memories: tuple[UUID, ...] = ()
    person: str = ""
    role: str = ""
    days: int = 0
    as_of: date | None = None
    fold: bool = True
    budget: int = DEFAULT_BUDGET
    preset: str = "token_buffer"
    a: Setting = field(default_factory=Setting)
    b: Setting | None = None

    @classmethod
    def of(cls, query: QueryParams) -> Asked:
        """Raises InvalidRequest that names the parameter."""
        a = _setting(query, "", Setting())
        b = _setting(query, "b.", a) if query.get("compare") else None
        if b is None:  # alone it searches the memories of the question
            a = replace(a, memory=None)
        return cls(
            q=query.get("q", "").strip(),
            flow=query.get("flow", ""),
            session=query.get("session", ""),
            memories=tuple(dict.fromkeys(_uuid(each) for each in query.getlist("memory") if each)),
            person=query.get("person", "").strip(),
            role=_one_of(query, "role", ("", *ROLES)),
            days=int(_number(query, "days", 0, 0, 36_500)),
            as_of=_date(query, "as_of"),
            fold=query.get("fold", "1") != "0",
            budget=int(_number(query, "budget", DEFAULT_BUDGET, 1, MAX_BUDGET)),
            preset=_one_of(query, "preset", tuple(PRESETS), default="token_buffer"),
            a=a,
            b=b,
        )

    @classmethod
    def at(cls, path: str) -> Asked:
        """What a path of the page asks. Raises InvalidRequest that names the parameter."""
        return cls.of(QueryParams(path.partition("?")[2]))

    def address(self, **changes: Any) -> dict[str, Any]:
        """The query of this page. A change to None leaves a parameter out."""
        values: dict[str, Any] = {
            "q": self.q,
            "flow": self.flow,
            "session": self.session,
            "memory": [str(each) for each in self.memories],
            "person": self.person,
            "role": self.role,
            "days": self.days or None,
            "as_of": None if self.as_of is None else self.as_of.isoformat(),
            "fold": None if self.fold else "0",
            "budget": self.budget if self.budget != DEFAULT_BUDGET else None,
            "preset": self.preset if self.preset != "token_buffer" else None,
            **self.a.address(),
        }
        if self.b is not None:
            values |= {"compare": "1"} | self._b_address()
        return values | changes

    def _b_address(self) -> dict[str, Any]:
        """All of B, also what is the default: else B would be as A is there."""
        b = self.b or self.a
        everything = {
            "mode": b.mode,
            "k": b.k,
            "min": f"{b.min_score:g}",
            "recent": "" if b.half_life is None else f"{b.half_life:g}",
            "corrections": _flag(b.corrections),
            "in": "" if b.memory is None else str(b.memory),
        }
        factors = {f"w.{part}": f"{value:g}" for part, value in asdict(b.weights).items()}
        return {f"b.{name}": value for name, value in (everything | factors).items() if value != ""}

    def searched_by(self, setting: Setting) -> tuple[UUID, ...]:
        """The memories that this side searches; without any all of the flow, without a flow all."""
        return self.memories if setting.memory is None else (setting.memory,)

    def flow_uuid(self, user_id: UUID) -> UUID | None:
        return flow_id(user_id, self.flow) if self.flow else None

    def since(self) -> datetime | None:
        """The beginning of that day or hour, so that copied code finds the same for a while."""
        if not self.days:
            return None
        now = (self.moment() or datetime.now(UTC)).replace(minute=0, second=0, microsecond=0)
        try:
            return now - timedelta(days=self.days)
        except OverflowError:  # before year 1, when nobody said anything
            return None

    def moment(self) -> datetime | None:
        """The end of the day as of which is asked."""
        return None if self.as_of is None else datetime.combine(self.as_of, time.max, UTC)

    def search(self, setting: Setting) -> SearchRequest:
        """The search without the limit: what is below it is shown as left out. With one that was chosen as for a model,
        where a message with the text of the question does not lead."""
        return SearchRequest(
            min_score=None if setting.limit is None else 0.0,
            query=self.q,
            top_k=setting.k,
            mode=setting.mode,
            end_user_id=self.person or None,
            roles=[self.role] if self.role else None,
            since=self.since(),
            as_of=self.moment(),
            neighbors=1,
            explain=True,
            weights=setting.factors,
            half_life_days=setting.half_life,
            fold_alike=self.fold,
            corrections=setting.corrections,
        )

    def context(self, flow: UUID, setting: Setting) -> ContextRequest:
        return ContextRequest(
            flow_id=flow,
            session_id=self.session or NO_SESSION,
            token_budget=self.budget,
            query=self.q,
            as_of=self.moment(),
            end_user_id=self.person or None,
            preset=PRESETS[self.preset],
            memory_base_ids=self.searched_by(setting),
            recall=RecallOptions(
                top_k=setting.k,
                min_score=setting.min_score,
                scope="flow",
                mode=setting.mode,  # type: ignore[arg-type]  # it was checked
                weights=setting.factors,
                half_life_days=setting.half_life,
                roles=[self.role] if self.role else None,
                since=self.since(),
                corrections=setting.corrections,
            ),
        )


def _setting(query: QueryParams, prefix: str, default: Setting) -> Setting:
    # An address that names B's mode names all of B, except what is None.
    inherited = Setting() if prefix and f"{prefix}mode" in query else default
    recent = query.get(f"{prefix}recent", "" if inherited.half_life is None else f"{inherited.half_life:g}")
    corrections = _one_of(query, f"{prefix}corrections", ("", "0", "1"), default=_flag(inherited.corrections))
    factors = {
        part: _number(query, f"{prefix}w.{part}", getattr(default.weights, part), 0, MAX_FACTOR) for part in PARTS
    }
    memory = query.get(f"{prefix}in", "" if inherited.memory is None else str(inherited.memory))
    mode = _one_of(query, f"{prefix}mode", MODES, default=default.mode)
    min_score = default.min_score if mode == default.mode else min_score_of(mode)
    return Setting(
        mode=mode,
        k=int(_number(query, f"{prefix}k", default.k, 1, MAX_K)),
        min_score=_number(query, f"{prefix}min", min_score, 0, 1),
        half_life=None if recent == "" else _number({f"{prefix}recent": recent}, f"{prefix}recent", 0, 0, 36_500),
        corrections=None if corrections == "" else corrections == "1",
        weights=PartWeights(**factors),
        memory=_uuid(memory) if memory else None,
    )


def _flag(value: bool | None) -> str:
    """A flag as a parameter; empty for None."""
    return "" if value is None else f"{value:d}"


def _number(query: Mapping[str, str], name: str, default: float, low: float, high: float) -> float:
    text = query.get(name, "")
    if text == "":
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise errors.InvalidRequest(
            f"{name} must be a number from {low:g} to {high:g}", field=name, value=text[:100], limit=[low, high]
        )
    return value


def _date(query: Mapping[str, str], name: str) -> date | None:
    text = query.get(name, "")
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise errors.InvalidRequest(
            f"{name} must be a date such as 2026-03-31 (got {text[:20]!r})", field=name, value=text[:100]
        ) from None


def _one_of(query: Mapping[str, str], name: str, allowed: Sequence[str], *, default: str = "") -> str:
    value = query.get(name, default)
    if value not in allowed:
        raise errors.InvalidRequest(
            f"{name} must be one of {', '.join(filter(None, allowed))}", field=name, value=value[:100]
        )
    return value


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as exc:
        raise errors.InvalidRequest(
            "memory must be the UUID of a memory base", field="memory", value=text[:100]
        ) from exc
