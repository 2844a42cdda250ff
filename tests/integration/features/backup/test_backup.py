"""A backup of a data directory, and its restore: complete, verified, all or nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from harness.world import World, build_world

from memorybase.core import errors
from memorybase.core.database import migrate, sqlite_copy
from memorybase.features.backup import commands_take as backups
from memorybase.features.backup.commands_directory import restore_backup, verify
from memorybase.features.backup.commands_take import take_backup
from memorybase.features.backup.manifest import NAME, Manifest
from memorybase.stack.restore import complete_restore
from memorybase.stack.state import DataDir, settings_in_use

SAID = ("the boat is called Albatross", "it lies at berth twelve")


def show(*_: object) -> None:
    """Nobody watches."""


@pytest.fixture
def data(tmp_path: Path) -> DataDir:
    directory = DataDir(tmp_path / "data")
    directory.make()
    return directory


@pytest.fixture
def world(data: DataDir) -> Iterator[World]:
    """What a stack would keep in its data directory, with two messages."""
    built = build_world(f"sqlite:///{data.path / 'memorybase.db'}", data.path)
    built.say("s", *SAID)
    data.key_file.write_text("mb_secret\n")
    folder = data.path / "node_memory" / "node.d"
    folder.mkdir(parents=True)
    for number in range(3):
        (folder / f"{number}.append").write_text(str(number))
    (folder / "3.append.part").write_text("half")
    yield built
    built.close()


@pytest.fixture
def backup(world: World, data: DataDir, tmp_path: Path) -> Path:
    assert world.messages()
    take_backup(data, tmp_path / "backup", show)
    return tmp_path / "backup"


def restore(data: DataDir, source: Path, **options: Any) -> list[str]:
    """What it says."""
    said: list[str] = []
    with data.locked():
        restore_backup(data, source, show, said.append, **({"force": False} | options))
    return said


def texts(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as opened:
        return [json.loads(text) for (text,) in opened.execute("SELECT content FROM messages ORDER BY seq")]


def contents(folder: Path) -> dict[str, bytes]:
    """Every data file, by its path; not what a stack writes while it runs."""
    names = (path for path in folder.rglob("*") if path.is_file())
    kept = {path.relative_to(folder).as_posix(): path.read_bytes() for path in names}
    return {name: content for name, content in kept.items() if not name.startswith(("run/", "logs/", "restore."))}


def in_child(act: Callable[[], object]) -> int:
    """Run it in a process of its own; the signal that killed it, or 0."""
    pid = os.fork()
    if pid == 0:
        try:
            act()
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WTERMSIG(status)


def killed_at(monkeypatch: pytest.MonkeyPatch, steps: list[tuple[Any, str]], number: int) -> None:
    """Kill this process at the given call of these functions, counted together: before it if even, else after it."""
    calls = [0]

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            calls[0] += 1
            is_due = calls[0] == number // 2 + 1
            if is_due and number % 2 == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            result = original(*args, **kwargs)
            if is_due:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    for owner, name in steps:
        monkeypatch.setattr(owner, name, counted(getattr(owner, name)))


class TestBackup:
    def test_has_everything_but_what_the_manifest_names(self, backup: Path) -> None:
        manifest = Manifest.read(backup)
        assert texts(backup / "memorybase.db") == list(SAID)
        assert manifest.counts["messages"] == 2
        assert manifest.schema == migrate.head()
        assert set(manifest.left_out) == {"redis", "chroma", "logs", "models"}
        listed = {name for name in contents(backup) if name != NAME}
        assert set(manifest.files) == listed
        assert {"api_key", "node_memory/node.d/2.append"} <= listed
        assert "node_memory/node.d/3.append.part" not in listed
        assert stat.S_IMODE((backup / "api_key").stat().st_mode) == 0o600

    def test_is_the_state_of_one_moment_while_others_write(
        self, world: World, data: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without the read transaction each commit starts the copy again, and it never ends."""
        monkeypatch.setattr(sqlite_copy, "PAGES", 8)
        copied: list[int] = []

        def interfere(done: int, _: int) -> None:
            copied.append(done)
            if len(copied) < 20:
                world.say("s", f"message {len(copied)}")

        sqlite_copy.copy_database(data.path / "memorybase.db", tmp_path / "copy.db", interfere)
        sqlite_copy.seal(tmp_path / "copy.db")
        assert len(copied) > 20
        assert copied == sorted(set(copied)), "it never starts again"
        assert texts(tmp_path / "copy.db") == list(SAID)
        assert {path.name for path in tmp_path.glob("copy.db*")} == {"copy.db"}

    @pytest.mark.usefixtures("world")
    def test_a_folder_that_is_compacted_meanwhile_is_copied_again(
        self, data: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = data.path / "node_memory" / "node.d"
        copy = shutil.copyfile

        def compact(source: Path, target: Path) -> None:
            if source.name == "1.append" and source.exists():
                (folder / "2.snapshot").write_text("012")
                for number in range(3):
                    (folder / f"{number}.append").unlink()
            copy(source, target)

        monkeypatch.setattr(shutil, "copyfile", compact)
        take_backup(data, tmp_path / "backup", show)
        names = {path.name for path in (tmp_path / "backup" / "node_memory" / "node.d").iterdir()}
        assert names == {"2.snapshot"}

    @pytest.mark.usefixtures("world")
    def test_a_folder_with_files_is_refused_and_kept(self, data: DataDir, tmp_path: Path) -> None:
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "letter").write_text("dear")
        with pytest.raises(errors.InvalidRequest, match="must not exist or be an empty folder"):
            take_backup(data, tmp_path / "mine", show)
        assert contents(tmp_path / "mine") == {"letter": b"dear"}

    @pytest.mark.usefixtures("world")
    def test_a_second_backup_to_the_same_place_is_refused(self, data: DataDir, tmp_path: Path) -> None:
        target = tmp_path / "backup"

        def again(*_: object) -> None:
            with pytest.raises(errors.Conflict, match="Another backup"):
                take_backup(data, target, show)

        take_backup(data, target, again)
        verify(target)

    def test_a_damaged_database_is_an_error(self, world: World, data: DataDir, tmp_path: Path) -> None:
        world.services.database.dispose()
        database = data.path / "memorybase.db"
        raw = bytearray(database.read_bytes())
        raw[8 * 4096 : 12 * 4096] = os.urandom(4 * 4096)
        database.write_bytes(raw)
        with pytest.raises(errors.DatabaseUnavailable):
            take_backup(data, tmp_path / "backup", show)
        assert not (tmp_path / "backup").exists()

    @pytest.mark.usefixtures("world")
    def test_a_full_disk_is_an_error_and_leaves_nothing(
        self, data: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(backups, "SPARE_BYTES", 1 << 60)
        with pytest.raises(errors.EnvironmentFailure, match="bytes are needed"):
            take_backup(data, tmp_path / "backup", show)
        assert {path.name for path in tmp_path.iterdir()} == {"data"}

    def test_postgresql_is_refused_with_the_page_to_read(
        self, data: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MEMORYBASE_DATABASE_URL", "postgresql://db/memorybase")
        with pytest.raises(errors.InvalidRequest, match=r"back-up-and-restore\.md"):
            take_backup(data, tmp_path / "backup", show)

    @pytest.mark.slow
    @pytest.mark.usefixtures("world")
    def test_killed_at_any_step_there_is_no_backup_and_the_next_one_succeeds(
        self, data: DataDir, tmp_path: Path
    ) -> None:
        target = tmp_path / "backup"
        steps = [(backups, "_copy_database"), (backups, "_copy_folder"), (Manifest, "write"), (backups, "_sync_tree")]
        number = 0
        while True:

            def act(number: int = number) -> None:
                killed_at(pytest.MonkeyPatch(), steps, number)
                take_backup(data, target, show)

            if in_child(act) == 0:
                break
            assert not target.exists(), f"step {number}"
            number += 1
        assert number >= 8
        verify(target)
        assert {path.name for path in tmp_path.iterdir()} == {"data", "backup"}


class TestRestore:
    def test_into_a_new_directory(self, backup: Path, tmp_path: Path) -> None:
        new = DataDir(tmp_path / "new")
        new.make()
        restore(new, backup)
        expected = contents(backup)
        del expected[NAME]
        expected["restored/vectors/index.json"] = expected.pop("vectors/index.json")
        found = contents(new.path)
        assert json.loads(found.pop("restored/about.json"))["backup_created_at"] == Manifest.read(backup).created_at
        assert found == expected
        assert not [path for path in new.path.rglob("*") if path.stat().st_mode & 0o077]

    def test_every_damaged_or_missing_file_is_named_and_nothing_changes(self, backup: Path, tmp_path: Path) -> None:
        new = DataDir(tmp_path / "new")
        new.make()
        for name, content in contents(backup).items():
            damaged = backup / name
            for wrong in (bytes([content[0] ^ 1]) + content[1:], content[:-3], None):
                damaged.unlink() if wrong is None else damaged.write_bytes(wrong)
                with pytest.raises(errors.InvalidRequest, match=re.escape(name)):
                    verify(backup)
                with pytest.raises(errors.InvalidRequest, match=re.escape(name)):
                    restore(new, backup)
                assert contents(new.path) == {}
                assert not list(new.path.glob("restore.*"))
            damaged.write_bytes(content)
        verify(backup)

    def test_a_manifest_that_leaves_the_folder_is_refused(self, backup: Path) -> None:
        manifest = Manifest.read(backup)
        manifest.files["../outside"] = manifest.files.pop("api_key")
        manifest.write(backup)
        with pytest.raises(errors.InvalidRequest, match="outside the backup"):
            verify(backup)

    @pytest.mark.parametrize(("name", "value"), [("schema", "9999"), ("schema", "0031"), ("format", 2)])
    def test_a_backup_of_another_version_is_refused(self, backup: Path, name: str, value: object) -> None:
        content = json.loads((backup / NAME).read_text())
        del content["sha256"]
        Manifest(**content | {name: value, "files": Manifest.read(backup).files}).write(backup)
        with pytest.raises(errors.InvalidRequest, match=r"(newer|older) than this version|must have the format 1"):
            verify(backup)

    def test_data_is_replaced_only_by_force_and_set_aside(self, backup: Path, world: World, data: DataDir) -> None:
        world.say("s", "lost")
        world.services.database.dispose()
        (data.path / "chroma").mkdir()
        (data.path / "chroma" / "index").write_text("vectors")
        with pytest.raises(errors.Conflict, match=r"holds api_key, chroma, memorybase\.db, .*--force"):
            restore(data, backup)
        assert texts(data.path / "memorybase.db") == [*SAID, "lost"]

        (said,) = restore(data, backup, force=True)
        (aside,) = data.path.glob("replaced-*")
        assert str(aside) in said
        assert texts(data.path / "memorybase.db") == list(SAID)
        assert texts(aside / "memorybase.db") == [*SAID, "lost"]
        assert (aside / "chroma" / "index").read_text() == "vectors"
        assert not (data.path / "chroma").exists()

    def test_chroma_can_be_kept(self, backup: Path, world: World, data: DataDir) -> None:
        world.services.database.dispose()
        (data.path / "chroma").mkdir()
        restore(data, backup, force=True, keep_chroma=True)
        assert (data.path / "chroma").exists()

    def test_a_running_stack_is_refused(self, backup: Path, data: DataDir) -> None:
        with data.locked(), pytest.raises(errors.Conflict, match="A command or a stack that starts has"):
            restore(DataDir(data.path), backup, force=True)

    def test_another_database_in_the_settings_is_refused(
        self, backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MEMORYBASE_DATABASE_URL", "postgresql://db/memorybase")
        new = DataDir(tmp_path / "new")
        new.make()
        with pytest.raises(errors.InvalidRequest, match="MEMORYBASE_DATABASE_URL"):
            restore(new, backup)

    @pytest.mark.slow
    def test_killed_at_any_step_it_has_happened_or_not(self, backup: Path, world: World, data: DataDir) -> None:
        world.say("s", "lost")
        world.services.database.dispose()
        before, expected = contents(data.path), contents(backup)
        del expected["vectors/index.json"]
        template = data.path.parent / "template"
        data.path.rename(template)
        steps = [(os, "rename"), (os, "unlink"), (os, "rmdir"), (Path, "touch"), (shutil, "copyfile")]
        outcomes: list[str] = []
        number = 0
        while True:
            shutil.rmtree(data.path, ignore_errors=True)
            shutil.copytree(template, data.path)

            def act(number: int = number) -> None:
                killed_at(pytest.MonkeyPatch(), steps, number)
                restore(data, backup, force=True)

            if in_child(act) == 0:
                break
            if (data.path / "restore.ready").exists():
                with pytest.raises(errors.NotReady, match="was interrupted"):
                    settings_in_use(data.path)
            with data.locked():
                complete_restore(data, show)
            found = contents(data.path)
            aside = {name for name in found if name.startswith("replaced-")}
            if found == before:
                outcomes.append("not")
            else:
                outcomes.append("done")
                assert {name: found[name] for name in expected if name != NAME} == {
                    name: content for name, content in expected.items() if name != NAME
                }, f"step {number}"
                assert "restored/about.json" in found
                kept = {name.partition("/")[2]: found[name] for name in aside}
                assert kept == before, f"step {number}: what was there is kept whole"
            assert not list(data.path.glob("restore.*"))
            number += 1
        assert set(outcomes) == {"not", "done"}
        assert outcomes == sorted(outcomes, reverse=True), "there is one moment from which it happens"

    def test_a_log_that_appeared_after_a_kill_is_not_applied_to_the_restored_database(
        self, backup: Path, world: World, data: DataDir
    ) -> None:
        world.services.database.dispose()

        def act() -> None:
            killed_at(pytest.MonkeyPatch(), [(Path, "touch")], 1)
            restore(data, backup, force=True)

        assert in_child(act) == signal.SIGKILL
        for name in ("memorybase.db", "memorybase.db-wal"):
            (data.path / name).write_bytes(b"of a program that did not look")
        with data.locked():
            complete_restore(data, show)
        assert not (data.path / "memorybase.db-wal").exists()
        assert texts(data.path / "memorybase.db") == list(SAID)

    def test_repeating_the_interrupted_restore_finishes_it(self, backup: Path, world: World, data: DataDir) -> None:
        world.services.database.dispose()

        def act() -> None:
            killed_at(pytest.MonkeyPatch(), [(Path, "touch")], 1)
            restore(data, backup, force=True)

        assert in_child(act) == signal.SIGKILL
        restore(data, backup)
        assert texts(data.path / "memorybase.db") == list(SAID)
