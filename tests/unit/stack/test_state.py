"""The data directory of the embedded stack, and what its children are started with."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

import memorybase
from memorybase.core import errors, file_lock
from memorybase.core.settings import Settings
from memorybase.stack.children import _absolute_sqlite, import_path
from memorybase.stack.redis_server import RedisBinary, configure
from memorybase.stack.state import LOG_BYTES, DataDir, RunningStack, settings_in_use


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"MEMORYBASE_{name.upper()}", raising=False)


class TestDataDir:
    def test_the_key_is_created_once_and_readable_by_its_owner_only(self, tmp_path: Path) -> None:
        data = DataDir(tmp_path)
        key = data.api_key(Settings())
        assert key == data.api_key(Settings()) == data.known_api_key(Settings())
        assert len(key) > 32
        assert data.key_file.stat().st_mode & 0o777 == 0o600

    def test_the_setting_overrides_the_file(self, tmp_path: Path) -> None:
        data = DataDir(tmp_path)
        assert data.api_key(Settings(api_key="chosen")) == "chosen"
        assert not data.key_file.exists()
        assert data.known_api_key(Settings()) is None

    def test_the_last_line_of_a_log_is_the_last_that_says_what_failed(self, tmp_path: Path) -> None:
        data = DataDir(tmp_path)
        data.make()
        said = ["INFO:     Application startup complete.", "ERROR:    address already in use", "INFO:     Shutdown."]
        for lines, last in ((said, said[1]), (said[::2], said[2]), ([], "")):
            data.log_file("api").parent.mkdir(exist_ok=True)
            data.log_file("api").write_text("\n".join([*lines, "", ""]))
            assert data.last_log_line("api") == last

    def test_a_second_stack_is_refused_with_the_address_of_the_first(self, tmp_path: Path) -> None:
        data = DataDir(tmp_path)
        data.make()
        data.write_stack(RunningStack(1, "http://127.0.0.1:8000", "redis://", "http://chroma"))
        with data.locked():
            assert data.is_locked()
            with pytest.raises(errors.Conflict, match=r"http://127\.0\.0\.1:8000"), DataDir(tmp_path).locked():
                pytest.fail("both hold the lock")
        assert not data.is_locked()

    def test_a_look_at_the_lock_refuses_no_stack(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        data = DataDir(tmp_path)
        data.make()
        looking = os.open(data.lock_file, os.O_RDWR | os.O_CREAT)
        assert not file_lock.is_taken(looking)
        monkeypatch.setattr(time, "sleep", lambda _: os.close(looking))
        with data.locked():
            assert data.is_locked()

    def test_files_of_a_killed_stack_do_not_count_as_a_running_stack(self, tmp_path: Path) -> None:
        data = DataDir(tmp_path)
        data.make()
        stack = RunningStack(1, "http://127.0.0.1:8000", "redis://here", "http://chroma")
        data.write_stack(stack)
        assert data.running() is None
        assert settings_in_use(tmp_path).redis_url == Settings().redis_url
        with data.locked():
            assert data.running() == stack
            assert settings_in_use(tmp_path).redis_url == "redis://here"

    def test_the_environment_overrides_the_running_stack(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MEMORYBASE_REDIS_URL", "redis://stated")
        data = DataDir(tmp_path)
        data.make()
        data.write_stack(RunningStack(1, "http://127.0.0.1:8000", "redis://here", "http://chroma"))
        with data.locked():
            assert settings_in_use(tmp_path).redis_url == "redis://stated"
            assert settings_in_use(tmp_path).chroma_url == "http://chroma"

    def test_a_long_log_is_rotated_once(self, tmp_path: Path) -> None:
        data = DataDir(tmp_path)
        data.make()
        log = data.log_file("api")
        with log.open("a") as child:
            child.write("x" * (LOG_BYTES + 1))
            child.flush()
            data.trim_log("api")
            child.write("after\n")
        assert log.read_text() == "after\n"
        assert log.with_suffix(".log.1").stat().st_size == LOG_BYTES + 1

    def test_a_long_log_stays_while_the_disk_is_full(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        data = DataDir(tmp_path)
        data.make()
        log = data.log_file("api")
        log.write_text("x" * (LOG_BYTES + 1))

        def fill_up(_source: Path, target: Path) -> None:
            target.write_text("x")
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr("shutil.copyfile", fill_up)
            data.trim_log("api")
        assert [path.name for path in data.logs.iterdir()] == ["api.log"]
        assert log.stat().st_size == LOG_BYTES + 1
        data.trim_log("api")
        assert log.stat().st_size == 0

    def test_a_directory_that_cannot_be_created_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(errors.EnvironmentFailure, match="--data-dir"):
            DataDir(tmp_path / "file" / "below").make()


class TestChildren:
    def test_redis_gets_its_directory_with_quotes_escaped(self, tmp_path: Path) -> None:
        data = DataDir(tmp_path / 'a "quoted" name')
        data.make()
        path = configure(RedisBinary(Path("redis-server"), (7, 2)), data, port=1234, password="secret")
        text = path.read_text()
        assert 'a \\"quoted\\" name/redis-7"' in text
        assert "appendonly yes" in text
        assert "requirepass secret" in text
        assert path.stat().st_mode & 0o777 == 0o600
        assert (data.path / "redis-7").is_dir()

    def test_a_relative_database_is_in_the_callers_directory(self) -> None:
        assert _absolute_sqlite("sqlite:///here.db") == f"sqlite:///{Path.cwd() / 'here.db'}"
        assert _absolute_sqlite("sqlite:////tmp/here.db") == "sqlite:////tmp/here.db"
        assert _absolute_sqlite("postgresql://host/here") == "postgresql://host/here"

    def test_children_import_this_memorybase(self) -> None:
        root = str(Path(memorybase.__file__).parents[1])
        assert import_path({})["PYTHONPATH"] == root
        assert import_path({"PYTHONPATH": "/theirs"})["PYTHONPATH"] == f"{root}:/theirs"


def test_threads_of_a_child_share_freed_memory_unless_the_environment_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    assert Settings(data_dir=tmp_path).child_environment()["MALLOC_ARENA_MAX"] == "2"
    monkeypatch.setenv("MALLOC_ARENA_MAX", "8")
    assert Settings(data_dir=tmp_path).child_environment()["MALLOC_ARENA_MAX"] == "8"
