"""One endpoint for everything that a model reads on its next turn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from api.admission import Work
from api.context_schemas import ContextAnswer, ContextBody, ContextConfig, RecallBody
from api.deps import Reader, ServicesDep, keyed_router
from api.key_limits import Rule, end_user_in, flow_in, known_row, session_in
from api.operations import operation
from api.schemas import CONFLICT
from memorybase.core import caveats, ids
from memorybase.core.conversation import Limits, context
from memorybase.core.conversation.context import ContextRequest, RecallOptions, StandingOptions
from memorybase.core.conversation.session_memory.presets import PRESETS, SessionPreset
from memorybase.core.conversation.summarizers.llm import checked_name
from memorybase.core.conversation.view.token_counters import counter_for
from memorybase.core.screening import counting
from memorybase.core.search.part_weights import PartWeights

router = keyed_router("context")

_LIMITS = ("max_turns", "max_messages")


@router.post("/context", responses=CONFLICT)
@operation(
    limits=Rule(
        [flow_in("body")],
        [end_user_in("body"), session_in("body"), known_row("message", "leaf_id"), known_row("run", "run_id")],
    ),
    work=Work.SEARCH,
)
def build_context(body: ContextBody, services: ServicesDep, caller: Reader) -> ContextAnswer:
    """Build history, summary and recalled memories within the token budget. `degraded` names what is unavailable."""
    leaf = None if body.leaf_id is None else ids.CallerId.of(caller.user_id, "message", body.leaf_id, name="leaf_id")
    run = None if body.run_id is None else ids.CallerId.of(caller.user_id, "run", body.run_id)
    request = ContextRequest(
        flow_id=ids.flow_id(caller.user_id, body.flow_id),
        session_id=body.session_id,
        token_budget=body.token_budget,
        query=body.query,
        time_zone=body.time_zone,
        as_of=body.as_of,
        leaf_id=leaf,
        run_id=run,
        node_id=body.node_id,
        end_user_id=body.end_user_id,
        use_memory=body.use_memory,
        preset=_preset(PRESETS[body.preset], body.config),
        summarizer=checked_name(services.settings, body.config.given().get("summarizer")),
        memory_base_ids=body.memory_base_ids,
        counter=counter_for(services.settings, body.model),
        model=body.model,
        recall=_recall(body.recall),
        standing=StandingOptions(**body.standing.model_dump()),
        profile=body.profile,
    )
    with counting() as replaced:
        view = context.build_context(services, caller.user_id, request)
    answer = ContextAnswer(**view.as_dict())
    warnings = (*answer.report.warnings, *caveats.redacted(replaced))
    answer.report = replace(answer.report, warnings=warnings)
    return answer


def _recall(body: RecallBody) -> RecallOptions:
    factors = None if body.weights is None else PartWeights(**body.weights.model_dump())
    lines = ["facts"] if body.facts else []
    return RecallOptions(**body.model_dump(exclude={"weights", "facts"}), weights=factors, lines=lines)


def _preset(preset: SessionPreset, config: ContextConfig) -> SessionPreset:
    changes: dict[str, Any] = {name: value for name, value in config.given().items() if name != "summarizer"}
    limits = {name: changes.pop(name) for name in _LIMITS if name in changes}
    if limits:
        changes["limits"] = Limits(**limits, prune="turn")
    if "roles" in changes:
        changes["roles"] = frozenset(changes["roles"])
    return replace(preset, **changes)
