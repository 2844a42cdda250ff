"""Where and on what the figures were taken: without it they mean nothing."""

from __future__ import annotations

import runs

from ingesting.figures import Figures
from ingesting.texts import Corpus
from memorybase.core.settings import Settings


def about(corpus: Corpus, settings: Settings) -> Figures:
    return runs.about(settings) | {
        "backend": settings.embedding_backend,
        "data": corpus.source,
        "data_sha256": corpus.sha256,
        "texts": corpus.distinct,
    }
