"""Kombu's transports for Redis and RabbitMQ, but malformed queue messages are dropped.

Celery pops a message before it decodes it. Malformed ones raise out of its event loop, which ends the worker, and some
stay unacknowledged and come back to the next worker. The job row in SQL is the source of truth: dropping a notification
costs only time, because the sweeper enqueues the job again.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty
from typing import Any

from kombu.exceptions import KombuError
from kombu.transport import pyamqp, redis

from memorybase.core.telemetry import get_logger

log = get_logger(__name__)

# What reading a message of any shape may raise. Errors of the connection are other types.
MALFORMED = (ValueError, TypeError, LookupError, AttributeError)


class Channel(redis.Channel):
    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)
        except MALFORMED as error:  # not even an envelope
            _log_dropped(error)
            raise Empty from None

    def basic_consume(
        self, queue: str, no_ack: bool, callback: Callable[[Any], Any], *args: Any, **options: Any
    ) -> Any:
        return super().basic_consume(queue, no_ack, _checked(callback), *args, **options)


class Transport(redis.Transport):
    Channel = Channel


class SentinelChannel(Channel, redis.SentinelChannel):
    """Asks sentinels where Redis is."""


class SentinelTransport(redis.SentinelTransport):
    Channel = SentinelChannel


class AmqpChannel(pyamqp.Channel):
    def basic_consume(self, queue: str, *args: Any, callback: Callable[[Any], Any], **options: Any) -> Any:
        return super().basic_consume(queue, *args, callback=_checked(callback, self.message_to_python), **options)


class AmqpConnection(pyamqp.Connection):
    Channel = AmqpChannel


class AmqpTransport(pyamqp.Transport):
    Connection = AmqpConnection


class AmqpsTransport(pyamqp.SSLTransport):
    Connection = AmqpConnection


# By the schemes of URLs, instead of kombu's own.
TRANSPORTS = {
    "redis": f"{__name__}:Transport",
    "rediss": f"{__name__}:Transport",
    "sentinel": f"{__name__}:SentinelTransport",
    "amqp": f"{__name__}:AmqpTransport",
    "amqps": f"{__name__}:AmqpsTransport",
}


def _checked(
    callback: Callable[[Any], Any], read: Callable[[Any], Any] = lambda message: message
) -> Callable[[Any], Any]:
    """The callback of a consumer, for messages that have the shape of a task message; others are dropped."""

    def deliver(raw: Any) -> Any:
        message = read(raw)
        try:
            _check(message)
        except (*MALFORMED, KombuError) as error:
            _log_dropped(error)
            message.ack()
            return None
        return callback(raw)

    return deliver


def _check(message: Any) -> None:
    """Raise unless the message has the shape of a task message. Celery itself checks only some of it."""
    arguments, keywords, _ = message.decode()
    names = [message.headers[name] for name in ("task", "id")]
    if not (
        isinstance(arguments, list) and isinstance(keywords, dict) and all(isinstance(name, str) for name in names)
    ):
        raise TypeError


def _log_dropped(error: Exception) -> None:
    # Without the error's text, which may quote the message.
    log.error("queue_message_dropped", error_type=type(error).__name__)
