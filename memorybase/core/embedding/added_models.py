"""Records of models that were added and probed: a file each. They describe, and decide nothing."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from memorybase.core.embedding.prompts import Prompts
from memorybase.core.embedding.source import file_digests, find_source, label_of
from memorybase.core.errors import ModelUnavailable
from memorybase.core.settings import Settings


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model as it was when it was added. `digests`: SHA-256 by file; empty for a model behind an endpoint."""

    name: str
    identity: str
    revision: str
    digests: Mapping[str, str]
    licence: str
    dimension: int
    max_tokens: int
    query_prompt: str
    passage_prompt: str
    token_encoding: str | None
    near: float
    far: float
    added_at: str

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises ModelUnavailable for a file that is no record."""
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise ModelUnavailable(
                f"{path} must be the record of a model. Delete it, and add the model again.", field="path"
            ) from error

    @property
    def prompts(self) -> Prompts:
        return Prompts(self.query_prompt, self.passage_prompt)


def remember(settings: Settings, model: KnownModel) -> Path:
    """Write the record, whole or not at all; it replaces that of the same name."""
    path = folder_of(settings) / f"{label_of(model.name)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, suffix=".part")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(asdict(model), file, indent=1)
    Path(part).replace(path)
    return path


def known_models(settings: Settings) -> Iterator[KnownModel]:
    """All records, by name."""
    for path in sorted(folder_of(settings).glob("*.json")):
        yield KnownModel.read(path)


def changed_files(model: KnownModel) -> list[str] | None:
    """Files that differ from the record, are new or are gone; None: the model's files are not on this machine."""
    try:
        now = file_digests(find_source(model.name, may_download=False).folder)
    except ModelUnavailable:
        return None
    return sorted(name for name in now.keys() | model.digests.keys() if now.get(name) != model.digests.get(name))


def folder_of(settings: Settings) -> Path:
    """The folder of the records, which unlike the exports belong to the data."""
    return (settings.model_dir or settings.data_dir / "models") / "known"
