"""JSON records of files, folders and ZIP archives, one at a time: memory is bounded by the largest record."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import IO, Any

from memorybase_client import errors
from memorybase_client.importers.records import RawRecord, Report

MAX_RECORD_BYTES = 64_000_000  # of one conversation, or of a file that is one object
MAX_UNPACKED_BYTES = 8_000_000_000  # of an archive's files
PIECE_BYTES = 262_144
ICONV = "convert the file: iconv -f latin1 -t utf-8 OLD > NEW"

_BOM = b"\xef\xbb\xbf"
_SQLITE = b"SQLite format 3\x00"
_OUTSIDE = re.compile(rb'["\[\]{},]')
_INSIDE = re.compile(rb'["\\]')


def read_records(path: Path, members: Sequence[str], report: Report) -> Iterator[RawRecord]:
    """The records of a JSON file, or of the files in a folder or an archive whose names match `members`.

    A file is a list of records, one record a line, or one record. Raises InvalidRequest if it cannot be opened; what
    cannot be read within it goes into the report."""
    try:
        if path.is_dir():
            for file in _chosen(path, members):
                with file.open("rb") as opened:
                    yield from records_of_file(opened, file.relative_to(path).as_posix(), report)
        elif is_archive(path):
            yield from _records_of_archive(path, members, report)
        else:
            with path.open("rb") as opened:
                yield from records_of_file(opened, path.name, report)
    except OSError as exc:
        raise errors.InvalidRequest(f"{path} cannot be read: {exc.strerror or exc}.") from exc


def decoded(raw: bytes, name: str) -> str:
    """The text. Raises InvalidRequest with the line that is not UTF-8."""
    try:
        return raw.removeprefix(_BOM).decode()
    except UnicodeDecodeError as exc:
        line = raw.count(b"\n", 0, exc.start) + 1
        raise errors.InvalidRequest(f"{name} line {line} is not UTF-8; {ICONV}.") from exc


def read_member(path: Path) -> tuple[str, str]:
    """The text of a file, or of the only JSON file in an archive, and its name. Raises InvalidRequest."""
    try:
        if not is_archive(path):
            return decoded(path.read_bytes(), path.name), path.name
        with zipfile.ZipFile(path) as archive:
            infos = [info for info in archive.infolist() if _matches(info.filename, ("*.json", "*.jsonl", "*.ndjson"))]
            if len(infos) != 1 or infos[0].file_size > MAX_UNPACKED_BYTES:
                text = f"{path} must have one file of conversations (it has {len(infos)}); unpack it, and import each."
                raise errors.InvalidRequest(text)
            return decoded(archive.read(infos[0]), infos[0].filename), infos[0].filename
    except OSError as exc:
        raise errors.InvalidRequest(f"{path} cannot be read: {exc.strerror or exc}.") from exc
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as exc:
        raise errors.InvalidRequest(f"{path} is damaged or encrypted: {exc}.") from exc


def is_archive(path: Path) -> bool:
    """Whether the file is a ZIP archive. Raises InvalidRequest if only its name says so."""
    if zipfile.is_zipfile(path):
        return True
    if path.suffix.lower() == ".zip" and path.is_file():
        raise errors.InvalidRequest(f"{path} is not a ZIP archive, or it is incomplete: download it again.")
    return False


def is_database(source: str) -> bool:
    """Whether the source is a SQLAlchemy URL or a SQLite file."""
    if "://" in source:
        return True
    try:
        with Path(source).open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def _chosen(folder: Path, members: Sequence[str]) -> list[Path]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and _matches(path.name, members))
    if not files:
        raise errors.InvalidRequest(f"{folder} has no file named {' or '.join(members)}.")
    return files


def _matches(name: str, members: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in members)


def _records_of_archive(path: Path, members: Sequence[str], report: Report) -> Iterator[RawRecord]:
    try:
        with zipfile.ZipFile(path) as archive:
            infos = [info for info in archive.infolist() if _matches(_path(info).name, members)]
            if not infos:
                raise errors.InvalidRequest(f"{path} has no file named {' or '.join(members)}.")
            # Reading a member never gives more than the size that the archive states for it.
            size = sum(info.file_size for info in infos)
            if size > MAX_UNPACKED_BYTES:
                text = f"The files of {path} must have at most {MAX_UNPACKED_BYTES} bytes unpacked"
                raise errors.InvalidRequest(text, value=size, limit=MAX_UNPACKED_BYTES)
            for info in sorted(infos, key=lambda each: each.filename):
                with archive.open(info) as opened:
                    yield from records_of_file(opened, str(_path(info)), report)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as exc:
        report.end_early(f"{path} is damaged or encrypted: {exc}")


def _path(info: zipfile.ZipInfo) -> PurePosixPath:
    """Some programs of Windows write backslashes."""
    return PurePosixPath(info.filename.replace("\\", "/"))


def records_of_file(file: IO[bytes], name: str, report: Report) -> Iterator[RawRecord]:
    """The records of one file, each with its place."""
    source = PurePosixPath(name).stem
    first = _first_byte(file, name)
    if first == b"[":
        for where, raw in _elements(file, name, report):
            yield from _parsed(where, raw, source, report)
    elif first:
        yield from _lines_or_one(file, first + file.readline(MAX_RECORD_BYTES), name, source, report)


def _first_byte(file: IO[bytes], name: str) -> bytes:
    """The first byte that is neither white space nor a byte order mark."""
    while (byte := file.read(1)) and (byte.isspace() or byte in _BOM):
        pass
    if byte in {b"\xff", b"\xfe"}:
        hint = ICONV.replace("latin1", "utf-16")
        raise errors.InvalidRequest(f"{name} must be UTF-8, and is UTF-16 or no text; {hint}.")
    return byte


def _lines_or_one(file: IO[bytes], first: bytes, name: str, source: str, report: Report) -> Iterator[RawRecord]:
    """One record a line if the first line is complete, else one record."""
    second = file.readline(MAX_RECORD_BYTES)
    try:
        complete = isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        complete = False
    if not complete or not second:
        rest = file.read(MAX_RECORD_BYTES)
        whole = first + second + rest
        if len(whole) > MAX_RECORD_BYTES:
            _skip_large(name, report)
        else:
            yield from _parsed(name, whole, source, report)
        return
    number, line = 1, first
    while line:
        where = f"{name} line {number}"
        if len(line) >= MAX_RECORD_BYTES and not line.endswith(b"\n"):
            _skip_large(where, report)
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_RECORD_BYTES)
        elif line.strip():
            yield from _parsed(where, line, source, report)
        number += 1
        line = second or file.readline(MAX_RECORD_BYTES)
        second = b""


def _skip_large(where: str, report: Report) -> None:
    report.lose(where, f"a record must have at most {MAX_RECORD_BYTES} bytes", limit=MAX_RECORD_BYTES)


def _parsed(where: str, raw: bytes, source: str, report: Report) -> Iterator[RawRecord]:
    try:
        value: Any = json.loads(raw)
    except UnicodeDecodeError as exc:
        report.lose(where, f"a record must be UTF-8 ({ICONV})", value=f"byte {exc.start}")
    except RecursionError:
        report.lose(where, "a record must not be nested so deep")
    except ValueError as exc:
        report.lose(where, "a record must be valid JSON", value=str(exc))
    else:
        yield RawRecord(where, value, source)


class _Scanner:
    """Finds the ends of a list's elements by its brackets and strings, across pieces."""

    def __init__(self) -> None:
        self.depth = 0  # 1 between elements
        self.inside = self.escaped = False

    def next_end(self, piece: bytes, start: int) -> int | None:
        """The position of the next comma or bracket that ends an element, or None in this piece."""
        at = start
        while at < len(piece):
            if self.escaped:
                self.escaped, at = False, at + 1
                continue
            match = (_INSIDE if self.inside else _OUTSIDE).search(piece, at)
            if match is None:
                return None
            at = match.end()
            token = match[0]
            if token == b'"':
                self.inside = not self.inside
            elif token == b"\\":
                self.escaped = True
            elif token in b"[{":
                self.depth += 1
            elif token in b"]}":
                self.depth -= 1
                if self.depth == 0:
                    return match.start()
            elif self.depth == 1:
                return match.start()
        return None


def _elements(file: IO[bytes], name: str, report: Report) -> Iterator[tuple[str, bytes]]:
    """Each element of a list, unparsed. One that is too large or not JSON does not hide the others."""
    scanner, element, size, index = _Scanner(), bytearray(), 0, 0
    scanner.depth = 1
    while piece := file.read(PIECE_BYTES):
        start = 0
        while (end := scanner.next_end(piece, start)) is not None:
            size += end - start
            element += piece[start:end]
            where = f"{name}[{index}]"
            if size > MAX_RECORD_BYTES:
                _skip_large(where, report)
            elif element.strip():
                yield where, bytes(element)
            if scanner.depth == 0:
                return
            element, size, index, start = bytearray(), 0, index + 1, end + 1
        size += len(piece) - start
        if size <= MAX_RECORD_BYTES:
            element += piece[start:]
    report.end_early(f"{name} ends within the element [{index}]: it is incomplete or not valid JSON")
