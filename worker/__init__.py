"""The Celery side of memorybase: the worker process, its tasks and the queue that rings it."""
