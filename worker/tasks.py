"""Doorways from Celery to the domain: read the message, call one function, at most twelve lines."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from memorybase.conversation.chat_memory import summaries
from memorybase.conversation.node_object_memory import node_memory
from memorybase.conversation.session_memory import summary_job
from memorybase.ingestion import worker
from memorybase.services import JobMessage
from worker.app import app, this_process
from worker.queue import CLEAN_NODE_MEMORY_TASK, INGEST_TASK, SUMMARIZE_TASK


@app.task(name=INGEST_TASK)
def ingest(**frozen: Any) -> None:
    """One ingestion job, as its row was when it was rung, and what waits beside it."""
    process = this_process()
    job = JobMessage.from_message(frozen)
    with process.watchdog.watching(job.job_id):
        worker.run_jobs(process.services, job, owner=process.owner, may_continue=process.time_for_more())


@app.task(name=SUMMARIZE_TASK)
def summarize(summary_id: str) -> None:
    """The summary of a session or of a chat, as far as its row wants it."""
    process = this_process()
    progress_id = UUID(summary_id)
    with process.watchdog.watching(progress_id):
        if not summary_job.make_summary(process.services, progress_id):
            summaries.make_due(process.services, progress_id)


@app.task(name=CLEAN_NODE_MEMORY_TASK)
def clean_node_memory() -> None:
    """Delete node memory in objects that nobody has written to for long."""
    process = this_process()
    with process.watchdog.watching(uuid4()):  # an object store that hangs must not hold the worker for good
        node_memory.clean_up(process.services.settings)
