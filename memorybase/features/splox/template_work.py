"""The work that rendering a template may take: counted, not timed, so that a template fails alike on every machine.

A step is an expression that is evaluated; a loop is charged for all its items before it begins. Text is charged by its
characters wherever it is read, compared, copied or written, and a value inside a list or object by 16 more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import Any, Literal, cast

from jinja2 import Environment, nodes
from jinja2.visitor import NodeTransformer

# Compiling takes 50 microseconds a node, and the square of the depth.
MAX_NODES = 500
MAX_DEPTH = 64
MAX_STEPS = 50_000
MAX_TEXT = 3_000_000
VALUE = 16

# Filters that `metered` inserts; no template can name them.
LOOP, TEXT, MEMBERS = "(loop)", "(text)", "(members)"

# Tests that look only at a value's type, or at one number. Others read the whole value.
_CHEAP_TESTS = frozenset(
    {
        "defined",
        "undefined",
        "none",
        "string",
        "number",
        "integer",
        "float",
        "boolean",
        "true",
        "false",
        "mapping",
        "sequence",
        "iterable",
        "callable",
        "sameas",
        "odd",
        "even",
        "divisibleby",
    }
)


class OutOfWork(Exception):
    """Rendering takes more steps, or reads and writes more text, than a template may."""

    def __init__(self, unit: Literal["steps", "characters"], limit: int) -> None:
        super().__init__(unit)
        self.unit = unit
        self.limit = limit


class Work:
    """Remaining budget of one rendering; every charge may raise OutOfWork."""

    def __init__(self) -> None:
        self._steps = MAX_STEPS
        self._text = MAX_TEXT

    def charge_steps(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise OutOfWork("steps", MAX_STEPS)

    def charge_text(self, characters: int) -> None:
        self._text -= characters
        if self._text < 0:
            raise OutOfWork("characters", MAX_TEXT)

    def charge_value(self, value: Any) -> None:
        """Charge a string's characters, or everything in a list or object before any of it is visited."""
        if isinstance(value, str):
            self.charge_text(len(value))
            return
        level = [value]
        while level:
            below: list[Any] = []
            for item in level:
                if isinstance(item, str):
                    self.charge_text(len(item))
                elif isinstance(item, Mapping):
                    self.charge_text(2 * VALUE * len(item) + sum(len(str(key)) for key in item))
                    below += item.values()
                elif isinstance(item, list | tuple):
                    self.charge_text(VALUE * len(item))
                    below += item
                elif isinstance(item, int):
                    self.charge_text(item.bit_length() // 3)
            level = below

    def charge_loop(self, values: Any, steps: int) -> None:
        """Charge the steps for each item; a value that is no collection fails in the loop itself."""
        if isinstance(values, Sized):
            self.charge_steps(len(values) * steps)

    def charge_members(self, container: Any) -> None:
        """Charge for `in`: a list or text is read through, an object is not."""
        if not isinstance(container, Mapping):
            self.charge_value(container)


def metered(template: nodes.Template, environment: Environment) -> nodes.Template:
    """The template with a charge at every expression whose work depends on its variables."""
    charged: nodes.Template = _Meter(environment).visit(template)
    return charged


class _Meter(NodeTransformer):
    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802  # jinja2 calls it by this name
        steps, _ = size_of(node)
        self.generic_visit(node)
        node.iter = self._charged(cast(nodes.Expr, node.iter), LOOP, nodes.Const(steps))
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.expr = self._charged(node.expr, TEXT)
        for operand in node.ops:
            operand.expr = self._charged(operand.expr, MEMBERS if operand.op in {"in", "notin"} else TEXT)
        return node

    def visit_Test(self, node: nodes.Test) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        if node.name not in _CHEAP_TESTS:
            node.node = self._charged(node.node, TEXT)
            node.args = [self._charged(each, TEXT) for each in node.args]
            for keyword in node.kwargs:
                keyword.value = self._charged(keyword.value, TEXT)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            node.node = self._charged(node.node, TEXT)  # a slice copies
        elif not isinstance(node.arg, nodes.Const):
            node.arg = self._charged(node.arg, TEXT)  # a key is compared
        return node

    def _charged(self, expression: nodes.Expr, name: str, *arguments: nodes.Expr) -> nodes.Filter:
        charged = nodes.Filter(expression, name, list(arguments), [], None, None, lineno=expression.lineno)
        charged.set_environment(self._environment)
        return charged


def size_of(root: nodes.Node) -> tuple[int, int]:
    """Number of nodes and levels of a tree. Not recursive, since it decides what others may recurse into."""
    count, depth, level = 0, 0, [root]
    while level:
        count, depth = count + len(level), depth + 1
        level = [child for node in level for child in node.iter_child_nodes()]
    return count, depth
