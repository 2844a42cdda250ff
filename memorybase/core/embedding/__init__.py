"""Text to vectors: the Embedder protocol, its adapters, and the registry that loads each model once per process.

    protocol       Embedder and Reranker
    registry       the embedder for a model, by the settings. Callers use `Embedders.get`
    source         finds and checks a model's files, by name or path
    prompts        the model's prompts for queries and passages
    export         exports the files to ONNX once, in a child process, whose memory is then free again: those of
                   BERT models without torch (bert), others with it (torch_export)
    exported       the exported models in Settings.model_cache_dir
    quantize       the int8 form of an export, which is the default; built in the same process
    onnx           the adapter for both forms: ONNX Runtime, no torch
    reference      the adapter for sentence-transformers itself
    endpoint       the adapter for models behind an OpenAI-compatible endpoint, with endpoint_client (requests and
                   retries), usage (what was asked for) and fingerprint (is it still the same model)
    tokens, counting  tokenizing; counting tokens without a model
    token_vectors  packed vectors of tokens, from the same forward pass
    chunking       splits long texts into chunks that the model reads fully
    compatibility  the one check that a model's vectors compare with those in a store
    reranker       an optional cross-encoder
    background     a model in a thread of low priority
    model_cache    loads each model once per process
    preparation    downloads and exports a model in a thread, for callers that wait no longer than a few seconds

Libraries are imported where they are used: importing this package loads no model and no torch.
"""

from __future__ import annotations

from memorybase.core.embedding.counting import text_counter
from memorybase.core.embedding.protocol import Embedder, QueryTokens, Reranker
from memorybase.core.embedding.registry import Embedders, is_prepared, loads_at_once
from memorybase.core.embedding.reranker import CrossEncoderReranker

__all__ = [
    "CrossEncoderReranker",
    "Embedder",
    "Embedders",
    "QueryTokens",
    "Reranker",
    "is_prepared",
    "loads_at_once",
    "text_counter",
]
