from __future__ import annotations

from threading import Thread
from uuid import uuid4

from memorybase.core.process_queue import ProcessQueue
from memorybase.core.services import INGEST, JobMessage, Task

TASK = Task("memorybase.other", "thing_id")


def job() -> JobMessage:
    return JobMessage(uuid4(), uuid4(), "s", "ingest", 1, 0, 10, None, "embedder", "chunker")


def test_notifications_are_taken_in_order_and_none_waits_twice() -> None:
    queue, first, second, thing = ProcessQueue(), job(), job(), uuid4()

    assert queue.enqueue([first, second, first]) == 3
    assert queue.notify(TASK, [thing]) == 1
    assert queue.notify(Task("memorybase.alone")) == 1
    assert queue.backlog() == 4

    assert queue.take() == (INGEST.name, first.to_message())
    queue.enqueue([first])  # its worker has begun: what it no longer sees must not be lost
    assert queue.take() == (INGEST.name, second.to_message())
    assert queue.take() == (TASK.name, {"thing_id": str(thing)})
    assert queue.take() == ("memorybase.alone", {})
    assert queue.take() == (INGEST.name, first.to_message())
    assert queue.backlog() == 0


def test_stop_ends_the_wait() -> None:
    queue = ProcessQueue()
    taken: list[object] = []
    worker = Thread(target=lambda: taken.append(queue.take()))
    worker.start()

    queue.stop()

    worker.join()
    assert taken == [None]
    queue.enqueue([job()])
    assert queue.take() is None
