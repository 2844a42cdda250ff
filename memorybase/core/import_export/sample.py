"""Sample data: a flow, its memory base and four conversations, for the web page, `memorybase sample` and the demo."""

from __future__ import annotations

import contextlib
from importlib.resources import files
from uuid import UUID

from memorybase_client.importers.runs import Part

from memorybase.core import errors, ids
from memorybase.core.import_export.conversation_files import read_runs
from memorybase.core.ingestion import capture as ingestion
from memorybase.core.ingestion.capture import CaptureRequest
from memorybase.core.memory_bases import manage
from memorybase.core.memory_bases.manage import NewMemoryBase
from memorybase.core.messages import normalise
from memorybase.core.models import Capture
from memorybase.core.services import Services
from memorybase.core.sessions import deletion, flows

FLOW = "sample"
FLOW_NAME = "Sample"
NAME = "Sample memory"
QUESTION = "What is Priya allergic to?"
# Below the messages of most conversations, so that loading shows ingestion too.
THRESHOLD = 4


def runs() -> list[Part]:
    """The conversations. Each run has the same id every time, so that a repetition stores nothing twice."""
    text = files("memorybase").joinpath("samples", "conversation.jsonl").read_text(encoding="utf-8")
    return read_runs(text, namespace=FLOW)


def load(services: Services, user_id: UUID) -> int:
    """Capture the sample, and return the number of new messages. Loading it again changes nothing. Raises NameTaken for
    a memory base of another flow with its name."""
    flow_id = ids.flow_id(user_id, FLOW)
    flows.put_flow(services, user_id, name=FLOW_NAME, flow_id=flow_id, external_id=FLOW)
    with contextlib.suppress(errors.NameTaken):
        new = NewMemoryBase(name=NAME, flow_id=flow_id, threshold=THRESHOLD, capture=Capture.ALL)
        manage.create_memory_base(services, user_id, new)
    created = 0
    for run in runs():
        messages = [normalise(raw, user_id=user_id, where="messages") for raw in run.messages]
        run_id = ids.CallerId.of(user_id, "run", run.run_id)
        request = CaptureRequest(run.session_id, messages, run_id=run_id, on_conflict="keep")
        created += sum(each.created for each in ingestion.capture(services, user_id, flow_id, request).messages)
    return created


def remove(services: Services, user_id: UUID) -> bool:
    """Delete the sample with everything in it; False if the sweeper will finish. Raises NotFound without it."""
    return deletion.delete_flow(services, user_id, ids.flow_id(user_id, FLOW))
