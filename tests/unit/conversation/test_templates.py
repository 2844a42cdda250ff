"""Templates: values and conditions, no unbounded work, no Python attributes, and no silent blanks."""

from __future__ import annotations

from typing import Any

import pytest

from memorybase.conversation.chat_memory.templates import MAX_RENDERED_CHARS, MAX_TEMPLATE_CHARS, check_template, render
from memorybase.errors import InvalidRequest

START: dict[str, Any] = {
    "start": {
        "user_id": "u1", "text": "hé", "n": 3, "yes": True, "null": None, "empty": " ", "items": [1, "b"],
        "object": {"k": "v"}, "html": "<b>", "secret": "s3cret",
    }
}  # fmt: skip


@pytest.mark.parametrize(
    ("source", "rendered"),
    [
        ("user-{{ start.user_id }}-{{ start['n'] }}", "user-u1-3"),
        ("{{ start.object | json }}", '{"k": "v"}'),
        ("{{ start.text | json }}", '"hé"'),
        ("{{ start.object }} {{ start.yes }}", '{"k": "v"} true'),  # as JSON, not as Python literals
        ("{{ start.items }}", '[1, "b"]'),  # the key, not the dict method
        ("{{ start.items | join('-') }} {{ start.items[0] }} {{ start.items | length }}", "1-b 1 2"),
        ("{{ start.nope | default('d') }} {{ nope.a.b | default('e') }} {{ start.null | default('f') }}", "d e f"),
        ("{% if start.yes %}a{% else %}b{% endif %}{{ 'c' if start.n > 2 else 'd' }}", "ac"),
        ("{% for one in start.items %}{{ loop.index }}{{ one }};{% endfor %}", "11;2b;"),
        ("{{ start.html | upper }} {{ start.text[:1] }}\n", "<B> h\n"),
    ],
)
def test_a_template_renders(source: str, rendered: str) -> None:
    assert render(source, START, field="f") == rendered


@pytest.mark.parametrize(
    "source", ["{{ nope }}", "{{ nope.x }}", "{{ start.nope }}", "{{ start.null }}", "{{ nope | json }}"]
)
def test_a_missing_value_is_an_error(source: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        render(source, START, field="variables")
    assert (caught.value.field, caught.value.message[:27]) == ("variables", "The template needs a value:")


def test_without_blanks_no_value_is_empty() -> None:
    assert render("a-{{ start.empty }}", START, field="f") == "a- "
    for source in ("a-{{ start.empty }}", "a-{{ start.nope | default('') }}"):
        with pytest.raises(InvalidRequest, match="empty"):
            render(source, START, field="f", blanks=False)


@pytest.mark.parametrize(
    "source",
    [
        "{{", "{{ start.text.upper() }}", "{{ range(9) }}", "{{ 'a' * 9 }}", "{{ 2 ** 9 }}", "{{ start ~ start }}",
        "{{ start.text | format }}", "{{ start | attr('x') }}", "{% set x = 1 %}", "{% include 'x' %}",
        "{% import 'x' as y %}", "{% macro m() %}{% endmacro %}", "{% extends 'x' %}", "{{ 1 if start }}", " ",
        "{% for a in start.items %}{% for b in start.items %}{% endfor %}{% endfor %}",
        "{% for a in start.items recursive %}{% endfor %}", "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
        "{{ x" + " | json" * 1500 + " }}", "x" * (MAX_TEMPLATE_CHARS + 1), "{% if x %}" * 300 + "{% endif %}" * 300,
    ],
)  # fmt: skip
def test_disallowed_expressions_are_rejected_before_rendering(source: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        check_template(source, "chat_id")
    assert caught.value.field == "chat_id"


@pytest.mark.parametrize(
    "source",
    ["{{ start.text.__class__ }}", "{{ start.__init__ }}", "{{ start['__class__'] }}", "{{ self }}",
     "{{ start.text.upper }}", "{{ start.items.append }}", "{{ loop.index }}", "{{ start[start.secret] }}"],
)  # fmt: skip
def test_python_attributes_are_unreachable_and_errors_show_no_value(source: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        render(source, START, field="f")
    assert "s3cret" not in caught.value.message


@pytest.mark.parametrize(
    ("source", "variables"),
    [
        ("{% for one in l %}{{ one }}{% endfor %}", {"l": ["x" * 1000] * 2000}),
        ("{{ x" + " | json" * 40 + " }}", {"x": '"'}),
        ("{{ l | join(x) }}", {"l": ["a"] * 2000, "x": "y" * 1000}),
        ("{{ x }}", {"x": "y" * (MAX_RENDERED_CHARS + 1)}),
    ],
)
def test_the_rendered_text_is_bounded(source: str, variables: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        render(source, variables, field="f")
    assert caught.value.limit == MAX_RENDERED_CHARS
