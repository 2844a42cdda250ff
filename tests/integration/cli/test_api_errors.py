"""Errors of the API as a command shows them: one line on standard error, and exit status 1."""

from __future__ import annotations

import json

import pytest
from harness.clients import http_answer, scripted
from harness.stack import run_memorybase


def refused(status: str, code: str, message: str, *, retryable: bool = False, **fields: object) -> bytes:
    error = {"code": code, "message": message, "retryable": retryable, **fields}
    return http_answer(status, json.dumps({"error": error}).encode(), Retry_After="0")


def test_a_refusal_after_retries_is_one_line_with_field_value_and_bound() -> None:
    busy = refused("503 Service Unavailable", "overloaded", "Busy.", retryable=True)
    invalid = refused("422 Unprocessable Entity", "invalid_request", "Too long.", field="name", value=9, limit=3)
    with scripted([busy, busy, invalid]) as server:
        done = run_memorybase("search", "berth", "--memory", "notes", "--url", server.url, "--key", "k")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: Too long. (field: name, value: 9, limit: 3)\n"
    assert len(server.requests) == 3


@pytest.mark.slow
def test_a_refused_key_says_how_to_pass_one() -> None:
    with scripted([refused("401 Unauthorized", "unauthorized", "A valid API key is required.")]) as server:
        done = run_memorybase("sign-in", "--url", server.url, "--key", "secret")

    assert done.returncode == 1
    assert done.stderr == ("error: A valid API key is required. Pass the key with --key or MEMORYBASE_API_KEY.\n")


@pytest.mark.slow
def test_an_answer_of_something_else_asks_whether_the_url_is_right() -> None:
    with scripted([http_answer("404 Not Found", b"<html>")]) as server:
        done = run_memorybase("search", "berth", "--memory", "notes", "--url", server.url, "--key", "k")

    assert done.returncode == 1
    assert done.stderr.startswith("error: The server answered 404")
    assert "Is the URL right?" in done.stderr
