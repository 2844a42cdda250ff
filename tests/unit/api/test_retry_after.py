"""The header Retry-After passes on what another service asks for."""

from __future__ import annotations

from harness.rows import each_row

from api.failures import RETRY_AFTER_OUTAGE, headers_of
from memorybase.core.errors import RateLimited, SummarizerUnavailable


@each_row(
    ("error", "seconds"),
    [
        (SummarizerUnavailable(), RETRY_AFTER_OUTAGE),
        (SummarizerUnavailable(retry_after_seconds=19.2), 20),
        (RateLimited(retry_after_seconds=0.1), 1),
    ],
)
def test_the_time_that_an_error_names_is_sent(error: SummarizerUnavailable | RateLimited, seconds: int) -> None:
    assert headers_of(error)["Retry-After"] == str(seconds)
