"""A vector store that other processes call: who may, and what. tests/contract/test_vector_store.py has its promises."""

from __future__ import annotations

import json
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from pathlib import Path

import pytest
from harness.doubles import InMemoryVectors

from memorybase.core.errors import VectorStoreUnavailable
from memorybase.core.vectors.shared import ADDRESS_FILE, StoreElsewhere, share
from memorybase.core.vectors.store import VectorStore


def test_only_who_reads_the_key_is_answered_and_only_methods_of_a_store_are_called(tmp_path: Path) -> None:
    end = share(InMemoryVectors(), tmp_path)
    file = tmp_path / ADDRESS_FILE
    assert file.stat().st_mode & 0o777 == 0o600
    found = json.loads(file.read_text())
    with pytest.raises(AuthenticationError):
        Client(found["address"], authkey=b"another")
    with Client(found["address"], authkey=bytes.fromhex(found["key"])) as connection:
        connection.send(("__init__", (), {}))
        with pytest.raises(EOFError):
            connection.recv()
    elsewhere: VectorStore = StoreElsewhere(tmp_path)
    assert elsewhere.list_collections() == []
    end()


@pytest.mark.parametrize("content", [None, "{", '{"address": "nowhere", "key": "00"}'])
def test_a_process_that_has_ended_is_an_unavailable_store(tmp_path: Path, content: str | None) -> None:
    share(InMemoryVectors(), tmp_path)()
    if content is not None:
        (tmp_path / ADDRESS_FILE).write_text(content)
    elsewhere: VectorStore = StoreElsewhere(tmp_path)
    with pytest.raises(VectorStoreUnavailable, match="memorybase up --one-process"):
        elsewhere.ping()


def test_a_long_path_and_the_socket_of_a_killed_process_are_no_obstacle(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / ("long" * 40)):
        folder.mkdir(exist_ok=True)
        (folder / "vectors.sock").touch()
        end = share(InMemoryVectors(), folder)
        elsewhere: VectorStore = StoreElsewhere(folder)
        elsewhere.ping()
        end()
