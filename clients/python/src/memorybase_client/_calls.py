"""One call as data: the request, which answers are errors, and what may be sent again. No I/O."""

from __future__ import annotations

import json
import math
import os
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx

from memorybase_client import errors, local_stack

DEFAULT_URL = "http://127.0.0.1:8000"
JSON = "application/json"
JSON_LINES = "application/x-ndjson"

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0
LONGEST_RETRY_AFTER_SECONDS = 30.0  # a caller waits no longer than this for one repetition
STREAM_SILENCE_SECONDS = 60.0  # the server sends something every 15 s
WAIT_MARGIN_SECONDS = 10.0

# Without a body of ours: a proxy's answer.
_PROXY_STATUS = frozenset({502, 503, 504})
# A state that only another job changes, which takes as long as it takes: the caller decides. The answer to the call
# itself is worth a wait.
_STATE = 409
_OWN_CALL = "idempotency_in_progress"


@dataclass(frozen=True, slots=True)
class Call:
    """A repetition does no harm if the first was carried out and its answer was lost: by its nature, by ids of the
    client, or by the `idempotency_key`. Its repr shows no text."""

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict, repr=False)
    content: bytes | None = field(default=None, repr=False)
    content_type: str = JSON
    idempotency_key: str | None = None
    wait_seconds: float = 0.0  # how long the server may wait before it answers

    def options(self, timeout_seconds: float) -> dict[str, Any]:
        """Arguments for httpx other than method and path."""
        read = max(timeout_seconds, self.wait_seconds + WAIT_MARGIN_SECONDS if self.wait_seconds else 0.0)
        headers = {} if self.content is None else {"Content-Type": self.content_type}
        if self.idempotency_key is not None:
            headers["Idempotency-Key"] = self.idempotency_key
        return {
            "params": _given(self.params),
            "content": self.content,
            "headers": headers,
            "timeout": httpx.Timeout(timeout_seconds, read=read),
        }


def connection_of(url: str | None, key: str | None) -> tuple[str, str]:
    """Address and API key: the arguments, else MEMORYBASE_URL and MEMORYBASE_API_KEY, else those of the stack that runs
    on this machine. Its key is never sent to another address. Raises ValueError if there is no key."""
    url = (url or os.environ.get("MEMORYBASE_URL") or "").rstrip("/")
    key = key or os.environ.get("MEMORYBASE_API_KEY")
    if not (url and key):
        running = local_stack.find()
        if running is not None and url in {"", running.url}:
            url, key = running.url, key or running.key
    return url or DEFAULT_URL, _checked(key or "")


def _checked(key: str) -> str:
    found = key.strip()
    if not found:
        raise ValueError(
            "An API key is required: pass key=, set MEMORYBASE_API_KEY, or start memorybase on this machine "
            "(`memorybase up`), whose key is found by its user's programs"
        )
    # The HTTP library's own error would show the key.
    if re.search(r"[\x00-\x1f\x7f]", found):
        raise ValueError("The API key must have no control characters, such as a line break")
    return found


def segment(value: str | UUID, name: str) -> str:
    """An id as part of a path. Raises ValueError if it is empty, because the path would be another call's."""
    text = str(value)
    if not text:
        raise ValueError(f"{name} must not be empty")
    # quote() leaves dots, and httpx removes the segments "." and "..".
    return quote(text, safe="").replace(".", "%2E") if text.strip(".") == "" else quote(text, safe="")


def json_of(fields: Mapping[str, Any], *, is_optional: bool = False) -> bytes | None:
    """A body of the fields that are not None; no body if it is optional and there are none."""
    given = {name: value for name, value in fields.items() if value is not None}
    if is_optional and not given:
        return None
    return encoded(given)


def encoded(value: Any) -> bytes:
    """JSON, with ids and times as strings. Raises ValueError or TypeError for what JSON cannot have."""
    return json.dumps(value, default=_plain, ensure_ascii=False, allow_nan=False).encode()


def kept(call: Call, answer: str) -> bytes:
    """The call as it waits in the outbox, with the name of its answer's model."""
    content = None if call.content is None else json.loads(call.content)
    return encoded(
        {
            "call": [call.method, call.path, _given(call.params), call.idempotency_key],
            "answer": answer,
            "content": content,
        }
    )


def call_of(flow_id: str, body: bytes) -> tuple[Call, str]:
    """The call that delivers a body from the outbox: the stored call, or the capture of a run. Also names the model of
    its answer."""
    if not body.startswith(b'{"call": '):
        return Call("POST", f"/flows/{segment(flow_id, 'flow_id')}/runs", content=body), "CaptureAnswer"
    waiting = json.loads(body)
    method, path, params, idempotency_key = waiting["call"]
    content = None if waiting["content"] is None else encoded(waiting["content"])
    return Call(method, path, params, content, idempotency_key=idempotency_key), waiting["answer"]


def _given(params: Mapping[str, Any]) -> dict[str, Any]:
    """httpx writes None as an empty value, and knows neither UUIDs nor times."""
    return {name: _sendable(value) for name, value in params.items() if value is not None}


def _sendable(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_sendable(each) for each in value]
    return value if isinstance(value, str | int | float) else _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if hasattr(value, "model_dump"):  # an answer of ours, sent back
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} cannot be sent as JSON")


def error_of(answer: httpx.Response) -> errors.MemorybaseError:
    """The error that an answer says; its body has been read."""
    status = answer.status_code
    try:
        said = answer.json()["error"]
        code, message, retryable = str(said["code"]), str(said["message"]), bool(said["retryable"])
    except (ValueError, KeyError, TypeError):
        text = f"The server answered {status}, which is not an answer of memorybase. Is the URL right?"
        return errors.UnexpectedAnswer(
            text, status=status, retryable=status in _PROXY_STATUS, retry_after=_retry_after(answer)
        )
    kind = errors.BY_CODE.get(code) or (errors.ServerFailure if status >= 500 else errors.CallerError)
    error = kind(
        message,
        status=status,
        field=said.get("field"),
        value=said.get("value"),
        limit=said.get("limit"),
        retryable=retryable,
        retry_after=_retry_after(answer),
        request_id=said.get("request_id"),
        details=said.get("details"),
    )
    error.code = code  # also one of a newer server
    return error


def error_of_transport(error: httpx.TransportError, url: str) -> errors.ConnectionFailed:
    """An error without an answer. What httpx says of it names no header and no body."""
    return errors.ConnectionFailed(f"No answer from {url}: {str(error) or type(error).__name__}", retryable=True)


def _retry_after(answer: httpx.Response) -> float | None:
    try:
        seconds = float(answer.headers["Retry-After"])
    except (KeyError, ValueError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def pause_before_retry(error: errors.MemorybaseError, *, attempt: int, tries: int) -> float | None:
    """Seconds to wait before the call is sent again; None if it is not."""
    needs_another_call = isinstance(error, errors.QuotaFull) or (error.status == _STATE and error.code != _OWN_CALL)
    if attempt >= tries or not error.retryable or needs_another_call:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= LONGEST_RETRY_AFTER_SECONDS else None
    return jittered(min(FIRST_PAUSE_SECONDS * 2 ** (attempt - 1), LONGEST_PAUSE_SECONDS))


def jittered(seconds: float) -> float:
    """Between half of it and all of it: clients that failed together must not come back together."""
    return seconds * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
