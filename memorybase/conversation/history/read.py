"""History for a model's next turn: of the conversation, or of one node in it."""

from __future__ import annotations

from memorybase.conversation.history.node_token_buffer import NodeHistory, node_view
from memorybase.conversation.history.token_buffer import Conversation, HistoryRequest, Mode, conversation_view
from memorybase.conversation.memory_use.provenance import ViewOrigin
from memorybase.conversation.memory_use.record import record_use
from memorybase.conversation.view.token_counters import counter_for


def read_history(
    conversation: Conversation,
    request: HistoryRequest,
    *,
    mode: Mode = "conversation",
    node_id: str | None = None,
) -> NodeHistory:
    """The view for the mode; its use is recorded if the request names a run and a node."""
    counter = counter_for(conversation.services.settings, request.model)
    if mode == "node":
        history = node_view(conversation, node_id, request, counter=counter)
    else:
        history = NodeHistory(conversation_view(conversation, request, counter=counter))
    if request.run_id is not None and node_id is not None:
        record_use(
            conversation.services,
            user_id=conversation.user_id,
            flow_id=conversation.flow_id,
            run_id=request.run_id,
            node_id=node_id,
            view=history.view,
            origin=ViewOrigin(session_id=conversation.session_id, execution=history.as_of),
        )
    return history
