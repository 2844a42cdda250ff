"""What a kill in the middle of a save leaves of Chroma's index, made of the files before and after a save."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from memorybase.core.errors import MemorybaseError
from memorybase.core.foreground import Foreground
from memorybase.core.settings import embedded
from memorybase.core.vectors import chroma_saves
from memorybase.core.vectors.chroma import SYNC_THRESHOLD
from memorybase.core.vectors.chroma_database import DATABASE
from memorybase.core.vectors.chroma_in_process import WRITE_BATCH, InProcessChroma
from memorybase.core.vectors.chroma_saves import BLOCKS, HEADER, LENGTHS, LINKS, MAP, kept_map
from memorybase.core.vectors.store import CollectionRef, VectorRecord
from memorybase.stack.children import plan
from memorybase.stack.state import DataDir

SAVED = range(SYNC_THRESHOLD)  # elements in the first save
LOGGED = range(2 * SYNC_THRESHOLD - WRITE_BATCH)  # written when the second save was about to begin
AGAIN, DELETED = range(10), range(500, 505)  # of the first save, between the two

FILES = (HEADER, BLOCKS, LENGTHS, LINKS, MAP)  # in the order in which Chroma writes them


def records(numbers: range) -> list[VectorRecord]:
    made = []
    for number in numbers:
        vector = np.random.default_rng(number).normal(size=32).astype(np.float32)
        made.append(VectorRecord(f"id-{number}", vector / np.linalg.norm(vector), f"text {number}", {"n": number}))
    return made


@dataclass(frozen=True)
class Saves:
    """A directory as it is when a second save begins, and the files of the index after it."""

    directory: Path
    ref: CollectionRef
    after: Path

    @property
    def index(self) -> Path:
        return next(self.directory.glob(f"*/{HEADER}")).parent

    def stop_in(self, name: str, share: float) -> None:
        """Write the files of the second save until this share of this file is written."""
        for each in FILES[: FILES.index(name) + 1]:
            after = (self.after / each).read_bytes()
            if each != name:
                written = after
            elif name == MAP:  # Chroma empties it first
                written = after[: int(len(after) * share)]
            else:  # it writes over what was there, and appends
                before = (self.index / each).read_bytes()
                end = int(len(after) * share)
                written = after[:end] + before[end:]
            (self.index / each).write_bytes(written)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Saves:
    directory = tmp_path_factory.mktemp("saves") / "data"
    with closing(InProcessChroma(directory, Foreground())) as store:
        ref = store.create_collection("the-collection", {})
        store.upsert(ref, records(SAVED))
        store.upsert(ref, records(AGAIN))
        store.delete(ref, [f"id-{number}" for number in DELETED])
        logged = len(LOGGED) - len(AGAIN) - len(DELETED)
        store.upsert(ref, records(range(len(SAVED), logged)))
        store.close()
        before = directory.with_name("before")
        shutil.copytree(directory, before)
        store.upsert(ref, records(range(logged, logged + 2 * WRITE_BATCH)))
        store.close()
        after = next(directory.glob(f"*/{HEADER}")).parent
        assert (after / LINKS).stat().st_size > (before / after.name / LINKS).stat().st_size  # it was saved
        return Saves(before, ref, after)


@pytest.fixture
def saves(made: Saves, tmp_path: Path) -> Saves:
    return Saves(shutil.copytree(made.directory, tmp_path / "data"), made.ref, made.after)


def assert_nothing_is_lost(saves: Saves) -> None:
    numbers = set(range(len(LOGGED) - len(AGAIN) - len(DELETED))) - set(DELETED)
    expected = [record for record in records(range(max(numbers) + 1)) if int(record.metadata["n"]) in numbers]
    with closing(InProcessChroma(saves.directory, Foreground())) as store:
        assert store.reached_ids(saves.ref, expected) == {f"id-{number}" for number in numbers}
        found = store.fetch(saves.ref, [record.id for record in expected])
        assert all(np.allclose(found[record.id].vector, record.vector, atol=1e-5) for record in expected)
        assert store.count(saves.ref) == len(numbers)


@pytest.mark.parametrize(
    ("name", "share"),
    [(HEADER, 1), (BLOCKS, 0.2), (BLOCKS, 0.7), (BLOCKS, 1), (LENGTHS, 0.8), (LINKS, 0.4), (LINKS, 0.8), (LINKS, 1)],
)
def test_a_save_that_did_not_end_is_taken_back(saves: Saves, name: str, share: float) -> None:
    saves.stop_in(name, share)
    said: list[str] = []

    chroma_saves.repair(saves.directory, said.append)

    assert [each.split(" (")[0] for each in said] == ["took back what was half saved of one of Chroma's indexes"]
    chroma_saves.repair(saves.directory, said.append)
    assert len(said) == 1
    assert_nothing_is_lost(saves)


@pytest.mark.parametrize("share", [0, 0.5])
def test_a_map_that_is_cut_is_the_kept_one_again(saves: Saves, share: float) -> None:
    chroma_saves.keep_maps(saves.directory)
    saves.stop_in(MAP, share)
    assert kept_map(saves.index).exists()

    assert_nothing_is_lost(saves)  # the store repairs before it opens the files


@pytest.mark.parametrize("kept", [None, "empty"])
def test_without_a_map_the_collection_fails_instead_of_finding_less(saves: Saves, kept: str | None) -> None:
    kept_map(saves.index).unlink(missing_ok=True)
    if kept:
        kept_map(saves.index).touch()
    saves.stop_in(MAP, 0.5)
    said: list[str] = []

    chroma_saves.repair(saves.directory, said.append)

    assert said == [
        f"note: an index of Chroma was damaged ({saves.index.name}: its map is cut); regenerate its memory base"
    ]
    with closing(InProcessChroma(saves.directory, Foreground())) as store, pytest.raises(MemorybaseError):
        store.reached_ids(saves.ref, records(range(3)))


def test_an_older_map_is_not_taken_for_the_last_one(saves: Saves) -> None:
    chroma_saves.keep_maps(saves.directory)
    old = kept_map(saves.index).read_bytes()
    with closing(InProcessChroma(saves.directory, Foreground())) as store:
        store.upsert(saves.ref, records(range(5_000, 5_000 + 2 * WRITE_BATCH)))  # it saves
    kept_map(saves.index).write_bytes(old)
    (saves.index / MAP).write_bytes(b"")
    said: list[str] = []

    chroma_saves.repair(saves.directory, said.append)

    assert "its map is cut, and the kept one is older" in said[0]


def test_a_first_save_that_did_not_end_is_made_again_from_the_log(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    with closing(InProcessChroma(directory, Foreground())) as store:
        ref = store.create_collection("the-collection", {})
        store.upsert(ref, records(range(100)))
    index = next(directory.glob(f"*/{HEADER}")).parent
    (index / MAP).write_bytes(b"\x80")

    with closing(InProcessChroma(directory, Foreground())) as store:
        assert store.reached_ids(ref, records(range(100))) == {f"id-{number}" for number in range(100)}


def test_complete_indexes_are_left_alone_with_other_times_too(saves: Saves) -> None:
    before = {path: path.read_bytes() for path in saves.index.iterdir()}
    for number, name in enumerate(reversed(FILES)):  # as a copy makes them
        os.utime(saves.index / name, ns=(number * 10**9, number * 10**9))

    chroma_saves.repair(saves.directory, pytest.fail)

    assert {path: path.read_bytes() for path in before} == before


def test_the_stack_repairs_before_each_start_of_its_server(saves: Saves, tmp_path: Path) -> None:
    data = DataDir(tmp_path / "stack")
    data.make()
    saves.stop_in(BLOCKS, 1)
    shutil.copytree(saves.directory, data.path / "chroma")
    planned = plan(embedded(data.path), data, host="127.0.0.1", port=0, pid=os.getpid())
    chroma = next(child for child in planned.children if child.name == "chroma")
    said: list[str] = []

    assert chroma.before_start is not None
    chroma.before_start(said.append)

    assert len(said) == 1
    assert kept_map(data.path / "chroma" / saves.index.name).exists()
    assert (data.path / "chroma" / DATABASE).exists()
