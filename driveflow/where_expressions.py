"""Build column expressions from the tree of a condition; what is not named here does not exist."""

import functools
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import polars as pl
from sqlglot import exp

from driveflow.flow.problems import nearest
from driveflow.where_attributes import AttributeKind, Kind, attribute_column
from driveflow.where_parse import refuse

_MAX_DEPTH = 60
_MAX_WHOLE = 2**63 - 1
_PLAIN = re.compile(r"[\\.+*?()|\[\]{}^$#&~-]")
_Test: TypeAlias = Callable[[pl.Expr, pl.Expr], pl.Expr]
_COMPARISONS: dict[type[exp.Expression], _Test] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
_ARITHMETIC: dict[type[exp.Expression], _Test] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: lambda a, b: pl.when(b != 0).then(a / b),
}


@dataclass(frozen=True, slots=True)
class _Value:
    """An expression and its kind; without a kind it is an attribute, which takes the kind it is compared with."""

    expression: pl.Expr
    kind: Kind | None
    key: str = ""


class Builder:
    """Makes one condition; collects the columns and attributes that it looks at."""

    def __init__(self, text: str, columns: Mapping[str, Kind]) -> None:
        """Build over `columns`; `text` is for messages."""
        self.text = text
        self.columns = columns
        self.names: set[str] = set()
        self.attributes: set[tuple[str, AttributeKind]] = set()
        self._depth = 0

    def condition(self, node: exp.Expression) -> pl.Expr:
        """Return the expression of a node that is true or false."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self._refuse(node, f"nested deeper than {_MAX_DEPTH} levels")
        found = self._condition(node)
        self._depth -= 1
        return found

    def _condition(self, node: exp.Expression) -> pl.Expr:
        if isinstance(node, exp.And | exp.Or):
            parts = [self.condition(part) for part in _chain(node)]
            return functools.reduce(operator.and_ if isinstance(node, exp.And) else operator.or_, parts)
        if isinstance(node, exp.Not):
            return ~self.condition(node.this)
        if isinstance(node, exp.Paren):
            return self.condition(node.this)
        for kind, build in self._tests().items():
            if isinstance(node, kind):
                return build(node)
        return self._as(self._value(node), "bool", node)

    def _tests(self) -> "dict[type[exp.Expression], Callable[[exp.Expression], pl.Expr]]":
        compared = dict.fromkeys(_COMPARISONS, self._comparison)
        return {
            **compared,
            exp.In: self._in,
            exp.Between: self._between,
            exp.Like: self._like,
            exp.ILike: self._like,
            exp.Is: self._is,
        }

    def _comparison(self, node: exp.Expression) -> pl.Expr:
        return self._compared(node, _COMPARISONS[type(node)], self._value(node.this), self._value(node.expression))

    def _in(self, node: exp.Expression) -> pl.Expr:
        self._only(node, "this", "expressions")
        if not node.expressions:
            self._refuse(node, "IN needs a list of values")
        value = self._value(node.this)
        found = [self._compared(node, operator.eq, value, self._value(item)) for item in node.expressions]
        return functools.reduce(operator.or_, found)

    def _between(self, node: exp.Expression) -> pl.Expr:
        self._only(node, "this", "low", "high")
        value = self._value(node.this)
        low, high = self._value(node.args["low"]), self._value(node.args["high"])
        return self._compared(node, operator.ge, value, low) & self._compared(node, operator.le, value, high)

    def _like(self, node: exp.Expression) -> pl.Expr:
        self._only(node, "this", "expression", "negate")
        pattern = node.expression
        if not (isinstance(pattern, exp.Literal) and pattern.is_string):
            self._refuse(node, "LIKE takes a text in single quotes")
        marks = {"%": ".*", "_": "."}
        shape = "".join(marks.get(letter) or _PLAIN.sub(r"\\\g<0>", letter) for letter in str(pattern.this))
        flags = "(?si)" if isinstance(node, exp.ILike) else "(?s)"
        found = self._as(self._value(node.this), "text", node).str.contains(f"{flags}\\A{shape}\\z")
        return ~found if node.args.get("negate") else found

    def _is(self, node: exp.Expression) -> pl.Expr:
        value = self._value(node.this)
        if isinstance(node.expression, exp.Null):
            known = value.expression if value.kind else self._attribute(value.key, "json")
            return known.is_null()
        if isinstance(node.expression, exp.Boolean):
            return self._as(value, "bool", node).eq_missing(pl.lit(bool(node.expression.this)))
        self._refuse(node, "IS takes NULL, TRUE or FALSE")
        return value.expression

    def _value(self, node: exp.Expression) -> _Value:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self._refuse(node, f"nested deeper than {_MAX_DEPTH} levels")
        build = self._values().get(type(node))
        if build is None:
            self._refuse(node, f"{_spell(node)} is no part of a condition")
            raise AssertionError
        found = build(node)
        self._depth -= 1
        return found

    def _values(self) -> "dict[type[exp.Expression], Callable[[exp.Expression], _Value]]":
        return {
            exp.Column: self._column,
            exp.Literal: self._literal,
            exp.Boolean: lambda node: _Value(pl.lit(bool(node.this)), "bool"),
            exp.Paren: lambda node: self._value(node.this),
            exp.Neg: lambda node: _Value(-self._number(node.this), "number"),
            exp.Abs: lambda node: _Value(self._number(node.this).abs(), "number"),
            exp.Lower: lambda node: _Value(self._text(node.this).str.to_lowercase(), "text"),
            exp.Length: self._length,
            exp.Coalesce: self._coalesce,
            **dict.fromkeys(_ARITHMETIC, self._arithmetic),
        }

    def _column(self, node: exp.Expression) -> _Value:
        levels = ("catalog", "db", "table", "this")
        parts = [node.args[level].name for level in levels if isinstance(node.args.get(level), exp.Expression)]
        if len(parts) == 2 and parts[0] == "attributes" and parts[1]:
            return _Value(pl.lit(None), None, parts[1])
        name = ".".join(parts)
        if name not in self.columns:
            near = nearest(name, [*self.columns, "attributes.NAME"]) if name else ""
            known = ", ".join(self.columns)
            hint = f'did you mean "{near}"?' if near else f"an attribute is attributes.{name}; known are {known}"
            self._refuse(node, f'there is no column "{name}"; {hint}')
        self.names.add(name)
        return _Value(pl.col(name), self.columns[name])

    def _literal(self, node: exp.Expression) -> _Value:
        if node.is_string:
            return _Value(pl.lit(str(node.this)), "text")
        text = str(node.this)
        try:
            number = int(text) if text.isdigit() else float(text)
        except ValueError:
            self._refuse(node, f"{text[:40]!r} is no number")
        if abs(number) > _MAX_WHOLE:
            number = float(text)
        return _Value(pl.lit(number, pl.Int64 if isinstance(number, int) else pl.Float64), "number")

    def _arithmetic(self, node: exp.Expression) -> _Value:
        left, right = self._number(node.this), self._number(node.expression)
        return _Value(_ARITHMETIC[type(node)](left, right), "number")

    def _length(self, node: exp.Expression) -> _Value:
        self._only(node, "this")
        return _Value(self._text(node.this).str.len_chars().cast(pl.Int64), "number")

    def _coalesce(self, node: exp.Expression) -> _Value:
        values = [self._value(item) for item in [node.this, *node.expressions]]
        kind = next((value.kind for value in values if value.kind), None)
        if kind is None:
            self._refuse(node, "coalesce needs one value of a known kind, such as coalesce(attributes.speed, 0)")
            raise AssertionError
        return _Value(pl.coalesce([self._as(value, kind, node) for value in values]), kind)

    def _compared(self, node: exp.Expression, test: _Test, left: _Value, right: _Value) -> pl.Expr:
        """Compare both sides as one kind: two attributes as what both are, else only whether they are equal."""
        kind = left.kind or right.kind
        if kind is not None:
            return test(self._as(left, kind, node), self._as(right, kind, node))
        kinds: tuple[AttributeKind, ...] = ("number", "text", "bool")
        kinds += ("json",) if test in {operator.eq, operator.ne} else ()
        return pl.coalesce([test(*(self._attribute(side.key, kind) for side in (left, right))) for kind in kinds])

    def _as(self, value: _Value, kind: Kind, node: exp.Expression) -> pl.Expr:
        if value.kind is None:
            return self._attribute(value.key, kind)
        if value.kind != kind:
            self._refuse(node, f"a {value.kind} stands where a {kind} is asked for")
        return value.expression

    def _attribute(self, key: str, kind: AttributeKind) -> pl.Expr:
        self.attributes.add((key, kind))
        return pl.col(attribute_column(key, kind))

    def _number(self, node: exp.Expression) -> pl.Expr:
        return self._as(self._value(node), "number", node).cast(pl.Float64)

    def _text(self, node: exp.Expression) -> pl.Expr:
        return self._as(self._value(node), "text", node)

    def _only(self, node: exp.Expression, *allowed: str) -> None:
        extra = [name for name, value in node.args.items() if value and name not in allowed]
        if extra:
            self._refuse(node, f"{_spell(node)} with {extra[0]} is no part of a condition")

    def _refuse(self, node: exp.Expression, why: str) -> None:
        refuse(self.text, _position(node), why)


def _chain(node: exp.Expression) -> list[exp.Expression]:
    """Return the parts of a AND b AND c, which is a tree that leans to the left."""
    kind, parts = type(node), []
    while type(node) is kind:
        parts.append(node.expression)
        node = node.this
    return [node, *reversed(parts)]


def _position(node: exp.Expression) -> int:
    places = [int(part.meta["start"]) for part in node.walk() if "start" in part.meta]
    return min(places, default=0)


def _spell(node: exp.Expression) -> str:
    return type(node).__name__.upper()
