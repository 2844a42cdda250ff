"""The first minute: from an empty stack to a hit, in six steps that turn green as they are done."""

from __future__ import annotations

import hashlib
import unicodedata
from typing import Annotated, Any

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response

from api.web.calls import without_content
from api.web.corrections import is_outdated, notes
from api.web.rendering import address
from api.web.visits import Visit, Visitor
from memorybase.core import errors, ids, shell
from memorybase.core.import_export import sample
from memorybase.core.memory_bases import manage
from memorybase.core.memory_bases.manage import NewMemoryBase
from memorybase.core.models import Capture
from memorybase.core.operations import stack_parts
from memorybase.core.read_models.onboarding import Onboarding, onboarding
from memorybase.core.read_models.overview import Overview
from memorybase.core.read_models.titles import session_titles
from memorybase.core.search import search
from memorybase.core.search.bands import MIN_SCORE
from memorybase.core.search.hits import Hit
from memorybase.core.search.request import SearchRequest
from memorybase.core.sessions import flows

router = APIRouter(include_in_schema=False)

PATH = "/first-minute"
LANGUAGES = {"curl": "curl", "python": "Python", "typescript": "TypeScript", "langgraph": "LangGraph", "dify": "Dify"}
QUESTION = "Which berth has shore power?"
COOKIE = "memorybase_guide"
OPEN, LEFT = "open", "left"
# Letters that NFKD takes for no accented ones.
_LETTERS = str.maketrans({"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th"})

_CODE = {
    "curl": """curl URL/v1/flows/FLOW/runs \\
  -H "Authorization: Bearer $MEMORYBASE_API_KEY" -H "Content-Type: application/json" \\
  -d '{"session_id": "goran", "messages": [
       {"role": "user", "content": "Which berth has shore power?"},
       {"role": "assistant", "content": "Berth 12 has shore power. It is free from Friday."}]}'""",
    "python": """# In a copy of the repository: pip install ./clients/python
from memorybase_client import Client

with Client("URL") as client:  # the key: MEMORYBASE_API_KEY
    client.capture_run("FLOW", session_id="goran", messages=[
        {"role": "user", "content": "Which berth has shore power?"},
        {"role": "assistant", "content": "Berth 12 has shore power. It is free from Friday."},
    ])""",
    "typescript": """// In a copy of the repository: (cd clients/typescript && npm ci && npm pack)
// Here: npm install REPOSITORY/clients/typescript/memorybase-client-*.tgz
import { Client } from "memorybase-client";

const client = new Client({ url: "URL" }); // the key: MEMORYBASE_API_KEY
await client.captureRun("FLOW", { session_id: "goran", messages: [
  { role: "user", content: "Which berth has shore power?" },
  { role: "assistant", content: "Berth 12 has shore power. It is free from Friday." },
] });""",
    "langgraph": """# In a copy of the repository: pip install './clients/python[langgraph]'
from memorybase_client import AgentMemory
from memorybase_client.integrations.langgraph import RunHook

memory = AgentMemory("FLOW", url="URL", outbox="memorybase-outbox")  # the key: MEMORYBASE_API_KEY
app = graph.compile().with_config(callbacks=[RunHook(memory)])
app.invoke({"messages": [("user", "Which berth has shore power?")]}, {"configurable": {"thread_id": "goran"}})""",
    "dify": """An HTTP Request node after the answer:
POST URL/v1/flows/FLOW/runs
Authorization: Bearer, with this key
Body, JSON:
{"session_id": "{{#sys.conversation_id#}}", "run_id": "{{#sys.workflow_run_id#}}", "messages": [
  {"role": "user", "content": "{{#sys.query#}}"},
  {"role": "assistant", "content": "{{#llm.text#}}"}]}""",
}


def begins(visit: Visit, found: Overview) -> bool:
    """Whether Home leads to the guide: nothing was ever captured, and nobody has left the guide in this browser."""
    is_new = not any(flow.last_captured_at for flow in found.flows)
    return is_new and visit.request.cookies.get(COOKIE) != LEFT


def is_open(visit: Visit) -> bool:
    """Whether this browser began the guide, and neither finished nor left it: then Home has a link to it."""
    return visit.request.cookies.get(COOKIE) == OPEN


def enter(visit: Visit) -> Response:
    """To the guide, at an address of its own: it stays there when the first run comes."""
    return _kept(visit, RedirectResponse(f"{visit.root}{PATH}", 303), OPEN)


def leave(visit: Visit) -> Response:
    """To Home, which no longer leads to the guide."""
    return _kept(visit, RedirectResponse(f"{visit.root}/", 303), LEFT)


def _kept(visit: Visit, response: Response, state: str) -> Response:
    response.set_cookie(
        COOKIE,
        state,
        max_age=31_536_000,
        path=visit.root or "/",
        httponly=True,
        samesite="lax",
        secure=visit.request.url.scheme == "https",
    )
    return response


