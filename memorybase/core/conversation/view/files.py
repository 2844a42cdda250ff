"""Files of messages: the references that a flow runtime sends, and the content parts that a model reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from mimetypes import guess_type
from pathlib import PurePosixPath
from typing import Any, Literal, Self, get_args

from memorybase.core.errors import InvalidRequest

FileType = Literal["image", "audio", "video", "document", "custom"]
TransferMethod = Literal["local_file", "remote_url", "tool_file"]
Owner = Literal["user", "assistant"]

_PREFIXES: dict[str, TransferMethod] = {"local": "local_file", "tool": "tool_file", "remote": "remote_url"}
# The keys that may hold the pointer of each method.
_POINTERS: dict[TransferMethod, tuple[str, ...]] = {
    "local_file": ("upload_file_id", "file_id", "id"),
    "tool_file": ("tool_file_id", "file_id", "id"),
    "remote_url": ("url", "remote_url"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRef:
    """A reference to a file; never its bytes. `pointer` is an id, or the URL of a remote one; empty if none is known.
    `text` is text that somebody extracted from it."""

    type: FileType
    transfer_method: TransferMethod
    pointer: str
    name: str | None = None
    content_type: str | None = None
    size: int | None = None
    belongs_to: Owner | None = None
    text: str | None = None

    @classmethod
    def from_mapping(cls, raw: Mapping[str, Any], *, where: str = "files") -> Self:
        """A file by a transfer method (type, transfer_method, upload_file_id ...) or as a URL with a content type
        (url, file_name, file_size, content_type). Raises InvalidRequest with a field below `where`."""
        content_type = _text(raw.get("content_type")) or _text(raw.get("mime_type"))
        size, owner = raw.get("file_size", raw.get("size")), raw.get("belongs_to")
        method = _one_of(raw.get("transfer_method") or "remote_url", TransferMethod, f"{where}.transfer_method")
        pointer = next((raw[key] for key in _POINTERS[method] if raw.get(key)), None)
        if not isinstance(pointer, str):
            key = _POINTERS[method][0]
            raise InvalidRequest(f"{key} must be a string: the file is a {method}", field=f"{where}.{key}")
        if method == "remote_url" and not is_url(pointer):
            raise InvalidRequest("url must begin with http://, https:// or data:", field=f"{where}.url")
        return cls(
            type=_one_of(raw.get("type") or type_of(content_type), FileType, f"{where}.type"),
            transfer_method=method,
            pointer=pointer,
            name=_name(raw),
            content_type=content_type,
            size=size if type(size) is int else None,  # true is no size
            belongs_to=owner if owner in get_args(Owner) else None,
            text=_text(raw.get("extracted_content")),
        )

    @classmethod
    def from_ref(cls, ref: str, *, type: FileType = "image", name: str | None = None) -> Self | None:  # noqa: A002 - the field's name
        """A file from `local:ID`, `tool:ID` or `remote:URL`; None for anything else."""
        prefix, colon, pointer = ref.partition(":")
        method = _PREFIXES.get(prefix)
        return cls(type=type, transfer_method=method, pointer=pointer, name=name) if colon and method else None

    @property
    def ref(self) -> str:
        """The string that from_ref reads."""
        prefix = next(prefix for prefix, method in _PREFIXES.items() if method == self.transfer_method)
        return f"{prefix}:{self.pointer}"

    def to_mapping(self) -> dict[str, Any]:
        """The mapping that from_mapping reads, by a transfer method and without unknown values."""
        values = {
            "type": self.type,
            "transfer_method": self.transfer_method,
            _POINTERS[self.transfer_method][0]: self.pointer,
            "file_name": self.name,
            "content_type": self.content_type,
            "file_size": self.size,
            "belongs_to": self.belongs_to,
            "extracted_content": self.text,
        }
        return {key: value for key, value in values.items() if value is not None}

    @property
    def label(self) -> str:
        """Its name, else the last part of its URL, else its id. Never a URL's query, which may hold a secret."""
        if self.name:
            return self.name
        return url_label(self.pointer) if self.transfer_method == "remote_url" else self.pointer or "file"

    @property
    def stub(self) -> str:
        """The text that a model reads instead of a file that it cannot get: a line with its name, and the text in
        it."""
        unsupported = self.type == "custom" and self.text is None
        line = f"[Unsupported file type: {self.label} ({self.type})]" if unsupported else f"[{self.type}: {self.label}]"
        return line if self.text is None else f"{line}\n{self.text}"


