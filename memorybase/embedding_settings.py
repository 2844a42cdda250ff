"""Settings of how embedding models run, of their prompts, and of models behind an endpoint; part of `Settings`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings

PromptSide = Literal["query", "passage"]


class EmbeddingSettings(BaseSettings):
    """The endpoint is one, for every model named `openai:NAME`."""

    embedding_backend: Literal["onnx", "onnx-int8", "sentence-transformers"] = Field(
        "onnx-int8",
        description="onnx-int8 (quantized) is twice as fast as onnx (fp32); sentence-transformers is the reference.",
    )
    model_dir: Path | None = Field(
        None, description="Folder of prepared models; unset: memorybase/models in XDG_CACHE_HOME, or ~/.cache."
    )
    model_image_dir: Path | None = Field(
        None, description="Folder of further prepared models, such as an image's own; only read."
    )
    embedding_prompts: dict[str, dict[PromptSide, str]] = Field(
        default_factory=dict,
        description="Prefixes by model, for models whose files name none, such as "
        '{"intfloat/e5-small-v2": {"query": "query: ", "passage": "passage: "}}.',
    )
    embedding_url: str = Field(
        "https://api.openai.com/v1",
        pattern="^https?://",
        description="Base URL of an OpenAI-compatible endpoint, for models named openai:NAME.",
    )
    embedding_key: str | None = Field(None, description="Bearer token for embedding_url.")
    embedding_dimension: int = Field(
        0, ge=0, le=65_536, description="Dimension to ask the endpoint for; 0: the model's own."
    )
    embedding_max_tokens: int = Field(
        8_191, ge=16, description="Tokens of a text that the endpoint's model reads; longer texts are cut."
    )
    embedding_tokenizer: str = Field(
        "", description="The tokenizer.json of the endpoint's model, or its folder; empty: that of the default model."
    )
    embedding_request_texts: int = Field(64, ge=1, le=2_048, description="Maximum texts in a request to embedding_url.")
    embedding_request_tokens: int = Field(
        16_000, ge=16, description="Maximum estimated tokens in a request; one text always fits."
    )
    embedding_token_price: float = Field(
        0.0, ge=0, description="Price of a million tokens, in your currency, for the metric of the cost."
    )
