"""The settings of retention: what is deleted in time, and what tells of it."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings


class RetentionSettings(BaseSettings):
    """Fields of `Settings`."""

    node_memory_days: int = Field(
        0, ge=0, description="Days after the last write until node object memory is deleted; 0: never."
    )
    memory_use_days: int = Field(
        0, ge=0, le=36_500, description="Days until what a node's model was given is deleted; 0: with its session."
    )
    deleted_retention_days: int = Field(
        30, ge=0, le=3_650, description="Days that a deleted message can be restored; 0: its text is deleted at once."
    )
    retention_receipt_days: int = Field(
        730, ge=0, le=36_500, description="Days until the receipt of a retention pass is deleted; 0: never."
    )
