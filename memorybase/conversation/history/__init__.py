"""History for a model's next turn: of a conversation, or of one node in it (Dify).

read               which of the two a request asks for
token_buffer       the newest turns of a conversation that fit a number of tokens
node_token_buffer  the same of one node, from its executions
node_context       what a node gave out, as records
node_executions    recorded, listed and deleted
session_reader     a session's messages, read no further back than the view needs
"""

from __future__ import annotations
