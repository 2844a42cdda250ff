"""Pictures of every page, light and dark, wide and narrow, for docs/images: `make pictures`.

    PYTHONPATH=tests python -m harness.pictures FOLDER

They show the sample conversation in a stack of their own: a memory with a dead letter and a pending session, and one
with a mismatch.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlencode

from harness.browser import NARROW, WIDE, Reader, chromium, reader
from harness.buried import add_dead_letters
from harness.chroma import delete_collections_of
from harness.stack import KEY, EmbeddedStack
from memorybase.client import Client
from memorybase.import_export.conversation_files import read_runs
from memorybase.vectors.chroma import ChromaStore

FLOW = "home-assistant"
SESSION = "2026-03-02-kitchen"
QUESTION = "When does the electrician come, and what does he need?"
LOOKS = {"light": (WIDE, False), "dark": (WIDE, True), "narrow-light": (NARROW, False), "narrow-dark": (NARROW, True)}
MAX_HEIGHT = 1_300
WAIT_MILLISECONDS = 1_500  # until charts are drawn and figures refreshed


def main() -> None:
    """Take all pictures; raises if a page does not load."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data:
        stack = EmbeddedStack(Path(data))
        try:
            stack.start()
            with Client(stack.url, KEY) as client, chromium() as browser:
                pages = add_data(stack, client)
                for look, (width, dark) in LOOKS.items():
                    with reader(browser, stack.url, width=width, dark=dark) as window:
                        photograph(window, pages, folder, look)
        finally:
            stack.close()


def photograph(window: Reader, pages: Mapping[str, str], folder: Path, look: str) -> None:
    """One picture of each page: `<page>-<look>.png`."""
    page = window.page
    page.goto(f"{window.url}/ui/sign-in")
    page.screenshot(path=folder / f"sign-in-{look}.png")
    window.sign_in(KEY)
    for name, path in pages.items():
        window.open(path)
        page.wait_for_timeout(WAIT_MILLISECONDS)
        width, height = page.evaluate("[innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": min(max(height, 500), MAX_HEIGHT)}
        page.screenshot(path=folder / f"{name}-{look}.png", full_page=True, clip=clip)


def add_data(stack: EmbeddedStack, client: Client) -> Mapping[str, str]:
    """Add the sample conversation and some failures. Returns the paths of the pages that show them, by name."""
    client.call("PUT", f"/flows/{FLOW}", json={"name": "Home assistant"})
    plans = _memory(client, "Marta's plans", threshold=16, capture="all")
    answers = _memory(client, "Answers only", threshold=10, capture="outputs")
    _memory(client, "From now on", threshold=50, capture="all", start="now", auto_capture=False)
    for run in read_runs(files("memorybase").joinpath("samples/conversation.jsonl").read_text(), namespace="sample"):
        client.post_run(FLOW, {"session_id": run.session_id, "run_id": run.run_id, "messages": list(run.messages)})
    for base in (plans, answers):
        client.call("POST", f"/memories/{base}/flush", allow=(409,))
        client.settle(base, lambda _: None)
    run_id = _add_run(client)
    kitchen = client.get("/messages", flow_id=FLOW, session_id=SESSION, role="user")["items"]
    add_dead_letters(stack, plans, kitchen[2]["content"])
    _delete_collection(stack, client, answers)
    session = {"flow_id": client.memory(plans)["flow_id"], "session_id": SESSION, "memory_base_id": plans}
    return {
        "memories": "/",
        "memory": f"/memories/{plans}",
        "mismatch": f"/memories/{answers}",
        "session": f"/session?{urlencode(session)}",
        "search": f"/memories/{plans}/search?{urlencode({'q': QUESTION, 'neighbors': 1})}",
        "jobs": f"/memories/{plans}/jobs",
        "all-jobs": "/jobs",
        "run": f"/flows/{FLOW}/runs/{run_id}",
        "knowledge-bases": "/knowledge-bases",
        "keys": "/keys",
        "health": "/health",
    }


def _memory(client: Client, name: str, **body: object) -> str:
    base_id: str = client.call("POST", "/memories", json={"name": name, "flow_id": FLOW, **body})["id"]
    return base_id


def _add_run(client: Client) -> str:
    """Add a run with a context, a question and two answers, the second a regeneration. Returns the run's id."""
    question = {"id": "garden-question", "role": "user", "content": "What did I say about the wiring?"}
    answers = ["You said little about it.", "That it comes first, and that Mr. Osei does it."]
    messages = [
        {"id": f"garden-answer-{number}", "role": "assistant", "content": text, "parent_message_id": "garden-question"}
        for number, text in enumerate(answers)
    ]
    body = {"session_id": SESSION, "run_id": "garden", "messages": [question, *messages]}
    run = client.post_run(FLOW, body)
    context = {"flow_id": FLOW, "session_id": SESSION, "run_id": "garden", "node_id": "answer", "token_budget": 500}
    client.call("POST", "/context", json={**context, "query": QUESTION, "recall": {"scope": "flow"}})
    run_id: str = run["run_id"]
    return run_id


def _delete_collection(stack: EmbeddedStack, client: Client, base: str) -> None:
    """Delete the memory base's collection, so that there is a mismatch."""
    chroma = json.loads((stack.data / "run" / "stack.json").read_text())["chroma_url"]
    with closing(ChromaStore(chroma, timeout_seconds=30)) as store:
        delete_collections_of(store, base)
    client.get(f"/memories/{base}/mismatch")


if __name__ == "__main__":
    main()
