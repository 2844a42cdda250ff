"""A model behind an endpoint: limits of a request, faults, outages, and a model that changes behind its name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from harness.doubles import FakeEmbedder
from harness.embedding_endpoint import KEY, EmbeddingEndpoint, Fault, as_base64, busy, failing, serving_embeddings
from harness.rows import each_row

from memorybase.core.embedding import Embedders, endpoint_client, is_prepared, usage
from memorybase.core.embedding.compatibility import check_searchable, check_writable, reusable_identity
from memorybase.core.embedding.endpoint import EndpointEmbedder, load
from memorybase.core.embedding.endpoint_client import FAILURES
from memorybase.core.embedding.fingerprint import TEXTS
from memorybase.core.embedding.prompts import NO_PROMPTS, Prompts
from memorybase.core.embedding.usage import Usage, UsageCounter
from memorybase.core.errors import DimensionMismatch, ModelUnavailable, TextRejected
from memorybase.core.settings import Settings

MODEL = "openai:some-model"
SECRET = "the secret of the user"
Load = Callable[..., EndpointEmbedder]


@pytest.fixture
def endpoint() -> Iterator[EmbeddingEndpoint]:
    with serving_embeddings(FakeEmbedder()) as found:
        yield found


@pytest.fixture
def slept() -> list[float]:
    return []


CLIENT = "memorybase.core.embedding.endpoint_client"


@pytest.fixture
def counter() -> UsageCounter:
    return UsageCounter()


@pytest.fixture
def loaded(endpoint: EmbeddingEndpoint, slept: list[float], counter: UsageCounter) -> Load:
    def make(
        *, patient: bool = True, prompts: Prompts = NO_PROMPTS, key: str = KEY, **changes: Any
    ) -> EndpointEmbedder:
        settings = Settings.model_validate({"embedding_url": endpoint.url, "embedding_key": key} | changes)
        return load(settings, MODEL, prompts=prompts, patient=patient, usage=counter, sleep=slept.append)

    return make


def test_a_request_has_the_model_and_the_prefixed_texts(endpoint: EmbeddingEndpoint, loaded: Load) -> None:
    embedder = loaded(embedding_dimension=16, prompts=Prompts("query: ", "passage: "))
    embedder.embed(["a text", ""])
    embedder.embed_query("a question")
    assert endpoint.requests[1:] == [
        {"model": "some-model", "input": texts, "encoding_format": "float", "dimensions": 16}
        for texts in (["passage: a text", "passage: "], ["query: a question"])
    ]
    assert embedder.dimension == 16
    assert embedder.identity.startswith("openai/some-model/16/simhash-")
    assert "/passage-" in embedder.identity


def test_an_empty_text_is_sent_as_a_space(endpoint: EmbeddingEndpoint, loaded: Load) -> None:
    assert loaded().embed([""]).shape == (1, 32)
    assert endpoint.requests[-1]["input"] == [" "]


def test_requests_keep_their_limits(endpoint: EmbeddingEndpoint, loaded: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorybase.core.embedding.endpoint.REQUEST_TOKENS", 40)
    embedder = loaded(embedding_request_texts=4)
    texts = ["a short one"] * 6 + ["word " * 30, "word " * 20] + ["word " * 100] + ["another"] * 3
    endpoint.requests.clear()
    vectors = embedder.embed(texts)
    sizes = [[len(embedder.token_offsets(text)) + 2 for text in request["input"]] for request in endpoint.requests]
    assert sum(map(len, sizes)) == len(texts)
    assert max(map(len, sizes)) == 4
    assert [size for size in sizes if sum(size) > 40] == [[102]], "one text always fits"
    np.testing.assert_allclose(vectors, np.vstack([embedder.embed([text]) for text in texts]), atol=1e-5)


def test_a_text_is_cut_to_what_the_model_reads(endpoint: EmbeddingEndpoint, loaded: Load) -> None:
    embedder = loaded(embedding_max_tokens=20, prompts=Prompts("", "passage: "))
    assert embedder.max_tokens == 20 - 2 - 2
    embedder.embed(["one two " * 40])
    assert endpoint.requests[-1]["input"] == ["passage: " + ("one two " * 8).strip()]
    with pytest.raises(ModelUnavailable, match=r"leaves no room for text: MEMORYBASE_EMBEDDING_MAX_TOKENS is 16"):
        loaded(embedding_max_tokens=16, prompts=Prompts("", "word " * 20))


@each_row("fault", [failing(500), failing(503), failing(408), busy(0)])
def test_a_failed_attempt_is_repeated(
    endpoint: EmbeddingEndpoint, loaded: Load, slept: list[float], counter: UsageCounter, fault: Fault
) -> None:
    embedder = loaded()
    counter.take()
    slept.clear()
    endpoint.faults = [fault, fault]
    assert embedder.embed(["a", "b"]).shape == (2, 32)
    assert 0.25 <= slept[0] <= 0.5 <= slept[1] <= 1.0
    assert counter.take() == {"some-model": Usage(requests=3, failed_requests=2, texts=2, tokens=2)}


def test_the_pause_of_the_endpoint_is_kept(endpoint: EmbeddingEndpoint, loaded: Load, slept: list[float]) -> None:
    embedder = loaded()
    endpoint.faults = [busy(7), lambda _: (503, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"})]
    embedder.embed(["a"])
    assert 7 < slept[0] <= 7.5
    assert slept[1] <= 1.0


def test_a_pause_that_is_too_long_is_an_outage(endpoint: EmbeddingEndpoint, loaded: Load, slept: list[float]) -> None:
    worker, searching = loaded(), loaded(patient=False)
    for embedder, seconds in ((worker, 60), (searching, 2)):
        endpoint.faults = [busy(seconds)]
        with pytest.raises(ModelUnavailable, match="answered with status 429"):
            embedder.embed(["a"])
        assert endpoint.faults == []
    assert slept == []


def test_a_search_makes_two_attempts_and_a_worker_four(endpoint: EmbeddingEndpoint, loaded: Load) -> None:
    for embedder, attempts in ((loaded(patient=False), 2), (loaded(), 4)):
        endpoint.requests.clear()
        endpoint.faults = [failing(500)] * attempts
        with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1 answered with status 500"):
            embedder.embed_query("a")
        assert len(endpoint.requests) == attempts


def test_a_failing_endpoint_is_left(endpoint: EmbeddingEndpoint, loaded: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{CLIENT}.ATTEMPTS", 1)
    embedder = loaded()
    endpoint.faults = [failing(500)] * FAILURES
    endpoint.requests.clear()
    for _ in range(FAILURES + 3):
        with pytest.raises(ModelUnavailable) as caught:
            embedder.embed(["a"])
    assert "has failed again and again; the next request is in" in caught.value.message
    assert len(endpoint.requests) == FAILURES


@pytest.mark.slow
@each_row("status", [401, 403, 404, 302])
def test_a_wrong_key_or_address_is_not_repeated(endpoint: EmbeddingEndpoint, loaded: Load, status: int) -> None:
    embedder = loaded()
    endpoint.requests.clear()
    endpoint.faults = [failing(status)]
    with pytest.raises(ModelUnavailable, match=f"answered with status {status}"):
        embedder.embed(["a"])
    assert len(endpoint.requests) == 1
    with pytest.raises(ModelUnavailable, match="Check MEMORYBASE_EMBEDDING_KEY"):
        loaded(key="another")


def test_a_text_that_the_endpoint_refuses_is_found(endpoint: EmbeddingEndpoint, loaded: Load) -> None:
    embedder = loaded()
    endpoint.refused = SECRET
    with pytest.raises(TextRejected) as caught:
        embedder.embed(["a", "b", "c", SECRET, "e"])
    assert caught.value.details == {"position": 3}
    assert SECRET not in f"{caught.value!r}{caught.value.__cause__!r}"


def test_an_endpoint_that_refuses_every_text_is_an_outage(endpoint: EmbeddingEndpoint, loaded: Load) -> None:
    embedder = loaded()
    endpoint.max_texts = 0
    with pytest.raises(ModelUnavailable, match="refuses every text"):
        embedder.embed(["a", "b"])


@pytest.mark.slow
@each_row(
    ("change", "problem"),
    [
        (lambda answer: answer | {"data": answer["data"][1:]}, "sent 1 vectors for 2 texts"),
        (lambda answer: answer | {"data": [answer["data"][0]] * 2}, "no vector for each text"),
        (lambda answer: answer | {"data": [row | {"index": row["index"] + 1} for row in answer["data"]]}, "no vector"),
        (lambda _: {"object": "list"}, "no vector for each text"),
        (lambda answer: [answer], "no vector for each text"),
        (lambda _: b"<html>the proxy is tired</html>", "no vector for each text"),
        (lambda _: b"[" * 10_000, "no vector for each text"),
        (lambda answer: answer | {"data": [row | {"embedding": "?"} for row in answer["data"]]}, "no vector"),
    ],
)
def test_a_malformed_answer_is_an_outage(
    endpoint: EmbeddingEndpoint,
    loaded: Load,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Any], Any],
    problem: str,
) -> None:
    embedder = loaded()
    monkeypatch.setattr(endpoint, "change", change)
    with pytest.raises(ModelUnavailable, match=problem):
        embedder.embed(["a", "b"])


def test_vectors_may_come_as_base64(endpoint: EmbeddingEndpoint, loaded: Load, counter: UsageCounter) -> None:
    embedder = loaded()
    expected = embedder.embed(["a", "b c"])
    counter.take()
    endpoint.change = lambda answer: {name: value for name, value in as_base64(answer).items() if name != "usage"}
    np.testing.assert_allclose(embedder.embed(["a", "b c"]), expected, atol=1e-6)
    assert counter.take()["some-model"].tokens == 3 + 4, "estimated, with two special tokens each"


def test_a_vector_without_direction_rejects_its_text(endpoint: EmbeddingEndpoint, loaded: Load) -> None:
    embedder = loaded()

    def spoil(answer: Any) -> Any:
        for row in answer["data"]:
            if row["index"] == 1:
                row["embedding"] = [float("nan")] * 32 if len(answer["data"]) == 3 else [0.0] * 32
        return answer

    endpoint.change = spoil
    for texts in (["a", "b", "c"], ["a", "b"]):
        with pytest.raises(TextRejected) as caught:
            embedder.embed(texts)
        assert caught.value.details == {"position": 1}


@each_row("value", [0.0, None])
def test_a_model_that_gives_no_direction_at_all_is_an_outage(
    endpoint: EmbeddingEndpoint, loaded: Load, value: float | None
) -> None:
    endpoint.change = lambda answer: answer | {"data": [row | {"embedding": [value] * 32} for row in answer["data"]]}
    with pytest.raises(ModelUnavailable, match="gives no usable vectors"):
        loaded()


def test_another_dimension_than_before_is_an_error(endpoint: EmbeddingEndpoint, loaded: Load) -> None:
    embedder = loaded()
    endpoint.dimension = 8
    with pytest.raises(DimensionMismatch, match="a vector of 8 dimensions, and 32 before"):
        embedder.embed(["a"])
    with pytest.raises(
        ModelUnavailable, match=r"vectors of 8 dimensions, not the 16 of MEMORYBASE_EMBEDDING_DIMENSION"
    ):
        loaded(embedding_dimension=16)


def test_a_slow_one_is_an_outage(endpoint: EmbeddingEndpoint, loaded: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{CLIENT}.ATTEMPTS", 1)
    monkeypatch.setattr(f"{CLIENT}.TIMEOUT_SECONDS", 0.1)
    embedder = loaded()
    endpoint.stall = threading.Event()
    with pytest.raises(ModelUnavailable, match=r"does not answer \(ReadTimeout\)"):
        embedder.embed(["a"])
    endpoint.stall.set()


def test_an_answer_that_never_ends_is_cut(loaded: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = loaded()
    monkeypatch.setattr(endpoint_client, "MAX_ANSWER_BYTES", 100)
    with pytest.raises(ModelUnavailable, match="too large"):
        embedder.embed(["a", "b"])


def test_an_answer_that_comes_too_slowly_is_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{CLIENT}.ATTEMPTS", 1)
    monkeypatch.setattr(f"{CLIENT}.TIMEOUT_SECONDS", 1e-9)
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json={"data": []}))
    with pytest.raises(ModelUnavailable, match="the answer takes too long"):
        load(Settings(), MODEL, prompts=NO_PROMPTS, patient=True, usage=UsageCounter(), transport=transport)


def test_an_endpoint_that_is_away_is_an_outage(loaded: Load) -> None:
    with pytest.raises(ModelUnavailable, match=r"does not answer \(ConnectError\)"):
        loaded(embedding_url="http://127.0.0.1:1/v1")


def test_neither_texts_nor_keys_are_in_errors(
    endpoint: EmbeddingEndpoint, loaded: Load, caplog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{CLIENT}.ATTEMPTS", 1)
    embedder = loaded()
    for status in (400, 401, 429, 500):
        endpoint.faults = [failing(status)] * 2
        with pytest.raises((ModelUnavailable, TextRejected)) as caught:
            embedder.embed_query(SECRET)
        error = caught.value
        shown = f"{error!r} {error.details} {error.__cause__!r} {error.__context__!r} {caplog.text}"
        assert SECRET not in shown
        assert KEY not in shown


class TestTheModelBehindAName:
    """It has no files to compare, so its vectors of fixed texts identify it."""

    def test_the_noise_of_a_server_changes_nothing(self, endpoint: EmbeddingEndpoint, loaded: Load) -> None:
        first = loaded()
        endpoint.noise = 0.005
        for _ in range(5):
            check_writable(loaded(), first.identity, remedy="regenerate")

    def test_vectors_of_a_backup_are_found_whatever_the_noise(self, endpoint: EmbeddingEndpoint, loaded: Load) -> None:
        built_with = loaded().identity
        endpoint.noise = 0.3
        noisy = loaded()
        assert noisy.identity != built_with
        assert reusable_identity(noisy, built_with) == built_with
        assert reusable_identity(noisy, "onnx-int8/other/53aa5117") == noisy.identity

    def test_another_model_of_the_name_is_noticed(self, endpoint: EmbeddingEndpoint, loaded: Load) -> None:
        first = loaded()
        endpoint.embedder = FakeEmbedder("another")
        other = loaded()
        for check in (check_searchable, check_writable):
            with pytest.raises(ModelUnavailable, match="regenerate"):
                check(other, first.identity, remedy="regenerate")

    def test_prompts_and_dimensions_are_part_of_the_identity(self, loaded: Load) -> None:
        first = loaded()
        prefixed = loaded(prompts=Prompts("query: ", "passage: "))
        check_searchable(prefixed, first.identity, remedy="regenerate")
        for other, check in ((prefixed, check_writable), (loaded(embedding_dimension=16), check_searchable)):
            with pytest.raises(ModelUnavailable, match="regenerate"):
                check(other, first.identity, remedy="regenerate")

    def test_a_process_asks_for_it_once(self, endpoint: EmbeddingEndpoint) -> None:
        settings = Settings(embedding_model=MODEL, embedding_url=endpoint.url, embedding_key=KEY)
        assert is_prepared(settings)
        for background in (False, True):
            embedders = Embedders(settings, background=background)
            assert embedders.dimension() == 32
            assert embedders.get() is embedders.get(MODEL)
        assert [request["input"] for request in endpoint.requests] == [list(TEXTS)] * 2
        usage.OF_THIS_PROCESS.take()
