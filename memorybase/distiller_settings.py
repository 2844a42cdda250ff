"""Settings of distillation: what a language model may do with messages, and for how much."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings


class DistillerSettings(BaseSettings):
    """A part of `Settings`. The endpoint is that of summaries."""

    distiller: Literal["none", "openai"] = Field(
        "none", description="openai lets owners of memory bases turn on distillation, through summarizer_url."
    )
    distiller_model: str = Field(
        "", max_length=150, description="Model name for distillation; empty: summarizer_model."
    )
    distiller_daily_tokens: int = Field(
        500_000, ge=1_000, description="Tokens that distillation may use on a day in UTC; then it waits for the next."
    )
    distiller_input_price: float = Field(
        0.0, ge=0, description="Price of a million tokens of input, to show what distillation costs; 0: unknown."
    )
    distiller_output_price: float = Field(0.0, ge=0, description="Price of a million tokens of output.")