# The content part for a file, or None if the file is deleted or the model cannot read it.
FileResolver = Callable[[FileRef], dict[str, Any] | None]


def read_files(stored: Sequence[Any]) -> tuple[FileRef, ...]:
    """The files of a stored message, in any shape, paths and URLs too. For an object in no known runtime's format only
    name and type are known; anything else is left out."""
    found: list[FileRef] = []
    for raw in stored:
        if isinstance(raw, str) and raw:
            content_type = guess_type(_path(raw))[0]
            method: TransferMethod = "remote_url" if is_url(raw) else "local_file"
            name = None if method == "remote_url" else PurePosixPath(raw).name
            kind = type_of(content_type)
            found.append(FileRef(type=kind, transfer_method=method, pointer=raw, name=name, content_type=content_type))
        elif isinstance(raw, Mapping):
            try:
                found.append(FileRef.from_mapping(raw))
            except InvalidRequest:
                found.append(_unknown(raw))
    return tuple(found)


def _unknown(raw: Mapping[str, Any]) -> FileRef:
    """A file of another maker's shape, such as an attachment of an export: nothing can resolve it."""
    names = ("mime_type", "mimeType", "mediaType", "content_type", "file_type", "type")
    given = next((text for key in names if (text := _text(raw.get(key)))), "")
    name = _name(raw)
    guessed = given if "/" in given else guess_type(name or "")[0]
    kind: FileType = "image" if "image" in given else type_of(guessed)
    return FileRef(
        type=kind,
        transfer_method="local_file",
        pointer="",
        name=name,
        content_type=guessed,
        text=_text(raw.get("extracted_content")),
    )


def _name(raw: Mapping[str, Any]) -> str | None:
    nested = raw.get("file")
    for holder in (raw, nested if isinstance(nested, Mapping) else {}):
        for key in ("file_name", "filename", "name", "title"):
            if name := _text(holder.get(key)):
                return name
        if place := _text(holder.get("path")) or _text(holder.get("uri")):
            return url_label(place)
    return None


def remote_images(file: FileRef) -> dict[str, Any] | None:
    """The resolver that needs no storage: it resolves remote images to their URL, and nothing else."""
    if file.type != "image" or file.transfer_method != "remote_url":
        return None
    return {"type": "image_url", "image_url": {"url": file.pointer, "detail": "high"}}


def url_label(url: str) -> str:
    """The last part of a URL's path, without query and credentials. Accepts any string."""
    if url.startswith("data:"):
        return "file"
    return _path(url).rstrip("/").rpartition("/")[2].rpartition("@")[2] or "file"


def _path(url: str) -> str:
    return url.partition("?")[0].partition("#")[0]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def is_url(pointer: Any) -> bool:
    """Whether it is the URL of a file, or the file as one."""
    return isinstance(pointer, str) and pointer.startswith(("http://", "https://", "data:"))


def type_of(content_type: Any) -> FileType:
    """The kind of a file, by its MIME type."""
    kind = str(content_type or "").partition("/")[0]
    return kind if kind in {"image", "audio", "video"} else "document"  # type: ignore[return-value]


def _one_of(value: Any, choice: Any, field: str) -> Any:
    choices = get_args(choice)
    if value not in choices:
        shown = value[:100] if isinstance(value, str) else None
        name = field.rpartition(".")[2]
        raise InvalidRequest(f"{name} must be one of {', '.join(choices)} (got {shown!r})", field=field, value=shown)
    return value
