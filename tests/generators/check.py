"""What a program does with the generated Python client; tests/acceptance/test_generators.py runs it."""

from __future__ import annotations

import json
import sys
from io import BytesIO

from memorybase_client import AuthenticatedClient
from memorybase_client.api.flows import capture_run, get_flow, put_flow
from memorybase_client.api.history import get_history
from memorybase_client.api.portability import export_lines, import_lines
from memorybase_client.models import CaptureBody, FlowBody, HistoryBody, OpenAIMessage
from memorybase_client.models.open_ai_message_role import OpenAIMessageRole
from memorybase_client.types import File

url, key = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=key)

put_flow.sync("support", client=client, body=FlowBody(name="Support"))
said = [
    OpenAIMessage(role=OpenAIMessageRole.USER, content="Which food must I avoid?"),
    OpenAIMessage(role=OpenAIMessageRole.ASSISTANT, content="Peanuts."),
]
body = CaptureBody(session_id="anna-1", run_id="run-1", messages=said)
captured = capture_run.sync("support", client=client, body=body)
history = get_history.sync(client=client, body=HistoryBody(flow_id="support", session_id="anna-1"))
lines = export_lines.sync_detailed(client=client, flow_id="support").content
imported = import_lines.sync(client=client, body=File(payload=BytesIO(lines)))
refused = get_flow.sync("none-such", client=client)
sys.stdout.write(
    json.dumps(
        {
            "captured": len(captured.messages),
            "view": len(history.messages),
            "last": json.loads(lines.splitlines()[-1])["type"],
            "imported": imported.lines,
            "code": refused.error.code,
        }
    )
)