async def page(visit: Visit, *, language: str = "curl", error: str = "") -> Response:
    steps = await visit.read(onboarding)
    return visit.page(
        "first_minute.html", place="home", title="First minute", error=error, **_values(visit, steps, language)
    )


@router.get(PATH)
@without_content
async def guide(visit: Visitor, lang: str = "") -> Response:
    return await page(visit, language=lang)


@router.get(f"{PATH}/steps")
@without_content
async def steps_done(visit: Visitor, lang: str = "") -> Response:
    return visit.live("first_minute_steps.html", error="", **_values(visit, await visit.read(onboarding), lang))


@router.get(f"{PATH}/search")
async def try_search(visit: Visitor, q: str = "") -> Response:
    """The sixth step: one search, shown below it."""
    steps = await visit.read(onboarding)
    hits: list[Hit] = []
    error = ""
    if steps.flow_id is not None and q.strip():
        try:
            asked = SearchRequest(query=q, top_k=3, flow_id=steps.flow_id, min_score=MIN_SCORE)  # as for a model
            hits = (await visit.read(search.search, asked)).results
        except errors.EnvironmentFailure as failure:
            error = failure.message
    listed = {hit.message_id for hit in hits}
    noted = [(hit, notes(hit, listed), is_outdated(hit)) for hit in hits]
    named = await visit.read(session_titles, {(steps.flow_id, hit.session_id) for hit in hits if steps.flow_id})
    answer = visit.fragment("first_minute_search.html", q=q, hits=noted, error=error, steps=steps, titles=named)
    return _kept(visit, answer, LEFT) if hits else answer  # the last step is done


@router.post(f"{PATH}/start")
async def start(visit: Visitor, name: Annotated[str, Form()]) -> Response:
    """Create a flow and its memory base, both with this name."""
    name = name.strip()
    if not 1 <= len(name) <= 200:
        return await page(visit, error="Write a name of 1 to 200 characters.")
    slug = _slug(name)
    # Other names may leave the same slug: all without ASCII do.
    for own_id in (slug, f"{slug}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"):
        flow_id = ids.flow_id(visit.principal.user_id, own_id)
        flow, _ = await visit.write(flows.put_flow, name=name, flow_id=flow_id, external_id=own_id, rename=False)
        if flow.name == name:
            break
    else:
        return await page(visit, error=f"A flow called {flow.name} has the id {own_id} already. Choose another name.")
    new = NewMemoryBase(name=name, flow_id=flow.id, threshold=2, capture=Capture.ALL)
    try:
        await visit.write(manage.create_memory_base, new)
    except errors.NameTaken:
        return await page(visit, error=f"A memory is called {name} already. Choose another name.")
    return visit.done(PATH, f"{name} is ready. Send it a run.")


@router.post(f"{PATH}/sample")
async def load_sample(visit: Visitor) -> Response:
    await visit.write(sample.load)
    return visit.done(PATH, "The sample data is loaded, and is being ingested.")


@router.post(f"{PATH}/sample/remove")
async def remove_sample(visit: Visitor) -> Response:
    try:
        await visit.write(sample.remove)
    except errors.NotFound:
        return visit.done("/", "There is no sample data.")
    return visit.done("/", "The sample data is removed.")


def _slug(name: str) -> str:
    """An id in ASCII: "Café bot" is cafe-bot."""
    plain = unicodedata.normalize("NFKD", name.casefold().translate(_LETTERS))
    words = "".join(c if c.isalnum() else " " for c in plain if not unicodedata.combining(c))
    return "-".join(words.encode("ascii", "ignore").decode().split())[:100].strip("-") or "my-flow"


def _values(visit: Visit, steps: Onboarding, language: str) -> dict[str, Any]:
    chosen = language if language in LANGUAGES else "curl"
    settings = visit.services.settings
    is_sample = steps.flow == sample.FLOW
    key = shell.export("MEMORYBASE_API_KEY", settings.data_dir / "api_key")
    if not stack_parts.is_embedded(settings):
        key = "export MEMORYBASE_API_KEY=mb_...   # this key"
    return {
        "steps": steps,
        "language": chosen,
        "languages": [(name, label, f"{visit.root}{address(PATH, lang=name)}") for name, label in LANGUAGES.items()],
        "key_command": key,
        "code_text": _code(chosen, visit.origin, steps.flow) if steps.flow else "",
        "is_sample": is_sample,
        "question": sample.QUESTION if is_sample else QUESTION,
    }


def _code(language: str, url: str, flow: str) -> str:
    """A call that captures one run of this flow, as it can be pasted."""
    return _CODE[language].replace("URL", url).replace("FLOW", flow)
