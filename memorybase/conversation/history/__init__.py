"""History for a model's next turn: of a conversation, or of one node in it (Dify).

read               read_history: the function behind POST /history; start here
token_buffer       the newest turns of a conversation that fit into a number of tokens
node_token_buffer  the same for one node, from its executions
session_reader     reads the thread of a session, only as far back as the view needs; context and summaries use it too
node_executions    stores, reads and deletes executions of nodes
node_context       converts the context of an execution to records
"""

from __future__ import annotations
