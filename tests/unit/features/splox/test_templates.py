"""Templates: values and conditions, no unbounded work, no Python attributes, and no silent blanks."""

from __future__ import annotations

from typing import Any

import pytest
from harness.rows import each_row

from memorybase.core.errors import InvalidRequest
from memorybase.features.splox.template_work import MAX_DEPTH, MAX_NODES, MAX_STEPS, MAX_TEXT
from memorybase.features.splox.templates import MAX_RENDERED_CHARS, MAX_TEMPLATE_CHARS, check_template, render

START: dict[str, Any] = {
    "start": {
        "user_id": "u1",
        "text": "hé",
        "n": 3,
        "yes": True,
        "null": None,
        "empty": " ",
        "items": [1, "b"],
        "object": {"k": "v"},
        "html": "<b>",
        "secret": "s3cret",
    }
}


@each_row(
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


@each_row("source", ["{{ nope }}", "{{ nope.x }}", "{{ start.nope }}", "{{ start.null }}", "{{ nope | json }}"])
def test_a_missing_value_is_an_error(source: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        render(source, START, field="variables")
    assert (caught.value.field, caught.value.message[:27]) == ("variables", "The template needs a value:")


def test_without_blanks_no_value_is_empty() -> None:
    assert render("a-{{ start.empty }}", START, field="f") == "a- "
    for source in ("a-{{ start.empty }}", "a-{{ start.nope | default('') }}"):
        with pytest.raises(InvalidRequest, match="empty"):
            render(source, START, field="f", blanks=False)


@each_row(
    "source",
    [
        "{{",
        "{{ start.text.upper() }}",
        "{{ range(9) }}",
        "{{ 'a' * 9 }}",
        "{{ 2 ** 9 }}",
        "{{ start ~ start }}",
        "{{ start.text | format }}",
        "{{ start | attr('x') }}",
        "{% set x = 1 %}",
        "{% include 'x' %}",
        "{% import 'x' as y %}",
        "{% macro m() %}{% endmacro %}",
        "{% extends 'x' %}",
        "{{ 1 if start }}",
        " ",
        "{% for a in start.items %}{% for b in start.items %}{% endfor %}{% endfor %}",
        "{% for a in start.items recursive %}{% endfor %}",
        "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
        "{{ x" + " | json" * 1500 + " }}",
        "x" * (MAX_TEMPLATE_CHARS + 1),
        "{% if x %}" * 300 + "{% endif %}" * 300,
    ],
)
def test_disallowed_expressions_are_rejected_before_rendering(source: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        check_template(source, "chat_id")
    assert caught.value.field == "chat_id"


@each_row(
    "source",
    [
        "{{ start.text.__class__ }}",
        "{{ start.__init__ }}",
        "{{ start['__class__'] }}",
        "{{ self }}",
        "{{ start.text.upper }}",
        "{{ start.items.append }}",
        "{{ loop.index }}",
        "{{ start[start.secret] }}",
    ],
)
def test_python_attributes_are_unreachable_and_errors_show_no_value(source: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        render(source, START, field="f")
    assert "s3cret" not in caught.value.message


@each_row(
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


FIFTY_FILTERS = " | upper" * 50
LOOP = "{{% for one in l %}}{{% if {} %}}{{% endif %}}{{% endfor %}}x"


@each_row(
    ("source", "variables", "limit"),
    [
        (LOOP.format("one" + FIFTY_FILTERS), {"l": ["a"] * 1000}, MAX_STEPS),
        ("{% for one in l %}{% endfor %}" * 50, {"l": [1] * 10_000}, MAX_STEPS),
        (LOOP.format(" and ".join(["a"] * 50)), {"l": "b" * 1000, "a": 1}, MAX_STEPS),
        (LOOP.format("t | title"), {"l": [1] * 100, "t": "é" * 40_000}, MAX_TEXT),
        (LOOP.format("a == b"), {"l": [1] * 100, "a": ["x" * 40_000], "b": ["x" * 40_000]}, MAX_TEXT),
        (LOOP.format("'y' in t"), {"l": [1] * 100, "t": "x" * 40_000}, MAX_TEXT),
        (LOOP.format("t is lower"), {"l": [1] * 100, "t": "x" * 40_000}, MAX_TEXT),
        (LOOP.format("'y' is in(seq=t)"), {"l": [1] * 100, "t": "x" * 40_000}, MAX_TEXT),
        (LOOP.format("t[1:]"), {"l": [1] * 100, "t": "x" * 40_000}, MAX_TEXT),
        (LOOP.format("o[t]"), {"l": [1] * 100, "o": {"x" * 40_000: 1}, "t": "x" * 40_000}, MAX_TEXT),
        (LOOP.format("t | float"), {"l": [1] * 100, "t": "1" * 40_000}, MAX_TEXT),
        ("{{ [" + "o," * 400 + "] | json | length }}", {"o": {"k": "x" * 40_000}}, MAX_TEXT),
        ("{{ l | json | length }}", {"l": [1] * 2_000_000}, MAX_TEXT),
        ("{{ l | join | length }}", {"l": [""] * 2_000_000}, MAX_TEXT),
        ("{{ l | length }}{{ l }}", {"l": [int("7" * 4_000)] * 1_000}, MAX_TEXT),
    ],
)
def test_a_template_bomb_is_refused_by_the_work_it_would_take(
    source: str, variables: dict[str, Any], limit: int
) -> None:
    check_template(source, "chat_id")  # what it takes depends on the variables
    with pytest.raises(InvalidRequest, match=f"takes more than {limit}") as caught:
        render(source, variables, field="variables")
    assert (caught.value.field, caught.value.limit) == ("variables", limit)


def test_a_loop_is_refused_before_its_first_item() -> None:
    class Counted(str):
        __slots__ = ()
        uppered = 0

        def upper(self) -> str:
            Counted.uppered += 1
            return "A"

    with pytest.raises(InvalidRequest, match="steps"):
        render(LOOP.format("one" + FIFTY_FILTERS), {"l": [Counted("a")] * 1000}, field="f")
    assert Counted.uppered == 0


@each_row(
    ("source", "limit"),
    [
        ("{% for one in l %}{% endfor %}" * 260, MAX_NODES),
        ("{{ a }} " * 500, MAX_NODES),
        ("{{ a" + " | upper" * 70 + " }}", MAX_DEPTH),
        ("{{ a" + ".b" * 400 + " }}", MAX_DEPTH),
        ("{% if " + " and ".join(["a"] * 80) + " %}{% endif %}x", MAX_DEPTH),
    ],
)
def test_a_template_that_is_slow_to_compile_is_refused_when_it_is_saved(source: str, limit: int) -> None:
    with pytest.raises(InvalidRequest, match=f"at most {limit}") as caught:
        check_template(source, "chat_id")
    assert (caught.value.field, caught.value.limit) == ("chat_id", limit)


def test_no_filter_runs_while_a_template_is_compiled() -> None:
    check_template("{{ '\"'" + " | json" * 50 + " }}", "f")  # each filter doubles the text
    with pytest.raises(InvalidRequest):
        render("{{ '\"'" + " | json" * 50 + " }}", {}, field="f")


def test_thousands_of_short_messages_and_a_megabyte_of_json_are_within_the_budget() -> None:
    messages = [{"role": "user", "content": "x" * 80}] * 4_000
    source = "{% for one in l %}{{ one.role | upper }}: {{ one.content }}\n{% endfor %}"
    assert len(render(source, {"l": messages}, field="f")) == 4_000 * 87
    assert len(render("{{ o | json }}", {"o": {"l": [{"k": "v" * 90}] * 9_000}}, field="f")) > 900_000
