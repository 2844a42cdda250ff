"""The features: what not every user needs, one folder each. Only the list below names them; each can be taken out.

A folder has the tables, statements, domain, hooks, routes, pages and commands of its feature, and the templates and
static files of its pages. What is named routes, page or commands, or begins so, may import the shell that it is for;
the other files import the core.
"""

from __future__ import annotations

from memorybase.extension import Extension, Hooks
from memorybase.features import (
    audit_log,
    backup,
    dify,
    documents,
    facts,
    lab,
    memory_map,
    retention,
    splox,
    trace_capture,
    webhooks,
)

# In the order in which their hooks run, their routes are found and their pages are shown.
EXTENSIONS: tuple[Extension, ...] = (
    retention.EXTENSION,
    audit_log.EXTENSION,
    backup.EXTENSION,
    dify.EXTENSION,
    documents.EXTENSION,
    facts.EXTENSION,
    lab.EXTENSION,
    memory_map.EXTENSION,
    splox.EXTENSION,
    trace_capture.EXTENSION,
    webhooks.EXTENSION,
)


def hooks() -> tuple[Hooks, ...]:
    """The hooks of all features. Loading them declares their tables."""
    return tuple(each.hooks() for each in EXTENSIONS if each.hooks is not None)
