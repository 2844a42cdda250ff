"""Memory for an agent that must run on without it. The adapters in memorybase_client.integrations are built on this."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from memorybase_client import errors, local_stack
from memorybase_client._sync.client import Client
from memorybase_client._sync.listing import LARGEST_PAGE
from memorybase_client._sync.waiting import fail_after, in_thread

if TYPE_CHECKING:
    from memorybase_client import models
    from memorybase_client._sync.operations import Operations
    from memorybase_client.outbox import Outbox

log = logging.getLogger("memorybase_client")

Answer = TypeVar("Answer")

TIMEOUT_SECONDS = 2.0
SETTLE_SECONDS = 1.0  # that a read waits for an answer to what is being sent
LONGEST_SETTLE_SECONDS = 5.0  # that it waits for all of it, while memorybase answers: the first capture is five calls
AWAY_SECONDS = 5.0  # without another attempt, after one that failed
MIN_SCORE = 0.05  # of a recall: below it hits seldom answer; the server's default for contexts


class AgentMemory:
    """Captures and recalls for one flow, and never breaks or blocks its caller if memorybase is unreachable.

    Captures go through the outbox, a directory or an Outbox; by default all programs of this user share one. `client`,
    one with an outbox or that of memorybase.local, takes the place of address, key and outbox, and stays open. A read
    waits for recent captures while memorybase answers, and takes `timeout_seconds`. If memorybase is unreachable, it
    returns None, `failure` says why, and for five seconds further reads return None at once. A deletion raises, and so
    do the calls of `client`.
    """

    def __init__(
        self,
        flow_id: str,
        *,
        client: Client | None = None,
        outbox: Outbox | str | Path | None = None,
        url: str | None = None,
        key: str | None = None,
        end_user_id: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        **connecting: Any,
    ) -> None:
        if not flow_id:
            raise ValueError("flow_id must not be empty")
        self.flow_id = flow_id
        self.end_user_id = end_user_id
        self.failure: errors.MemorybaseError | None = None
        self._is_given = client is not None
        if client is None:
            outbox = outbox or local_stack.state_dir() / "outbox"
            client = Client(url, key, outbox=outbox, timeout_seconds=timeout_seconds, tries=1, **connecting)
        else:
            given = {"outbox": outbox, "url": url, "key": key, **connecting}
            if wrong := [name for name, value in given.items() if value is not None]:
                raise ValueError(f"{', '.join(wrong)} must not be given with a client, which has its own")
            if client.outbox is None:
                raise ValueError("client must have an outbox: Client(outbox=directory), or memorybase.local(folder)")
            client = client.without_retries(timeout_seconds)
        self.client = client
        self._timeout_seconds = timeout_seconds
        self._away_until = 0.0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.flow_id!r}, url={self.client.url!r})"

    def close(self) -> None:
        """Send what waits in the outbox, for a few seconds at most, and close the connections unless the client was
        given."""
        if self._is_given:
            self._settle()
        else:
            self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def capture(
        self,
        session_id: str,
        messages: Sequence[Mapping[str, Any]],
        *,
        run_id: str | None = None,
        end_user_id: str | None = None,
    ) -> str:
        """Store a run's messages, now or when memorybase is back, and return the run's id. Messages with ids can be
        captured again and are stored once."""
        return self.client.capture(
            self.flow_id,
            session_id=session_id,
            messages=messages,
            run_id=run_id,
            end_user_id=end_user_id or self.end_user_id,
            on_conflict="keep",
        )

    def recall(
        self,
        query: str,
        *,
        top_k: int = 8,
        session_id: str | None = None,
        end_user_id: str | None = None,
        min_score: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> list[models.Hit] | None:
        """Messages of the flow that fit the query, best first, each text once; only those with this metadata, if it is
        given. Without `min_score` none below MIN_SCORE; 0 keeps all. None if memorybase is unreachable."""
        if top_k == 0 or not query.strip():
            return []

        def search() -> list[models.Hit]:
            answer = self.client.search_flow(
                query=query,
                flow_id=self.flow_id,
                top_k=top_k,
                session_id=session_id,
                end_user_id=end_user_id or self.end_user_id,
                min_score=MIN_SCORE if min_score is None else min_score,
                metadata=metadata,
                fold_alike=True,
            )
            return answer.results

        nothing: list[models.Hit] = []
        return self._read(search, nothing)

    def record_memory(
        self,
        session_id: str,
        *,
        run_id: str,
        node_id: str,
        query: str,
        hits: Sequence[models.Hit],
        text: str | None = None,
        end_user_id: str | None = None,
    ) -> None:
        """Record what a node's model was given in a run, now or when memorybase is back; the run's page shows it.
        `text` has all hits as they were given; by default each is a message. Without hits nothing was found."""
        whole = [] if text is None or not hits else [(text, list(hits))]
        given = whole or [(hit.snippet, [hit]) for hit in hits]
        self.client.record_memory(
            self.flow_id,
            run_id=run_id,
            node_id=node_id,
            session_id=session_id,
            query=query,
            messages=[{"role": "system", "content": content} for content, _ in given],
            sources=[
                {"message_ids": [str(hit.message_id) for hit in found], "scores": [hit.score for hit in found]}
                for _, found in given
            ],
            end_user_id=end_user_id or self.end_user_id,
        )

    def context(
        self, session_id: str, *, query: str | None = None, token_budget: int = 2000, end_user_id: str | None = None
    ) -> models.ContextAnswer | None:
        """The session's history, summary and recalled memories within the budget. None if there is none, or if
        memorybase is unreachable."""
        found = self.read(
            lambda client: client.build_context(
                flow_id=self.flow_id,
                session_id=session_id,
                query=query,
                token_budget=token_budget,
                end_user_id=end_user_id or self.end_user_id,
            )
        )
        return found if found is not None and found.text else None

    def read(self, call: Callable[[Client], Answer]) -> Answer | None:
        """The result of a call of the client, made after earlier captures were sent. None if the object does not exist,
        or if memorybase is unreachable."""
        return self._read(lambda: call(self.client), None)

    def later(self, write: Callable[[Operations], object]) -> None:
        """Make a call that may be repeated, now or when memorybase is back."""
        self.client.later(self.flow_id, write)

    def messages(
        self, session_id: str, *, limit: int | None = None, end_user_id: str | None = None
    ) -> list[models.MessageView] | None:
        """The session's messages, or the latest of them, oldest first; none if the session is another end user's. None
        if memorybase is unreachable."""
        if limit is not None and limit <= 0:
            return []

        def read() -> list[models.MessageView]:
            found: list[models.MessageView] = []
            size = None if limit is None else min(limit, LARGEST_PAGE)
            newest_first = self.client.list_messages(
                flow_id=self.flow_id,
                session_id=session_id,
                end_user_id=end_user_id or self.end_user_id,
                order="desc",
                size=size,
            )
            for message in newest_first:
                found.append(message)
                if len(found) == limit:
                    break
            return found[::-1]

        nothing: list[models.MessageView] = []
        return self._read(read, nothing)

    def delete_session(self, session_id: str, *, end_user_id: str | None = None) -> None:
        """Delete a session with its messages, unless it is another end user's. Raises MemorybaseError if memorybase is
        unreachable."""
        self.flush()
        owner = end_user_id or self.end_user_id
        with suppress(errors.NotFound):  # nothing was captured
            if owner is not None:
                listed = self.client.list_messages(
                    flow_id=self.flow_id, session_id=session_id, end_user_id=owner, size=1
                )
                page = listed.page()
                if not page.items:
                    return
            self.client.delete_session(session_id=session_id, flow_id=self.flow_id)

    def flush(self) -> None:
        """Return when the server has what was captured, so that it can be deleted. Raises ConnectionFailed if some
        still waits after `timeout_seconds`."""
        outbox = self.client.outbox
        if outbox is None:
            return
        waiting = in_thread(lambda: outbox.settle(self._timeout_seconds))
        if waiting:
            raise self._not_sent(waiting)

    def _not_sent(self, waiting: int) -> errors.ConnectionFailed:
        text = f"{waiting} captures wait to be sent to {self.client.url}. Try again when memorybase is back"
        return errors.ConnectionFailed(text, retryable=True)

    def _settle(self) -> int:
        """Send recent captures, so that the next read includes them; returns how many still wait."""
        outbox = self.client.outbox
        if outbox is None:
            return 0
        seconds = min(SETTLE_SECONDS, self._timeout_seconds)
        return in_thread(lambda: outbox.settle(seconds, longest_seconds=LONGEST_SETTLE_SECONDS))

    def _is_away(self) -> bool:
        return time.monotonic() < self._away_until

    def _read(self, call: Callable[[], Answer], without: Answer | None) -> Answer | None:
        """The answer; `without` if the flow does not exist yet; None if the call fails. If captures still wait, it may
        lack them, and `failure` says so."""
        if self._is_away():
            return None
        unsent = self._settle()
        answer: Answer | None
        try:
            with fail_after(self._timeout_seconds):
                answer = call()
        except errors.NotFound:  # the first capture creates the flow
            answer = without
        except errors.MemorybaseError as error:
            self._note(error)
            return None
        except TimeoutError:
            text = f"No answer from {self.client.url} within {self._timeout_seconds:g} s"
            self._note(errors.ConnectionFailed(text, retryable=True))
            return None
        self.failure = self._not_sent(unsent) if unsent else None
        return answer

    def _note(self, error: errors.MemorybaseError) -> None:
        self.failure = error
        log.warning("memory is left out: %s", error.code)
        if not isinstance(error, errors.CallerError):
            self._away_until = time.monotonic() + AWAY_SECONDS
