"""Who asks, in which app and conversation: what Dify knows, and what no parameter of a model may change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NOBODY = "Dify did not say who the user is"
NO_APP = "Dify did not say which app this is. Set the tool's parameter flow"


@dataclass(frozen=True)
class Context:
    flow: str
    user: str
    conversation: str | None
    message: str | None

    @property
    def session(self) -> str:
        """The conversation; in a workflow, which has none, one for each user."""
        return self.conversation or f"workflow-{self.user}"


def context_of(tool: Any, parameters: Mapping[str, Any]) -> Context | str:
    """The context of a tool's call, or why there is none."""
    user = tool.runtime.user_id
    flow = str(parameters.get("flow") or "").strip() or tool.session.app_id
    if not user:
        return NOBODY
    if not flow:
        return NO_APP
    return Context(str(flow), str(user), tool.session.conversation_id, tool.session.message_id)
