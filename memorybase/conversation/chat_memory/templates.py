"""Templates that a flow's author writes and a service renders: a sandboxed subset of Jinja2.

    {{ start.chat_id }}   {{ start | json }}   user-{{ start.user_id | default("anonymous") }}
    {% if start.topic %}...{% else %}...{% endif %}   {% for one in start.messages %}...{% endfor %}

Values, filters, conditions and one level of loops; no calls, no arithmetic, no attributes of Python objects. A missing
or null value is an error, never empty text: otherwise two users without ids would share a memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, Undefined, UndefinedError, nodes
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from memorybase.errors import InvalidRequest

MAX_TEMPLATE_CHARS = 8_000
MAX_RENDERED_CHARS = 1_000_000

_ALLOWED = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem,
    nodes.Slice, nodes.Filter, nodes.Keyword, nodes.Test, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not,
    nodes.CondExpr, nodes.If, nodes.For, nodes.List, nodes.Neg,
)  # fmt: skip


class _TooLong(Exception):
    """The rendered text exceeds the bound."""


class _Environment(ImmutableSandboxedEnvironment):
    """Reads keys of objects and items of lists, and nothing else of any value."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, LoopContext):
            return super().getattr(obj, attribute)
        return self._read(obj, attribute, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        return self._read(obj, argument, "[...]")  # the argument may be a user's value, which no error may show

    def _read(self, obj: Any, key: Any, name: str) -> Any:
        if isinstance(obj, Undefined):
            return obj
        if isinstance(obj, Mapping | list | str):
            with suppress(LookupError, TypeError):
                return obj[key]
        return self.undefined(obj=obj, name=name)


def check_template(source: str, field: str) -> None:
    """Raises InvalidRequest, naming `field`, for a template that no variables could render."""
    if len(source) > MAX_TEMPLATE_CHARS:
        message = f"The template must have at most {MAX_TEMPLATE_CHARS} characters"
        raise InvalidRequest(message, field=field, value=len(source), limit=MAX_TEMPLATE_CHARS)
    if not source.strip():
        raise InvalidRequest("The template must not be blank", field=field)
    try:
        _compiled(source)
    except TemplateSyntaxError as error:
        raise InvalidRequest(f"The template has a syntax error in line {error.lineno}", field=field) from None
    except (TemplateError, RecursionError):
        raise InvalidRequest("The template cannot be parsed", field=field) from None


def render(
    source: str, variables: Mapping[str, Any], *, field: str, max_chars: int = MAX_RENDERED_CHARS, blanks: bool = True
) -> str:
    """The template rendered with these variables. Without `blanks`, no value in it may be empty.

    Raises InvalidRequest, naming `field`, also for a variable that is missing or null.
    """
    check_template(source, field)
    try:
        return _joined(_compiled(source, blanks).generate(variables), max_chars)
    except _TooLong:
        message = f"The rendered template must have at most {max_chars} characters"
        raise InvalidRequest(message, field=field, limit=max_chars) from None
    except UndefinedError as error:
        # The message holds names alone, never values.
        raise InvalidRequest(f"The template needs a value: {error.message}", field=field) from None
    except (TemplateError, TypeError, ValueError, ArithmeticError, RecursionError):
        raise InvalidRequest("The template cannot be rendered with these variables", field=field) from None


def _joined(parts: Iterable[str], max_chars: int) -> str:
    rendered: list[str] = []
    size = 0
    for part in parts:
        rendered.append(part)
        size += len(part)
        if size > max_chars:
            raise _TooLong
    return "".join(rendered)


def _check_nodes(template: nodes.Template) -> None:
    for node in template.find_all(nodes.Node):
        if not isinstance(node, _ALLOWED) or (isinstance(node, nodes.CondExpr) and node.expr2 is None):
            _refuse(node)
    for loop in template.find_all(nodes.For):
        if loop.recursive or any(inner is not loop for inner in loop.find_all(nodes.For)):
            _refuse(loop)


def _refuse(node: nodes.Node) -> None:
    message = "templates do not allow this expression"
    raise TemplateSyntaxError(message, node.lineno)


def _written(value: Any) -> str:
    """A value as text; objects and lists as JSON."""
    if value is None:
        message = "a value is null"
        raise UndefinedError(message)
    if isinstance(value, Undefined):
        return str(value)  # StrictUndefined raises and names it
    return value if isinstance(value, str) else _json(value)


def _written_not_blank(value: Any) -> str:
    text = _written(value)
    if not text.strip():
        message = "a value is empty"
        raise UndefinedError(message)
    return text


def _bounded(text: str) -> str:
    if len(text) > MAX_RENDERED_CHARS:
        raise _TooLong
    return text


def _json(value: Any) -> str:
    if isinstance(value, Undefined):
        return str(value)  # StrictUndefined raises and names it
    return _bounded(json.dumps(value, ensure_ascii=False))


def _default(value: Any, fallback: Any = "") -> Any:
    return fallback if value is None or isinstance(value, Undefined) else value


def _join(values: Any, separator: str = "") -> str:
    if not isinstance(values, list):
        message = "join needs a list"
        raise TypeError(message)
    texts = [_written(value) for value in values]
    if sum(map(len, texts)) + len(separator) * len(texts) > MAX_RENDERED_CHARS:
        raise _TooLong
    return separator.join(texts)


def _text_filter(method: str) -> Any:
    def apply(value: Any) -> str:
        text: str = getattr(_written(value), method)()
        return text

    return apply


def _environment(finalize: Any) -> _Environment:
    environment = _Environment(
        undefined=StrictUndefined,
        finalize=finalize,
        autoescape=False,  # the result is not HTML
        cache_size=0,
        keep_trailing_newline=True,
    )
    known = environment.filters
    environment.globals.clear()
    environment.filters = {
        "json": _json,
        "default": _default,
        "join": _join,
        **{name: _text_filter(method) for name, method in _TEXT_FILTERS.items()},
        **{name: known[name] for name in ("first", "last", "length", "count", "int", "float")},
    }
    return environment


_TEXT_FILTERS = {"trim": "strip", "upper": "upper", "lower": "lower", "title": "title", "capitalize": "capitalize"}
_ENVIRONMENT = _environment(_written)
_NO_BLANKS = _environment(_written_not_blank)


@lru_cache(maxsize=512)
def _compiled(source: str, blanks: bool = True) -> Template:
    environment = _ENVIRONMENT if blanks else _NO_BLANKS
    _check_nodes(environment.parse(source))
    return environment.from_string(source)
