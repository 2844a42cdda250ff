"""History for a model's next turn: of a conversation, or of one node in it (Dify).

read               read_history: the function behind POST /history; start here
token_buffer       the newest turns of a conversation that fit into a number of tokens
node_token_buffer  the same for one node, from its executions
session_reader     reads the thread of a session, only as far back as the view needs; context and summaries use it too
node_executions    stores, reads and deletes executions of nodes
node_context       converts the context of an execution to records
memory_config      MemoryMode and MemoryConfig, and fetch_memory, which makes the memory of a configuration
"""

from __future__ import annotations

from memorybase.conversation.history.memory_config import MemoryConfig, MemoryMode, fetch_memory
from memorybase.conversation.history.node_token_buffer import NodeTokenBufferMemory
from memorybase.conversation.history.token_buffer import Conversation, TokenBufferMemory

__all__ = [
    "Conversation",
    "MemoryConfig",
    "MemoryMode",
    "NodeTokenBufferMemory",
    "TokenBufferMemory",
    "fetch_memory",
]
