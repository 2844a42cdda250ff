"""What a worker does for each task, by the task's name: for Celery, and for the thread in one process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from memorybase.core.conversation.session_memory import summary_job
from memorybase.core.conversation.session_memory.summaries import SUMMARIZE
from memorybase.core.ingestion import job_runner
from memorybase.core.services import INGEST, JobMessage, Task
from worker.process import WorkerProcess

if TYPE_CHECKING:
    from memorybase.core.extension import Hooks, WorkerTask

Work = Callable[[WorkerProcess, Mapping[str, Any]], None]


def table(hooks: tuple[Hooks, ...]) -> dict[str, Work]:
    """The core's work, and that of features: tasks after ingestion, and threads that a task only wakes."""
    found: dict[str, Work] = {INGEST.name: _ingest, SUMMARIZE.name: _summarize}
    for each in hooks:
        found |= {task.name: partial(_of_feature, task, run) for task, run in each.tasks.items()}
        found |= {task.name: partial(_wake, task) for task in each.threads}
    return found


def _ingest(process: WorkerProcess, message: Mapping[str, Any]) -> None:
    """Run one ingestion job, and then other waiting jobs."""
    job = JobMessage.from_message(dict(message))
    with process.watchdog.watching(job.job_id):
        job_runner.run_jobs(process.services, job, owner=process.owner, may_continue=process.start_task())
    process.memory.give_back()


def _summarize(process: WorkerProcess, message: Mapping[str, Any]) -> None:
    """Write the summary of a session, up to the message that its row asks for, after ingestion."""
    id_ = UUID(message[SUMMARIZE.argument])
    with process.watchdog.watching(id_):
        summary_job.make_summary(process.services, id_, before_page=process.ingest_waiting)


def _of_feature(task: Task, run: WorkerTask, process: WorkerProcess, message: Mapping[str, Any]) -> None:
    """A feature's task: it works after ingestion, on one thing if it has an argument."""
    id_ = UUID(message[task.argument]) if task.argument else uuid4()
    with process.watchdog.watching(id_):
        run(process.services, id_, process.ingest_waiting)
    process.memory.give_back()


def _wake(task: Task, process: WorkerProcess, _: Mapping[str, Any]) -> None:
    """Wake a feature's thread, which delays no other task while it waits for something."""
    process.wake(task)
