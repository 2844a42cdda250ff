"""The features: what not every user needs, one folder each. Only the list below names them; each can be taken out.

A folder has the tables, statements, domain, hooks, routes, pages and commands of its feature, and the templates and
static files of its pages. What is named routes, page or commands, or begins so, may import the shell that it is for;
the other files import the core.
"""

from __future__ import annotations

from memorybase.core.extension import Extension, Hooks

# In the order in which their hooks run, their routes are found and their pages are shown.
EXTENSIONS = (
    Extension("quotas", ("hooks", "routes", "page", "commands")),
    Extension("retention", ("hooks", "routes", "page", "commands")),
    Extension("audit_log", ("hooks", "routes", "page", "commands")),
    Extension("backup", ("commands",)),
    Extension("dify", ("hooks", "routes")),
    Extension("documents", ("hooks", "routes", "page")),
    Extension("facts", ("hooks", "routes", "page")),
    Extension("hit_corrections", ("hooks",)),
    Extension("lab", ("hooks", "routes", "page", "commands")),
    Extension("memory_map", ("hooks", "routes", "page")),
    Extension("secret_redaction", ("hooks", "routes", "page", "commands")),
    Extension("splox", ("hooks", "routes")),
    Extension("standing_statements", ("hooks", "routes", "page", "commands")),
    Extension("trace_capture", ("routes",)),
    Extension("webhooks", ("hooks", "routes", "page", "commands")),
)


def hooks() -> tuple[Hooks, ...]:
    """The hooks of all features. Loading them declares their tables."""
    return tuple(found for each in EXTENSIONS if (found := each.hooks()) is not None)
