"""An optional cross-encoder, which reads query and text together, on sentence-transformers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorybase.core.embedding.model_cache import ModelCache
from memorybase.core.embedding.protocol import BATCH_SIZE
from memorybase.core.embedding.reference import check_installed
from memorybase.core.embedding.source import model_folder
from memorybase.core.errors import ModelUnavailable
from memorybase.core.settings import Settings

SETTING = "MEMORYBASE_RERANKER_MODEL"


class CrossEncoderReranker:
    """The setting's cross-encoder, loaded on first use; raises ModelUnavailable with the setting's name."""

    def __init__(self, settings: Settings) -> None:
        self._name = settings.reranker_model
        self._batch_size = BATCH_SIZE
        self._models: ModelCache[Any] = ModelCache(_load)
        self._using = threading.Lock()  # every call reconfigures its tokenizer, so calls must not overlap

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """For each text, how well it answers the query, 0 to 1: (n,)."""
        model = self._models.get(self._name)
        import torch

        pairs = [(query, text) for text in texts]
        try:
            # Some models' configuration returns logits.
            with self._using:
                found = model.predict(
                    pairs, batch_size=self._batch_size, activation_fn=torch.nn.Sigmoid(), show_progress_bar=False
                )
        except Exception as error:  # torch's and the library's errors have no other common base
            raise _unusable(self._name, f"fails on a batch ({type(error).__name__})") from error
        scores = np.asarray(found, dtype=np.float32)
        if not np.isfinite(scores).all():
            raise _unusable(self._name, "returns scores that are not finite")
        return scores


def _load(name: str) -> Any:
    folder = model_folder(name, SETTING)
    model = _cross_encoder(name, folder)
    labels = int(model.config.num_labels)
    if labels != 1:
        raise _unusable(name, f"returns {labels} scores for a text instead of one")
    return model


def _cross_encoder(name: str, folder: Path) -> Any:
    """Load from these files alone: no request to a hub, no code from the model."""
    check_installed(f"The reranker {name} is to be loaded with sentence-transformers")
    try:
        from sentence_transformers import CrossEncoder
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()
        return CrossEncoder(str(folder), local_files_only=True, trust_remote_code=False)
    except Exception as error:  # torch's and the library's errors have no other common base
        raise _unusable(name, f"does not load ({type(error).__name__})") from error


def _unusable(name: str, why: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"The reranker {name} {why}. Set {SETTING} to another cross-encoder, or leave it empty for none.",
        field="reranker_model",
        value=name,
    )
