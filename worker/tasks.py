"""Doorways from Celery to the domain: read the message, call one function, at most twelve lines."""

from __future__ import annotations

from typing import Any

from memorybase import ingestion
from memorybase.services import FrozenJob
from worker.app import app, this_process
from worker.queue import INGEST_TASK


@app.task(name=INGEST_TASK)
def ingest(**frozen: Any) -> None:
    """One ingestion job, as its row was when it was rung, and what waits beside it."""
    process = this_process()
    job = FrozenJob.from_message(frozen)
    with process.watchdog.watching(job.job_id):
        ingestion.run_jobs(process.services, job, owner=process.owner, more=process.time_for_more())
