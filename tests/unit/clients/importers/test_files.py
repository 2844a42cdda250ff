from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from harness.rows import each_row
from hypothesis import given
from hypothesis import strategies as st
from memorybase_client import errors
from memorybase_client.importers import files
from memorybase_client.importers.files import read_records, records_of_file
from memorybase_client.importers.records import Report

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


def read(text: str | bytes, report: Report | None = None) -> list[tuple[str, Any]]:
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return [(each.where, each.value) for each in records_of_file(io.BytesIO(raw), "f.json", report or Report())]


class TestFormats:
    @given(
        values=st.lists(JSON, max_size=6),
        ascii_only=st.booleans(),
        indent=st.sampled_from([None, 2]),
        piece=st.integers(1, 7),
    )
    def test_a_list_gives_its_elements_wherever_its_bytes_are_split(
        self, values: list[Any], ascii_only: bool, indent: int | None, piece: int
    ) -> None:
        text = json.dumps(values, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "PIECE_BYTES", piece)
            assert read(text) == [(f"f.json[{index}]", value) for index, value in enumerate(values)]

    def test_lines_and_one_object(self) -> None:
        assert read('{"a": 1}\n\n{"a": 2}\n') == [("f.json line 1", {"a": 1}), ("f.json line 3", {"a": 2})]
        assert read('\ufeff\n{\n"a": 1}') == [("f.json", {"a": 1})]
        assert read('{"a": 1}') == read('{"a": 1}\n') == [("f.json", {"a": 1})]
        assert read("") == read(" \n") == read("[]") == read("[ ]") == []


class TestBrokenFiles:
    @each_row("broken", [b"{1}", b"nul", b'{"a": "\xff"}', b"[" * 100_000 + b"]" * 100_000])
    def test_a_broken_record_does_not_hide_the_others(self, broken: bytes) -> None:
        report = Report()
        assert read(b"[1," + broken + b",3]", report) == [("f.json[0]", 1), ("f.json[2]", 3)]
        assert [problem.where for (problem,) in report.examples.values()] == ["f.json[1]"]
        report = Report()
        assert read(b'{"a": 1}\n' + broken + b'\n{"a": 3}', report) == [
            ("f.json line 1", {"a": 1}),
            ("f.json line 3", {"a": 3}),
        ]
        assert report.total("lost") == 1

    def test_an_incomplete_list_gives_what_is_complete(self) -> None:
        report = Report()
        assert read('[{"a": 1}, {"a": [2', report) == [("f.json[0]", {"a": 1})]
        assert report.broken == "f.json ends within the element [1]: it is incomplete or not valid JSON"

    @each_row("text", ['[1, "12345678901234567890", 3]', '1\n"12345678901234567890"\n3\n'])
    def test_a_large_record_is_reported_with_the_bound(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(files, "MAX_RECORD_BYTES", 10)
        text = text.replace("1\n", '{"a":1}\n') if text[0] == "1" else text
        report = Report()
        assert [value for _, value in read(text, report)][-1] == 3
        ((problem,),) = report.examples.values()
        assert (problem.limit, problem.reason) == (10, "a record must have at most 10 bytes")

    def test_a_large_record_is_not_held_in_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(files, "MAX_RECORD_BYTES", 1_000_000)
        file, report = io.BytesIO(b'["' + b"x" * 20_000_000 + b'", 2]'), Report()
        tracemalloc.start()
        try:
            found = list(records_of_file(file, "f.json", report))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert [record.value for record in found] == [2]
        assert peak < 5_000_000

    def test_one_large_object_is_reported(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(files, "MAX_RECORD_BYTES", 10)
        report = Report()
        assert read('{\n"a": "1234567890"\n}', report) == []
        assert report.total("lost") == 1

    def test_other_encodings_are_refused(self) -> None:
        with pytest.raises(errors.InvalidRequest, match="must be UTF-8"):
            read("[1]".encode("utf-16"))


class TestArchivesAndFolders:
    def archive(self, folder: Path, **members: str) -> Path:
        file = folder / "export.zip"
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in members.items():
                archive.writestr(name.replace("__", "/") + ".json", text)
        return file

    def test_only_the_named_files_are_read(self, tmp_path: Path) -> None:
        file = self.archive(tmp_path, users="[0]", inner__conversations="[1, 2]")
        found = [(each.where, each.value) for each in read_records(file, ("conversations.json",), Report())]
        assert found == [("inner/conversations.json[0]", 1), ("inner/conversations.json[1]", 2)]

    def test_names_in_an_archive_may_have_backslashes(self, tmp_path: Path) -> None:
        file = self.archive(tmp_path, **{"inner\\conversations": "[1]"})
        (found,) = read_records(file, ("conversations.json",), Report())
        assert (found.where, found.source) == ("inner/conversations.json[0]", "conversations")

    def test_a_folder_is_read_like_an_archive(self, tmp_path: Path) -> None:
        (tmp_path / "b.json").write_text("[2]")
        (tmp_path / "a.json").write_text('{"a": 1}')
        (tmp_path / "c.txt").write_text("[3]")
        found = [(each.where, each.source) for each in read_records(tmp_path, ("*.json",), Report())]
        assert found == [("a.json", "a"), ("b.json[0]", "b")]

    def test_nothing_to_read_is_an_error(self, tmp_path: Path) -> None:
        for path in (tmp_path, self.archive(tmp_path, users="[0]")):
            with pytest.raises(errors.InvalidRequest, match=r"has no file named conversations\.json"):
                list(read_records(path, ("conversations.json",), Report()))
        with pytest.raises(errors.InvalidRequest, match="cannot be read: No such file"):
            list(read_records(tmp_path / "missing", ("*",), Report()))

    def test_the_unpacked_size_is_bounded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = self.archive(tmp_path, conversations="[" + " " * 5_000_000 + "]")
        assert file.stat().st_size < 10_000
        monkeypatch.setattr(files, "MAX_UNPACKED_BYTES", 5_000_001)
        with pytest.raises(errors.InvalidRequest) as caught:
            list(read_records(file, ("*.json",), Report()))
        assert (caught.value.value, caught.value.limit) == (5_000_002, 5_000_001)

    def test_an_archive_that_lies_about_its_size_gives_no_more_than_it_says(self, tmp_path: Path) -> None:
        file = self.archive(tmp_path, conversations="[" + "1," * 100_000 + "1]")
        raw = file.read_bytes().replace((200_003).to_bytes(4, "little"), (7).to_bytes(4, "little"))
        file.write_bytes(raw)
        report = Report()
        assert len(list(read_records(file, ("*.json",), report))) <= 4
        assert report.broken is not None

    @pytest.mark.slow
    @pytest.mark.parametrize("damage", [b"\x55", b"\xff" * 400])  # a wrong checksum, and what cannot be unpacked
    def test_a_damaged_archive_gives_what_comes_before(self, tmp_path: Path, damage: bytes) -> None:
        words = ", ".join(str(n * 7919) for n in range(200_000))
        file = self.archive(tmp_path, conversations=f"[{words}]")
        raw = bytearray(file.read_bytes())
        at = len(raw) - 300_000
        raw[at : at + len(damage)] = damage
        file.write_bytes(raw)
        report = Report()
        assert 0 < len(list(read_records(file, ("*.json",), report))) < 200_000
        assert report.broken is not None
        assert "damaged" in report.broken
