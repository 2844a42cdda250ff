"""Templates that a flow's author writes and a service renders: a sandboxed subset of Jinja2.

    {{ start.chat_id }}   {{ start | json }}   user-{{ start.user_id | default("anonymous") }}
    {% if start.topic %}...{% else %}...{% endif %}   {% for one in start.messages %}...{% endfor %}

Values, filters, conditions and one level of loops; no calls, no arithmetic, no attributes of Python objects. A missing
or null value is an error, never empty text: otherwise two users without ids would share a memory. Rendering may take a
bounded amount of work; see template_work.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from jinja2 import (
    StrictUndefined,
    Template,
    TemplateError,
    TemplateSyntaxError,
    Undefined,
    UndefinedError,
    nodes,
    pass_context,
)
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from memorybase.core.errors import InvalidRequest
from memorybase.features.splox import template_work
from memorybase.features.splox.template_work import MAX_DEPTH, MAX_NODES, OutOfWork, Work

MAX_TEMPLATE_CHARS = 8_000
MAX_RENDERED_CHARS = 1_000_000

_ALLOWED = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Const,
    nodes.Getattr,
    nodes.Getitem,
    nodes.Slice,
    nodes.Filter,
    nodes.Keyword,
    nodes.Test,
    nodes.Compare,
    nodes.Operand,
    nodes.And,
    nodes.Or,
    nodes.Not,
    nodes.CondExpr,
    nodes.If,
    nodes.For,
    nodes.List,
    nodes.Neg,
)


class _TooLong(Exception):
    """The rendered text exceeds the bound."""


class _TooComplex(Exception):
    """The template is larger or deeper than any that is compiled."""

    def __init__(self, verb: str, limit: int, things: str) -> None:
        super().__init__(f"{verb} {limit} {things}")
        self.limit = limit


class _Rendering(Context):
    """One rendering: its variables, the work it has left, and whether its values may be blank."""

    def __init__(self, template: Template, variables: Mapping[str, Any], blanks: bool) -> None:
        super().__init__(template.environment, dict(variables), template.name, template.blocks)
        self.work = Work()
        self.blanks = blanks


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
    except _TooComplex as error:
        raise InvalidRequest(f"The template must {error}", field=field, limit=error.limit) from None
    except TemplateSyntaxError as error:
        raise InvalidRequest(f"The template has a syntax error in line {error.lineno}", field=field) from None
    except (TemplateError, RecursionError, SyntaxError):  # Python's own limits on the compiled template
        raise InvalidRequest("The template cannot be parsed", field=field) from None


def render(
    source: str, variables: Mapping[str, Any], *, field: str, max_chars: int = MAX_RENDERED_CHARS, blanks: bool = True
) -> str:
    """The template rendered with these variables. Without `blanks`, no value in it may be empty.

    Raises InvalidRequest, naming `field`, also for a variable that is missing or null, and for too much work.
    """
    check_template(source, field)
    template = _compiled(source)
    try:
        return _joined(template.root_render_func(_Rendering(template, variables, blanks)), max_chars)
    except _TooLong:
        message = f"The rendered template must have at most {max_chars} characters"
        raise InvalidRequest(message, field=field, limit=max_chars) from None
    except OutOfWork as error:
        message = f"Rendering the template with these variables takes more than {error.limit} {error.unit}"
        raise InvalidRequest(message, field=field, limit=error.limit) from None
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
    count, depth = template_work.size_of(template)
    if count > MAX_NODES:
        raise _TooComplex("have at most", MAX_NODES, "values, keys, filters, conditions and pieces of text")
    if depth > MAX_DEPTH:
        raise _TooComplex("be nested at most", MAX_DEPTH, "levels deep; a key or filter is a level")
    for node in template.find_all(nodes.Node):
        if not isinstance(node, _ALLOWED) or (isinstance(node, nodes.CondExpr) and node.expr2 is None):
            _refuse(node)
        if isinstance(node, nodes.Filter | nodes.Test) and (node.dyn_args or node.dyn_kwargs):
            _refuse(node)
    for loop in template.find_all(nodes.For):
        if loop.recursive or any(inner is not loop for inner in loop.find_all(nodes.For)):
            _refuse(loop)


def _refuse(node: nodes.Node) -> None:
    message = "templates do not allow this expression"
    raise TemplateSyntaxError(message, node.lineno)


@pass_context
def _written(rendering: _Rendering, value: Any) -> str:
    """A value as text; objects and lists as JSON."""
    if value is None:
        message = "a value is null"
        raise UndefinedError(message)
    if isinstance(value, Undefined):
        return str(value)  # StrictUndefined raises and names it
    if not isinstance(value, str):
        return _json(rendering, value)
    rendering.work.charge_text(len(value))
    return value


@pass_context
def _output(rendering: _Rendering, value: Any) -> str:
    text = _written(rendering, value)
    if not rendering.blanks and not text.strip():
        message = "a value is empty"
        raise UndefinedError(message)
    return text


@pass_context
def _json(rendering: _Rendering, value: Any) -> str:
    if isinstance(value, Undefined):
        return str(value)  # StrictUndefined raises and names it
    rendering.work.charge_value(value)
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > MAX_RENDERED_CHARS:
        raise _TooLong
    return text


def _default(value: Any, fallback: Any = "") -> Any:
    return fallback if value is None or isinstance(value, Undefined) else value


@pass_context
def _join(rendering: _Rendering, values: Any, separator: str = "") -> str:
    if not isinstance(values, list):
        message = "join needs a list"
        raise TypeError(message)
    rendering.work.charge_text(len(values) * (template_work.VALUE + len(separator)))
    texts = [_written(rendering, value) for value in values]
    if sum(map(len, texts)) + len(separator) * len(texts) > MAX_RENDERED_CHARS:
        raise _TooLong
    return separator.join(texts)


def _text_filter(method: str) -> Any:
    @pass_context
    def apply(rendering: _Rendering, value: Any) -> str:
        text: str = getattr(_written(rendering, value), method)()
        return text

    return apply


def _charging(charge: Callable[..., None], known: Callable[..., Any] | None = None) -> Any:
    """A filter that charges for its value, then returns what the `known` filter makes of it, or the value itself."""

    @pass_context
    def apply(rendering: _Rendering, value: Any, *arguments: Any) -> Any:
        if not isinstance(value, Undefined):
            charge(rendering.work, value, *(() if known else arguments))
        return known(value, *arguments) if known else value

    return apply


def _environment() -> _Environment:
    environment = _Environment(
        undefined=StrictUndefined,
        finalize=_output,
        autoescape=False,  # the result is not HTML
        cache_size=0,
        keep_trailing_newline=True,
    )
    known = environment.filters
    environment.globals.clear()
    # A filter with a context is never evaluated at compile time, where no work is counted.
    environment.filters = {
        "json": _json,
        "default": _default,
        "join": _join,
        **{name: _text_filter(method) for name, method in _TEXT_FILTERS.items()},
        **{name: _charging(Work.charge_value, known[name]) for name in ("int", "float")},
        **{name: known[name] for name in ("first", "last", "length", "count")},
        template_work.LOOP: _charging(Work.charge_loop),
        template_work.TEXT: _charging(Work.charge_value),
        template_work.MEMBERS: _charging(Work.charge_members),
    }
    return environment


_TEXT_FILTERS = {"trim": "strip", "upper": "upper", "lower": "lower", "title": "title", "capitalize": "capitalize"}
_ENVIRONMENT = _environment()


@lru_cache(maxsize=512)
def _compiled(source: str) -> Template:
    parsed = _ENVIRONMENT.parse(source)
    _check_nodes(parsed)
    return _ENVIRONMENT.from_string(template_work.metered(parsed, _ENVIRONMENT))
