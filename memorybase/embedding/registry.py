"""Each model once a process, loaded when first asked for."""

from __future__ import annotations

import threading
import time
from collections import defaultdict

from memorybase.embedding.exported import Manifest, ensure_exported, exported_folder
from memorybase.embedding.onnx import OnnxEmbedder
from memorybase.embedding.prompts import Prompts, prompts_in
from memorybase.embedding.protocol import Embedder
from memorybase.embedding.reference import SentenceTransformerEmbedder
from memorybase.embedding.source import find_source
from memorybase.errors import ModelUnavailable
from memorybase.settings import Settings

# Loading fails slowly (an export takes seconds), so callers within this time are told the same without another try.
FAILURE_SECONDS = 10.0


class Embedders:
    """The process's models; any number of threads may ask, one of them loads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loaded: dict[str, Embedder] = {}
        self._failed: dict[str, tuple[float, str]] = {}
        self._guard = threading.Lock()
        self._loading: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def get(self, model: str | None = None) -> Embedder:
        """The embedder for a model, or for the setting's; raises ModelUnavailable."""
        name = model or self._settings.embedding_model
        if found := self._loaded.get(name):
            return found
        with self._guard:
            loading = self._loading[name]
        with loading:
            if name not in self._loaded:
                self._loaded[name] = self._load(name)
            return self._loaded[name]

    def dimension(self, model: str | None = None) -> int:
        """Numbers a vector, read beside the exported model where there is one; else loads it."""
        name = model or self._settings.embedding_model
        if name not in self._loaded and self._settings.embedding_backend == "onnx":
            folder = exported_folder(self._settings, find_source(name))
            if folder.is_dir():
                return Manifest.read(folder).dimension
        return self.get(name).dimension

    def _load(self, name: str) -> Embedder:
        at, message = self._failed.get(name, (0.0, ""))
        if message and time.monotonic() - at < FAILURE_SECONDS:
            raise ModelUnavailable(message, model=name)
        try:
            return load(self._settings, name)
        except ModelUnavailable as error:
            self._failed[name] = (time.monotonic(), error.message)
            raise


def load(settings: Settings, model: str) -> Embedder:
    """Load a model by the settings' backend; raises ModelUnavailable."""
    source = find_source(model)
    own = prompts_in(source.folder)
    prompts = _prompts(settings, model, own)
    if settings.embedding_backend == "onnx":
        return OnnxEmbedder(
            ensure_exported(settings, source),
            model=model,
            identity=source.identity("onnx-fp32") + prompts.suffix(own),
            batch_size=settings.embedding_batch_size,
            threads=settings.embedding_threads,
            prompts=prompts,
        )
    source.check()
    return SentenceTransformerEmbedder(
        source.folder,
        model=model,
        identity=source.identity("sentence-transformers") + prompts.suffix(own),
        batch_size=settings.embedding_batch_size,
        threads=settings.embedding_threads,
        prompts=prompts,
    )


def _prompts(settings: Settings, model: str, own: Prompts) -> Prompts:
    # The settings speak of the default model: a store that was built with another one is searched as it was built.
    if model != settings.embedding_model:
        return own
    query, passage = settings.embedding_query_prompt, settings.embedding_passage_prompt
    return Prompts(own.query if query is None else query, own.passage if passage is None else passage)


def is_prepared(settings: Settings) -> bool:
    """Whether the setting's model loads without being exported first."""
    if settings.embedding_backend != "onnx":
        return True
    try:
        return exported_folder(settings, find_source(settings.embedding_model)).is_dir()
    except ModelUnavailable:
        return False
