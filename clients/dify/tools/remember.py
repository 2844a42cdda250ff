"""Remember: stores what this user said, and what was answered."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from dify_context import Context, context_of
from dify_plugin import Tool
from dify_plugin.entities.tool import ToolInvokeMessage
from memorybase_api import Memory, new_run, outbox_of


class RememberTool(Tool):
    def _invoke(self, tool_parameters: dict[str, Any]) -> Generator[ToolInvokeMessage, None, None]:
        context = context_of(self, tool_parameters)
        said = [
            (role, str(tool_parameters.get(name) or ""))
            for role, name in (("user", "user_message"), ("assistant", "assistant_message"))
        ]
        said = [(role, text) for role, text in said if text.strip()]
        if isinstance(context, str) or not said:
            error = context if isinstance(context, str) else "There is no text to store"
            yield from self._answer(stored=False, waiting=0, text=f"Nothing was stored. {error}", error=error)
            return
        yield from self._send(context, said, str(tool_parameters.get("run_id") or "").strip())

    def _send(
        self, context: Context, said: list[tuple[str, str]], run_id: str
    ) -> Generator[ToolInvokeMessage, None, None]:
        outbox = outbox_of(Memory.of(self.runtime.credentials))
        body = new_run(context.session, context.user, run_id or context.message, said)
        run = outbox.send(context.flow, body)
        text = {
            "stored": "Stored.",
            "waiting": f"Not stored yet; it is sent again with the next message. {run.error}",
            "dropped": f"Not stored. {run.error}",
        }[run.state]
        yield from self._answer(stored=run.state == "stored", waiting=len(outbox), text=text, error=run.error)

    def _answer(self, *, stored: bool, waiting: int, text: str, error: str) -> Generator[ToolInvokeMessage, None, None]:
        yield self.create_text_message(text)
        yield self.create_json_message({"stored": stored, "waiting": waiting, "error": error})
        yield self.create_variable_message("stored", stored)
        yield self.create_variable_message("waiting", waiting)
        yield self.create_variable_message("error", error)
