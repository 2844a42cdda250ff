"""Celery tasks: each reads its message and calls one function, in at most twelve lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from memorybase import features
from memorybase.conversation.session_memory import summary_job
from memorybase.conversation.session_memory.summaries import SUMMARIZE
from memorybase.ingestion import job_runner
from memorybase.services import JobMessage, Task
from worker.app import app, this_process
from worker.queue import INGEST_TASK

if TYPE_CHECKING:
    from memorybase.extension import WorkerTask


@app.task(name=INGEST_TASK)
def ingest(**message: Any) -> None:
    """Run one ingestion job, and then other waiting jobs."""
    process = this_process()
    job = JobMessage.from_message(message)
    with process.watchdog.watching(job.job_id):
        job_runner.run_jobs(process.services, job, owner=process.owner, may_continue=process.start_task())
    process.memory.give_back()


@app.task(name=SUMMARIZE.name)
def summarize(summary_id: str) -> None:
    """Write the summary of a session, up to the message that its row asks for, after ingestion."""
    process = this_process()
    id_ = UUID(summary_id)
    with process.watchdog.watching(id_):
        summary_job.make_summary(process.services, id_, before_page=process.ingest_waiting)


def _of_feature(task: Task, run: WorkerTask) -> None:
    """Declare a feature's task: it works after ingestion, on one thing if it has an argument."""

    @app.task(name=task.name)
    def work(**message: str) -> None:
        process = this_process()
        id_ = UUID(message[task.argument]) if task.argument else uuid4()
        with process.watchdog.watching(id_):
            run(process.services, id_, process.ingest_waiting)
        process.memory.give_back()


def _of_thread(task: Task) -> None:
    """Declare the task that wakes a feature's thread, which delays no other task while it waits for something."""

    @app.task(name=task.name)
    def wake() -> None:
        this_process().wake(task)


for _hooks in features.hooks():
    for _task, _run in _hooks.tasks.items():
        _of_feature(_task, _run)
    for _task in _hooks.threads:
        _of_thread(_task)
