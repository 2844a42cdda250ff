"""The Celery side of memorybase: the worker process, its tasks and the queue that notifies it.

    app        the Celery application, its settings and signals
    tasks      the tasks: read the message, call one function
    process    the worker's process: name, heartbeat, watchdog, its predecessor's jobs
    queue      publishes notifications, best effort
    transport  receives them, and drops queue messages that are malformed

Run `celery -A worker.app worker`; `memorybase.wiring` builds `queue.CeleryQueue`.
"""
