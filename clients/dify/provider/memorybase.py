"""Checks the address and the key when a user saves them."""

from __future__ import annotations

from typing import Any

from dify_plugin import ToolProvider
from dify_plugin.errors.tool import ToolProviderCredentialValidationError
from memorybase_api import CallFailed, Memory


class MemorybaseProvider(ToolProvider):
    def _validate_credentials(self, credentials: dict[str, Any]) -> None:
        try:
            Memory.of(credentials).check()
        except CallFailed as error:
            raise ToolProviderCredentialValidationError(str(error)) from error
