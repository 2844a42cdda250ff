"""The registry of embedders, by the settings."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from memorybase.core.embedding import endpoint
from memorybase.core.embedding.background import BackgroundEmbedder
from memorybase.core.embedding.endpoint import is_endpoint_model
from memorybase.core.embedding.exported import Manifest, Precision, ensure_exported, exported_folder
from memorybase.core.embedding.model_cache import ModelCache
from memorybase.core.embedding.onnx import OnnxEmbedder
from memorybase.core.embedding.preparation import Preparation
from memorybase.core.embedding.prompts import NO_PROMPTS, Prompts, prompts_in
from memorybase.core.embedding.protocol import BATCH_SIZE, Embedder
from memorybase.core.embedding.reference import SentenceTransformerEmbedder
from memorybase.core.embedding.source import find_source
from memorybase.core.errors import ModelUnavailable
from memorybase.core.settings import Settings

# The backends that run an export, and its precision.
PRECISIONS: Mapping[str, Precision] = {"onnx": "fp32", "onnx-int8": "int8"}


class Embedders:
    """The process's models, for any number of threads; one thread loads each model.

    In the `background` models run at low priority, so that requests get the processor first, and an endpoint is asked
    with more patience. With `wait_seconds` a thread exports a model, and callers wait no longer than that for it;
    without, the first caller exports it.
    """

    def __init__(self, settings: Settings, *, background: bool = False, wait_seconds: float | None = None) -> None:
        self._settings = settings
        self._background = background
        self._wait_seconds = wait_seconds
        self._models: ModelCache[Embedder] = ModelCache(self._load)
        self._guard = threading.Lock()
        self._preparations: dict[str, Preparation] = {}

    def get(self, model: str | None = None) -> Embedder:
        """The embedder for a model, by default that of the setting; raises ModelPreparing, ModelUnavailable."""
        name = model or self._settings.embedding_model
        if self._wait_seconds is not None and name not in self._models:
            self._preparation(name).wait(self._wait_seconds)
        return self._models.get(name)

    def in_background(self) -> InBackground:
        """The same models for the worker in the same process: loaded once, and run at low priority."""
        return InBackground(self, self._settings)

    def prepare(self) -> None:
        """Prepare the setting's model in a thread, unless that was done; returns at once and loads no model."""
        self._preparation(self._settings.embedding_model).start()

    def problem(self) -> str | None:
        """Why the setting's model cannot be loaded since `prepare`: it is being prepared, or that failed."""
        return self._preparation(self._settings.embedding_model).problem()

    def _preparation(self, name: str) -> Preparation:
        with self._guard:
            if name not in self._preparations:
                self._preparations[name] = Preparation(name, lambda: prepare(self._settings, name))
            return self._preparations[name]

    def _load(self, name: str) -> Embedder:
        if is_endpoint_model(name):
            return load_from_endpoint(self._settings, name, patient=self._background)
        return (
            BackgroundEmbedder(lambda: load(self._settings, name)) if self._background else load(self._settings, name)
        )

    def dimension(self, model: str | None = None) -> int:
        """A model's dimension, from the export's manifest if there is one; else it loads the model."""
        name = model or self._settings.embedding_model
        precision = PRECISIONS.get(self._settings.embedding_backend)
        if name not in self._models and precision and not is_endpoint_model(name):
            folder = exported_folder(self._settings, find_source(name), precision)
            if folder.is_dir():
                return Manifest.read(folder).dimension
        return self.get(name).dimension


class InBackground:
    """An EmbedderRegistry over the models of another one. Model files are read once; a thread runs them."""

    def __init__(self, models: Embedders, settings: Settings) -> None:
        self._models, self._settings = models, settings
        self._loaded: ModelCache[Embedder] = ModelCache(self._load)

    def get(self, model: str | None = None) -> Embedder:
        return self._loaded.get(model or self._settings.embedding_model)

    def prepare(self) -> None:
        self._models.prepare()

    def problem(self) -> str | None:
        return self._models.problem()

    def _load(self, name: str) -> Embedder:
        if is_endpoint_model(name):
            return load_from_endpoint(self._settings, name, patient=True)
        return BackgroundEmbedder(lambda: self._models.get(name))


def load(settings: Settings, model: str) -> Embedder:
    """Load a model by the settings' backend; raises ModelUnavailable."""
    if is_endpoint_model(model):
        return load_from_endpoint(settings, model)
    source = find_source(model)
    own = prompts_in(source.folder)
    prompts = _in_use(settings, model, own)
    if precision := PRECISIONS.get(settings.embedding_backend):
        return OnnxEmbedder(
            ensure_exported(settings, source, precision),
            model=model,
            identity=source.identity(f"onnx-{precision}") + prompts.suffix(own),
            batch_size=BATCH_SIZE,
            threads=settings.embedding_threads,
            prompts=prompts,
        )
    source.check()
    return SentenceTransformerEmbedder(
        source.folder,
        model=model,
        identity=source.identity("sentence-transformers") + prompts.suffix(own),
        batch_size=BATCH_SIZE,
        threads=settings.embedding_threads,
        prompts=prompts,
    )


def prepare(settings: Settings, model: str) -> None:
    """Have the model's files here and exported, so that it loads in a moment; raises ModelUnavailable."""
    if is_endpoint_model(model):
        return
    source = find_source(model)
    if precision := PRECISIONS.get(settings.embedding_backend):
        ensure_exported(settings, source, precision)


def load_from_endpoint(settings: Settings, model: str, *, patient: bool = True) -> Embedder:
    """The model behind the settings' endpoint; raises ModelUnavailable."""
    return endpoint.load(settings, model, prompts=prompts_of(settings, model), patient=patient)


def prompts_of(settings: Settings, model: str) -> Prompts:
    """The prompts in use: by the settings, else the model's own."""
    own = NO_PROMPTS if is_endpoint_model(model) else prompts_in(find_source(model).folder)
    return _in_use(settings, model, own)


def _in_use(settings: Settings, model: str, own: Prompts) -> Prompts:
    stated = settings.embedding_prompts.get(model, {})
    return Prompts(stated.get("query", own.query), stated.get("passage", own.passage))


def is_prepared(settings: Settings) -> bool:
    """Whether the setting's model loads without an export first."""
    precision = PRECISIONS.get(settings.embedding_backend)
    if precision is None or is_endpoint_model(settings.embedding_model):
        return True
    try:
        return exported_folder(settings, find_source(settings.embedding_model), precision).is_dir()
    except ModelUnavailable:
        return False


def loads_at_once(settings: Settings, model: str) -> bool:
    """Whether this model loads without a download or an export first. Contacts no hub."""
    if is_endpoint_model(model):
        return True
    try:
        source = find_source(model, may_download=False)
    except ModelUnavailable:
        return False
    precision = PRECISIONS.get(settings.embedding_backend)
    return precision is None or exported_folder(settings, source, precision).is_dir()
