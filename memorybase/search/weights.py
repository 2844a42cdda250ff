"""A memory base's own weights: read, set and remove them.

The previous weights are kept, one step back: setting them again undoes a change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memorybase import errors
from memorybase.queries.ownership import require_memory_base
from memorybase.search.scoring import SETS, SIGNALS, Weights
from memorybase.services import Services

MAX_WEIGHT = 100.0  # the bound on the size of a weight or bias; fitted ones stay below ten
MAX_NOTE_CHARS = 500


@dataclass(frozen=True, slots=True)
class WeightSet:
    """The weight of each signal (0 where it has none), and the bias of the sum."""

    bias: float
    weights: dict[str, float]


@dataclass(frozen=True, slots=True)
class StoredWeights:
    """A memory base's own weights: sets by name, each replacing the default set of that name."""

    sets: dict[str, WeightSet]
    fitted_at: datetime | None = None
    questions: int | None = None  # how many they were fitted on
    note: str | None = None


@dataclass(frozen=True, slots=True)
class WeightsView:
    """The default weights, the memory base's own weights if any, and its previous ones."""

    defaults: dict[str, WeightSet]
    stored: StoredWeights | None
    previous: StoredWeights | None


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


def set_weights(services: Services, user_id: UUID, base_id: UUID, wanted: StoredWeights | None) -> None:
    """Use these weights, or with None the default ones; the current ones become the previous ones.

    Setting the current weights changes nothing, so a call can be repeated. Raises NotFound, InvalidRequest.
    """
    if wanted is not None:
        _check(wanted)
    new = None if wanted is None else _as_json(wanted)
    with services.database.transaction() as db:
        base = require_memory_base(db, user_id, base_id, lock=True)
        if base.search_weights != new:
            base.previous_search_weights = base.search_weights
            base.search_weights = new


def _check(weights: StoredWeights) -> None:
    if not weights.sets:
        raise errors.InvalidRequest("sets must hold at least one set of weights", field="sets", limit=list(SETS))
    for name, each in weights.sets.items():
        where = f"sets.{name}"
        if name not in SETS:
            raise errors.InvalidRequest(
                f"A set's name must be one of {', '.join(SETS)}", field="sets", value=name, limit=list(SETS)
            )
        for signal in each.weights:
            if signal not in SIGNALS:
                raise errors.InvalidRequest(
                    f"A weight's name must be one of {', '.join(SIGNALS)}",
                    field=f"{where}.weights", value=signal, limit=list(SIGNALS),
                )  # fmt: skip
        _check_number(f"{where}.bias", each.bias)
        for signal, weight in each.weights.items():
            _check_number(f"{where}.weights.{signal}", weight)
    if weights.note is not None and len(weights.note) > MAX_NOTE_CHARS:
        raise errors.InvalidRequest(
            f"note must have at most {MAX_NOTE_CHARS} characters",
            field="note", value=len(weights.note), limit=MAX_NOTE_CHARS,
        )  # fmt: skip


def _check_number(field: str, value: float) -> None:
    if not (math.isfinite(value) and abs(value) <= MAX_WEIGHT):
        raise errors.InvalidRequest(
            f"{field} must be a number from {-MAX_WEIGHT:g} to {MAX_WEIGHT:g}",
            field=field, value=str(value), limit=[-MAX_WEIGHT, MAX_WEIGHT],
        )  # fmt: skip


def _default(weights: Weights) -> WeightSet:
    return WeightSet(weights.bias, dict(weights.of))


def _as_json(weights: StoredWeights) -> dict[str, Any]:
    return asdict(weights) | {"fitted_at": None if weights.fitted_at is None else weights.fitted_at.isoformat()}


def _read(stored: Mapping[str, Any] | None) -> StoredWeights | None:
    if stored is None:
        return None
    fitted_at = stored["fitted_at"]
    return StoredWeights(
        sets={name: WeightSet(each["bias"], each["weights"]) for name, each in stored["sets"].items()},
        fitted_at=None if fitted_at is None else datetime.fromisoformat(fitted_at),
        questions=stored["questions"],
        note=stored["note"],
    )
