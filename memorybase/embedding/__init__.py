"""Text to vectors: the Embedder protocol, its two adapters, and the registry that loads each model once a process.

    source     a model's name or path to its files, checked
    prompts    what the model wants before a query and before a passage
    export     those files to ONNX, once, in a process of its own, since torch takes seconds and 500 MB to load
    exported   the exported models, kept in Settings.model_cache_dir
    quantize   the exported model in whole numbers, which is the default, made in the same process
    chunking   long texts cut to what the model reads
    compatibility  whether a model's vectors compare with those that a store holds
    onnx       the adapter for both: ONNX Runtime, no torch
    reference  sentence-transformers itself
    token_vectors  a vector for each token, from the same pass, packed
    counting   tokens of a text, by a tokenizer alone
    reranker   a cross-encoder, optional
    background a model in a thread of low priority
    once       each of them loaded once a process

The libraries are imported where they are used: importing this package loads no model and no torch.
"""

from __future__ import annotations

from memorybase.embedding.counting import text_counter
from memorybase.embedding.protocol import Embedder, QueryTokens, Reranker
from memorybase.embedding.registry import Embedders, is_prepared
from memorybase.embedding.reranker import CrossEncoderReranker

__all__ = [
    "CrossEncoderReranker",
    "Embedder",
    "Embedders",
    "QueryTokens",
    "Reranker",
    "is_prepared",
    "text_counter",
]
