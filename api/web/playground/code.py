"""The search and the context of the playground as code to copy, which gives the same result. Pure."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from api.web.playground.asked import NO_SESSION, Asked, Setting

KEY = "MEMORYBASE_API_KEY"


@dataclass(frozen=True, slots=True)
class Snippet:
    """Code in one language, and what is to know about it."""

    name: str
    text: str
    note: str = ""


_MCP_NOTE = "The tool searches one flow as its memories keep it: save weights for the memory to have them here."
_CONTEXT_NOTE = "Gives what “The model is given” shows."
_SEARCH_NOTE = "Gives the results as a message. Choose a flow to get a whole context."


def snippets(asked: Asked, setting: Setting, origin: str) -> list[Snippet]:
    search, context = search_body(asked, setting), context_body(asked, setting)
    return [
        Snippet("curl", _curl(origin, "search", search), f"{KEY} holds an API key that may read."),
        Snippet("Python", _python(origin, search), "In a copy of the repository: pip install ./clients/python"),
        Snippet("LangGraph", _langgraph(origin, search, context), _CONTEXT_NOTE if context else _SEARCH_NOTE),
        Snippet("MCP", _mcp(asked, setting), _MCP_NOTE),
        *([Snippet("curl, for the model", _curl(origin, "context", context), _CONTEXT_NOTE)] if context else []),
    ]


def search_body(asked: Asked, setting: Setting) -> dict[str, Any]:
    """The body of POST /v1/search."""
    scope: dict[str, Any] = {"flow_id": asked.flow} if asked.flow else {"all": True}
    if memories := asked.searched_by(setting):
        scope = {"memory_base_ids": [str(each) for each in memories]}
    return {
        "query": asked.q,
        **scope,
        **({} if setting.limit is None else {"min_score": setting.limit}),
        **_common(asked, setting),
        **_date_of(asked),
        **({"end_user_id": asked.person} if asked.person else {}),
        **({"fold_alike": True} if asked.fold else {}),
        **({"corrections": setting.corrections} if setting.corrections is not None else {}),
    }


def context_body(asked: Asked, setting: Setting) -> dict[str, Any]:
    """The body of POST /v1/context; empty without a flow."""
    if not asked.flow:
        return {}
    memories = asked.searched_by(setting)
    return {
        "flow_id": asked.flow,
        "session_id": asked.session or NO_SESSION,
        "token_budget": asked.budget,
        "query": asked.q,
        **({"preset": asked.preset} if asked.preset != "token_buffer" else {}),
        **({"end_user_id": asked.person} if asked.person else {}),
        **({"memory_base_ids": [str(each) for each in memories]} if memories else {}),
        **_date_of(asked),
        "recall": {"scope": "flow", "min_score": setting.min_score, **_common(asked, setting)},
    }


def _date_of(asked: Asked) -> dict[str, str]:
    return {} if asked.as_of is None else {"as_of": asked.as_of.isoformat()}


def _common(asked: Asked, setting: Setting) -> dict[str, Any]:
    since = asked.since()
    weights = {part: factor for part, factor in asdict(setting.weights).items() if factor != 1}
    return {
        "top_k": setting.k,
        "mode": setting.mode,
        **({"roles": [asked.role]} if asked.role else {}),
        **({"since": since.isoformat()} if since else {}),
        **({"half_life_days": setting.half_life} if setting.half_life is not None else {}),
        **({"weights": weights} if weights else {}),
    }


def _curl(origin: str, path: str, body: dict[str, Any]) -> str:
    quoted = json.dumps(body, indent=2, ensure_ascii=False).replace("'", "'\\''")
    return (
        f"curl -sS {origin}/v1/{path} \\\n"
        f'  -H "Authorization: Bearer ${KEY}" \\\n'
        "  -H 'Content-Type: application/json' \\\n"
        f"  -d '{quoted}'"
    )


def _python(origin: str, body: dict[str, Any]) -> str:
    return (
        "import os\n\n"
        "from memorybase_client import Client\n\n"
        f'with Client("{origin}", os.environ["{KEY}"]) as client:\n'
        f"    answer = client.search_flow(\n{_arguments(body, 8)}    )\n"
        "    for hit in answer.results:\n"
        '        print(f"{hit.score:.2f}", hit.content)\n'
    )


def _langgraph(origin: str, search: dict[str, Any], context: dict[str, Any]) -> str:
    asked = 'state["messages"][-1].content'
    head = (
        "import os\n\n"
        "from langgraph.graph import MessagesState\n"
        "from memorybase_client import Client\n\n"
        f'client = Client("{origin}", os.environ["{KEY}"])\n\n\n'
    )
    if context:
        body = {name: value for name, value in context.items() if name not in {"query", "session_id"}}
        return (
            f"{head}def remember(state: MessagesState, config) -> dict:\n"
            '    """What memory gives the model, before the latest question."""\n'
            "    view = client.build_context(\n"
            f"        query={asked},\n"
            '        session_id=config["configurable"]["thread_id"],\n'
            f"{_arguments(body, 8)}    )\n"
            '    return {"messages": [*view.messages, state["messages"][-1]]}\n'
        )
    body = {name: value for name, value in search.items() if name != "query"}
    return (
        f"{head}def remember(state: MessagesState) -> dict:\n"
        '    """What memory finds for the latest question."""\n'
        "    answer = client.search_flow(\n"
        f"        query={asked},\n"
        f"{_arguments(body, 8)}    )\n"
        '    found = "\\n".join(str(hit.content) for hit in answer.results)\n'
        '    return {"messages": [{"role": "system", "content": f"Memories:\\n{found}"}]}\n'
    )


def _mcp(asked: Asked, setting: Setting) -> str:
    since = asked.since()
    arguments = {
        "query": asked.q,
        "top_k": min(setting.k, 50),
        **({"role": asked.role} if asked.role else {}),
        **({"after": since.isoformat()} if since else {}),
        **_date_of(asked),
    }
    call = {"method": "tools/call", "params": {"name": "search_memory", "arguments": arguments}}
    return json.dumps(call, indent=2, ensure_ascii=False)


def _arguments(body: dict[str, Any], indent: int) -> str:
    return "".join(f"{' ' * indent}{name}={value!r},\n" for name, value in body.items())
