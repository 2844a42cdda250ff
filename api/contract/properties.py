"""Adds the schemas of what the domain keeps as plain JSON, and describes fields as values of them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import TypeAdapter, WithJsonSchema

from api import failures
from api.contract.lines import ExportLine, JobEvent
from api.contract.messages import Content, OpenAIViewMessage, SentMessage, ToolCalls, ViewMessage
from api.contract.typed import (
    ActionError,
    ErrorDetails,
    FixBody,
    FormerFields,
    MemoryUseSummary,
    ScoreParts,
    TracesAnswer,
    TracesExport,
    Turn,
)
from api.schemas import ExecutionOutputs
from memorybase.conversation import Source

# Those to which api.schemas and the routes refer; what is in them is found.
SCHEMAS: dict[str, Any] = {
    each.__name__: each
    for each in (SentMessage, ViewMessage, ErrorDetails, ExportLine, JobEvent, TracesExport, TracesAnswer)
}
# Of answers that the domain types as plain JSON.
PROPERTIES: dict[str, Any] = {
    "MessageView.content": Content,
    "DeletedMessageView.content": Content,
    "ChangeView.former": FormerFields | None,
    "ActionResult.error": ActionError | None,
    "MessageView.tool_calls": ToolCalls,
    "ChatMessageView.content": Content,
    "ChatMessageView.tool_calls": ToolCalls,
    "NodeExecutionView.outputs": ExecutionOutputs,
    "NodeExecutionView.few_shots": list[OpenAIViewMessage],
    "NodeUse.messages": list[ViewMessage],
    "NodeUse.sources": list[Source],
    "NodeUse.memoryUseSummary": MemoryUseSummary | None,
    "Fix.body": FixBody | None,
    "Hit.content": Content,
    "Hit.before": list[Turn],
    "Hit.after": list[Turn],
    "Hit.parts": ScoreParts | None,
    "ErrorBody.code": Annotated[str, WithJsonSchema({"type": "string", "enum": failures.codes()})],
}
_KEPT = ("title", "description", "default")
_REF = "#/components/schemas/{model}"


def add_types(document: dict[str, Any]) -> None:
    """Add the schemas, and replace those of the properties."""
    types = SCHEMAS | PROPERTIES
    described, definitions = TypeAdapter.json_schemas(
        [(name, "validation", TypeAdapter(each)) for name, each in types.items()], ref_template=_REF
    )
    schemas = document["components"]["schemas"]
    for name, schema in definitions["$defs"].items():
        if name not in schemas:  # those of FastAPI are of what is answered
            schemas[name] = schema
            for each in schema.get("properties", {}).values():
                each.pop("title", None)
    schemas["ChatMemoryLine"]["properties"] |= schemas["ChatMemoryConfig"]["properties"]
    for place in PROPERTIES:
        owner, _, name = place.partition(".")
        stated = schemas[owner]["properties"][name]
        kept = {key: stated[key] for key in _KEPT if key in stated}
        schemas[owner]["properties"][name] = kept | described[place, "validation"]
    _refer(document)


def _refer(part: Any) -> None:
    """Replace what api.schemas.described left by a reference."""
    if isinstance(part, dict):
        if (name := part.pop("x-schema", None)) is not None:
            part["$ref"] = _REF.format(model=name)
        for each in part.values():
            _refer(each)
    elif isinstance(part, list):
        for each in part:
            _refer(each)
