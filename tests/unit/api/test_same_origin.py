"""Which requests another site's page has caused."""

from __future__ import annotations

from harness.rows import each_row
from starlette.datastructures import Headers

from api.web.same_origin import is_foreign

HOST = {"Host": "memory.example.com"}


@each_row(
    ("headers", "foreign"),
    [
        ({}, False),
        ({"Sec-Fetch-Site": "same-origin"}, False),
        ({"Sec-Fetch-Site": "none"}, False),
        ({"Sec-Fetch-Site": "same-site"}, True),
        ({"Sec-Fetch-Site": "cross-site"}, True),
        ({"Origin": "https://memory.example.com"}, False),
        ({"Origin": "http://MEMORY.example.com"}, False),
        ({"Origin": "https://memory.example.com:8443"}, True),
        ({"Origin": "https://elsewhere.example"}, True),
        ({"Origin": "https://memory.example.com.elsewhere.example"}, True),
        ({"Origin": "null"}, True),
        # The browser has compared more than we can.
        ({"Origin": "https://public.example", "Sec-Fetch-Site": "same-origin"}, False),
    ],
)
def test_a_request_of_another_site_is_foreign(headers: dict[str, str], foreign: bool) -> None:
    assert is_foreign(Headers(HOST | headers)) is foreign
