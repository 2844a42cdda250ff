"""A memory base's own weights: read, set and remove them.

The previous weights are kept, one step back: setting them again undoes a change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from memorybase.core import errors
from memorybase.core.queries.ownership import require_memory_base
from memorybase.core.search.part_weights import PartWeights, check_part_weights
from memorybase.core.search.request import check_half_life
from memorybase.core.search.scoring import SETS, SIGNALS, Weights
from memorybase.core.services import Services

MAX_WEIGHT = 100.0  # the bound on the size of a weight or bias; fitted ones stay below ten
MAX_NOTE_CHARS = 500
CHOSEN_BY_HAND = "chosen by hand"


@dataclass(frozen=True, slots=True)
class WeightSet:
    """The weight of each signal (0 where it has none), and the bias of the sum."""

    bias: Annotated[float, Field(description="Added to the weighted sum of the signals.")]
    weights: Annotated[dict[str, float], Field(description="The weight of each signal, by its name.")]


@dataclass(frozen=True, slots=True)
class StoredWeights:
    """A memory base's own weights: sets by name, each replacing the default set of that name, and a half-life."""

    sets: Annotated[
        dict[str, WeightSet], Field(description="Weights by the name of the default set that each replaces.")
    ]
    fitted_at: Annotated[datetime | None, Field(description="When the weights were fitted.")] = None
    questions: Annotated[int | None, Field(description="Number of questions that the weights were fitted on.")] = (
        None  # how many they were fitted on
    )
    note: Annotated[str | None, Field(description="A note for people.")] = None
    half_life_days: Annotated[
        float | None, Field(description="The half-life of searches that set none; null: age does not count.")
    ] = None  # of searches that set none themselves


@dataclass(frozen=True, slots=True)
class WeightsView:
    """The default weights, the memory base's own weights if any, and its previous ones."""

    defaults: Annotated[dict[str, WeightSet], Field(description="The default sets, by name.")]
    stored: Annotated[
        StoredWeights | None, Field(description="The memory base's own weights; null if the default ones are used.")
    ]
    previous: Annotated[StoredWeights | None, Field(description="The value of `stored` before the last change.")]


def get_weights(services: Services, user_id: UUID, base_id: UUID) -> WeightsView:
    """Raises NotFound."""
    with services.database.reading() as db:
        base = require_memory_base(db, user_id, base_id)
        stored, previous = base.search_weights, base.previous_search_weights
    return WeightsView(
        defaults={name: _default(weights) for name, weights in SETS.items()},
        stored=_read(stored),
        previous=_read(previous),
    )


def set_weights(services: Services, user_id: UUID, base_id: UUID, weights: StoredWeights | None) -> None:
    """Use these weights, or with None the default ones; the current ones become the previous ones.

    Setting the current weights changes nothing, so a call can be repeated. Raises NotFound, InvalidRequest.
    """
    if weights is not None:
        _check(weights)
    new = None if weights is None else _as_json(weights)
    with services.database.transaction() as db:
        base = require_memory_base(db, user_id, base_id, lock=True)
        if base.search_weights != new:
            base.previous_search_weights = base.search_weights
            base.search_weights = new


def keep_part_weights(
    services: Services, user_id: UUID, base_id: UUID, factors: PartWeights, half_life_days: float | None
) -> None:
    """Make these factors and this half-life the memory base's own, on top of the weights that it has now; so searches
    without factors find what searches with them found. None: it keeps its half-life. Raises NotFound, InvalidRequest.
    """
    check_part_weights(factors)
    view = get_weights(services, user_id, base_id)
    current = view.defaults | (view.stored.sets if view.stored else {})
    sets: dict[str, WeightSet] = {}
    for name, weight_set in current.items():
        applied = factors.applied(Weights(name, weight_set.bias, weight_set.weights))
        sets[name] = WeightSet(weight_set.bias, dict(applied.of))
    if factors.changes_nothing:
        sets = view.stored.sets if view.stored else {}
    kept = view.stored.half_life_days if view.stored else None
    half_life = kept if half_life_days is None else half_life_days
    if sets or half_life is not None:
        set_weights(services, user_id, base_id, StoredWeights(sets, note=CHOSEN_BY_HAND, half_life_days=half_life))


def _check(weights: StoredWeights) -> None:
    check_half_life(weights.half_life_days)
    if not weights.sets and weights.half_life_days is None:
        raise errors.InvalidRequest(
            "sets must hold at least one set of weights, unless half_life_days is given", field="sets", limit=list(SETS)
        )
    for name, weight_set in weights.sets.items():
        where = f"sets.{name}"
        if name not in SETS:
            raise errors.InvalidRequest(
                f"A set's name must be one of {', '.join(SETS)}", field="sets", value=name, limit=list(SETS)
            )
        for signal in weight_set.weights:
            if signal not in SIGNALS:
                raise errors.InvalidRequest(
                    f"A weight's name must be one of {', '.join(SIGNALS)}",
                    field=f"{where}.weights",
                    value=signal,
                    limit=list(SIGNALS),
                )
        _check_number(f"{where}.bias", weight_set.bias)
        for signal, weight in weight_set.weights.items():
            _check_number(f"{where}.weights.{signal}", weight)
    if weights.note is not None and len(weights.note) > MAX_NOTE_CHARS:
        raise errors.InvalidRequest(
            f"note must have at most {MAX_NOTE_CHARS} characters",
            field="note",
            value=len(weights.note),
            limit=MAX_NOTE_CHARS,
        )


def _check_number(field: str, value: float) -> None:
    if not (math.isfinite(value) and abs(value) <= MAX_WEIGHT):
        raise errors.InvalidRequest(
            f"{field} must be a number from {-MAX_WEIGHT:g} to {MAX_WEIGHT:g}",
            field=field,
            value=str(value),
            limit=[-MAX_WEIGHT, MAX_WEIGHT],
        )


def _default(weights: Weights) -> WeightSet:
    return WeightSet(weights.bias, dict(weights.of))


def _as_json(weights: StoredWeights) -> dict[str, Any]:
    return asdict(weights) | {"fitted_at": None if weights.fitted_at is None else weights.fitted_at.isoformat()}


def _read(stored: Mapping[str, Any] | None) -> StoredWeights | None:
    """Without sets and signals that searches no longer use; None if nothing is left."""
    if stored is None:
        return None
    sets = {
        name: WeightSet(
            each["bias"], {signal: weight for signal, weight in each["weights"].items() if signal in SIGNALS}
        )
        for name, each in stored["sets"].items()
        if name in SETS
    }
    if not sets and stored.get("half_life_days") is None:
        return None
    fitted_at = stored["fitted_at"]
    return StoredWeights(
        sets=sets,
        fitted_at=None if fitted_at is None else datetime.fromisoformat(fitted_at),
        questions=stored["questions"],
        note=stored["note"],
        half_life_days=stored.get("half_life_days"),
    )
