"""What the core calls."""

from __future__ import annotations

from functools import partial

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import clock, engine
from memorybase.core.extension import Edited, Gauge, Hooks, Ingested, Pace, SessionRows, Step, WorkerThread
from memorybase.core.queries import leased_work
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.sessions import SessionRow
from memorybase.core.services import Services
from memorybase.features.facts import claim, job, usage
from memorybase.features.facts.for_context import FACTS
from memorybase.features.facts.for_search import facts_for_search
from memorybase.features.facts.models import Distillation, DistillKind, Fact
from memorybase.features.facts.queries import distillations, facts
from memorybase.features.facts.thread import DistillerThread


def _ingested(db: OrmSession, services: Services, done: Ingested) -> None:
    """Facts are distilled from what is in the knowledge base, never before or instead of it."""
    base = done.base
    if base.distill and distillations.request(
        db, base.id, base.flow_id, done.session_id, done.to_seq, done.now, notify_at=done.now
    ):
        engine.after_commit(db, lambda: services.queue.notify(claim.DISTILL))


def _edited(db: OrmSession, edited: Edited) -> dict[str, int]:
    deleted = distillations.mark_changed(
        db, edited.base_ids, edited.session_id, edited.seq, edited.now, to_seq=edited.to_seq
    )
    return {"facts": deleted}


def _forgotten(db: OrmSession, base: BaseRow, session: SessionRow, start_seq: int) -> dict[str, int]:
    return {"facts": distillations.forget(db, base.id, session.flow_id, session.session_id, start_seq)}


def _counts(db: OrmSession, session: SessionRow) -> dict[str, int]:
    return {"facts": facts.count_of_session(db, session.id)}


def _gauges(db: OrmSession, services: Services) -> list[Gauge]:
    today = usage.today(db, services.settings, clock.now(db))
    tokens = {"prompt": today.prompt_tokens, "completion": today.completion_tokens}
    made = {"stored": today.facts, "refused": today.refused}
    waiting = "Sessions that wait for a language model to distil facts."
    cost = "What distillation cost today, by the prices in the settings."
    stored = "Facts that distillation made today; refused: they did not pass the checks."
    return [
        Gauge("memorybase_distillations_pending", waiting, {"": today.pending}),
        Gauge("memorybase_distiller_tokens_today", "Tokens that distillation used today, in UTC.", tokens, "kind"),
        Gauge("memorybase_distiller_cost_today", cost, {"": today.cost}),
        Gauge("memorybase_distilled_facts_today", stored, made, "outcome"),
    ]


def _thread(services: Services) -> WorkerThread | None:
    return None if services.settings.distiller == "none" else DistillerThread(services)


HOOKS = Hooks(
    on_ingested=_ingested,
    on_edited=_edited,
    on_versions_raised=distillations.raise_versions,
    on_forgotten=_forgotten,
    session_rows=(SessionRows(_counts, distillations.delete_of_session),),
    base_tables=(Fact, Distillation),
    preparations={
        DistillKind.ALL: partial(distillations.begin, skip=False),
        DistillKind.NEW: partial(distillations.begin, skip=True),
        DistillKind.OFF: distillations.stop,
    },
    context_lines=(FACTS,),
    search_lists={"facts": facts_for_search},
    gauges=_gauges,
    limits=partial(leased_work.limits, claim.WORK),
    steps=(Step("distillations", job.enqueue_due, Pace.EVERY),),
    threads={claim.DISTILL: _thread},
)
