"""The client of memorybase, the memory of LLM flows.

    from memorybase_client import Client            # AsyncClient has the same methods

    with Client() as client:                        # the stack of `memorybase up`, or MEMORYBASE_URL and _API_KEY
        client.capture_run("support", session_id="anna", messages=[{"role": "user", "content": "Berth 12, please."}])
        for hit in client.search_flow(flow_id="support", query="Where is the boat?").results:
            print(hit.snippet)

Reading order: _calls (requests, errors, retries), _async/transport, _async/operations (generated), _async/client,
models (generated), outbox, _async/agent_memory, integrations. clients/python/generate.py writes _sync from _async.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memorybase_client import errors, models
    from memorybase_client._async.agent_memory import AsyncAgentMemory
    from memorybase_client._async.client import AsyncClient
    from memorybase_client._async.listing import AsyncListing
    from memorybase_client._async.streams import AsyncStream
    from memorybase_client._sync.agent_memory import AgentMemory
    from memorybase_client._sync.client import Client
    from memorybase_client._sync.listing import Listing
    from memorybase_client._sync.streams import Stream
    from memorybase_client.errors import MemorybaseError
    from memorybase_client.outbox import Outbox

__version__ = "0.1.0"
__all__ = [
    "AgentMemory",
    "AsyncAgentMemory",
    "AsyncClient",
    "AsyncListing",
    "AsyncStream",
    "Client",
    "Listing",
    "MemorybaseError",
    "Outbox",
    "Stream",
    "__version__",
    "errors",
    "models",
]

# Imported when first used, because httpx and pydantic take a tenth of a second.
_WHERE = {
    "AgentMemory": "_sync.agent_memory",
    "AsyncAgentMemory": "_async.agent_memory",
    "AsyncClient": "_async.client",
    "AsyncListing": "_async.listing",
    "AsyncStream": "_async.streams",
    "Client": "_sync.client",
    "Listing": "_sync.listing",
    "Stream": "_sync.streams",
    "MemorybaseError": "errors",
    "Outbox": "outbox",
}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    if name in {"errors", "models"}:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
