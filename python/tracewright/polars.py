"""Tables as lazy frames of polars.

A query decodes the columns and the part of the trace that it needs: comparisons of `element`,
`offset`, `time` and `instruction` with numbers, of `source` with a text, and in the tables `ranges`
and `instructions` of `address` and `function` select the part. All else is filtered by polars.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Iterator

from ._table import tables
from ._trace import Trace
from .errors import TableError

if TYPE_CHECKING:
    import polars

_WINDOWS = ("element", "offset", "time", "instruction")
_CODE = ("ranges", "instructions")
"""Tables whose `address` and `function` are those of executed code, by which they are selected."""
_MOST = 2**64 - 1


def scan(trace: Trace, name: str, **selections: Any) -> polars.LazyFrame:
    """A table as a lazy frame with all columns, also those on request: only those that the query
    uses are made. `selections` are those of `Trace.table`, and hold beside those of the query.

    >>> import tracewright as tw
    >>> import polars as pl
    >>> frame = scan(tw.demo(), "ranges").filter(pl.col("element") < 100).select("address")
    >>> frame.collect().columns
    ['address']
    """
    import polars as pl
    from polars.io.plugins import register_io_source

    if selections.get("columns") is None:
        known = tables()[name.removesuffix("_view")]
        selections = {**selections, "columns": [column.name for column in known]}
    table = trace.table(name, **selections)
    schema = pl.DataFrame(trace.table(name, **{**selections, "limit": 0})).schema

    def source(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        own = dict(selections)
        wanted = table.columns if with_columns is None else list(with_columns)
        needed = wanted
        if predicate is not None:
            needed = list(dict.fromkeys([*wanted, *predicate.meta.root_names()]))
            own = _narrowed(own, selected(predicate, trace, name))
        elif n_rows is not None:
            own["limit"] = min(n_rows, own.get("limit", n_rows))
        own["columns"] = needed
        if batch_size:
            own["batch"] = batch_size
        left = n_rows
        for rows in _frames(trace, name, own):
            frame = rows if predicate is None else rows.filter(predicate)
            frame = frame.select(wanted)
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            yield frame
            if left == 0:
                return

    return register_io_source(io_source=source, schema=schema, is_pure=True)


def _narrowed(given: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """The selections of the user with those of a predicate, as far as both can hold."""
    if "limit" in given:
        return given
    # Rows at an address or of a function: the two add to each other.
    code = {"address", "function"}
    if code & given.keys():
        more = {key: value for key, value in more.items() if key not in code}
    elif "function" in more:
        more = {key: value for key, value in more.items() if key != "address"}
    return {**more, **given}


def _frames(trace: Trace, name: str, selections: dict[str, Any]) -> Iterator[polars.DataFrame]:
    """Frames of a few batches each: a table may be larger than memory."""
    import polars as pl

    for batch in trace.table(name, **selections)._inner.record_batches():
        yield pl.DataFrame(batch)


def selected(predicate: polars.Expr, trace: Trace, table: str) -> dict[str, Any]:
    """The selections that every row of `predicate` has. What is not understood selects everything:
    polars filters with the whole predicate again.

    >>> import polars as pl
    >>> import tracewright as tw
    >>> trace = tw.demo()
    >>> selected((pl.col("offset") >= 16) & (pl.col("offset") < 64), trace, "ranges")
    {'offset': (16, 64)}
    >>> selected((pl.col("offset") >= 16) | (pl.col("time") < 64), trace, "ranges")
    {}
    """
    bounds: dict[str, tuple[int, int]] = {}
    own: dict[str, Any] = {}
    for operator, column, value in _comparisons(predicate):
        if isinstance(value, str):
            if operator == "Eq" and _is_selectable(column, value, trace, table):
                own[column] = value
            continue
        if column not in _WINDOWS and not (column == "address" and table in _CODE):
            continue
        low, high = bounds.get(column, (0, _MOST))
        if operator in ("Eq", "GtEq", "Gt"):
            low = max(low, value + (operator == "Gt"))
        if operator in ("Eq", "LtEq", "Lt"):
            high = min(high, value + (operator != "Lt"))
        bounds[column] = (low, high)
    own.update({column: (min(low, high), high) for column, (low, high) in bounds.items()})
    return own


def _is_selectable(column: str, value: str, trace: Trace, table: str) -> bool:
    """Whether rows of a table can be selected by a name: it is refused where it is not there."""
    if column == "source":
        return value in {source.name for source in trace.sources}
    if column != "function" or table not in _CODE:
        return False
    try:
        trace.table(table, function=value, element=(0, 0)).rows()
    except TableError:
        return False
    return True


_TURNED = {"Lt": "Gt", "Gt": "Lt", "LtEq": "GtEq", "GtEq": "LtEq", "Eq": "Eq"}


def _comparisons(predicate: polars.Expr) -> Iterator[tuple[str, str, Any]]:
    """The comparisons of a column with a literal that all rows of `predicate` fulfil: operator,
    column, value."""
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
    except Exception:  # an expression that has no form as JSON selects everything
        return
    yield from _walk(tree)


def _walk(node: Any) -> Iterator[tuple[str, str, Any]]:
    if not isinstance(node, dict):
        return
    binary = node.get("BinaryExpr")
    if not isinstance(binary, dict):
        yield from _between(node.get("Function"))
        return
    operator, left, right = binary.get("op"), binary.get("left"), binary.get("right")
    if operator in ("And", "LogicalAnd"):
        yield from _walk(left)
        yield from _walk(right)
    if operator not in _TURNED:
        return
    for one, other, own in ((left, right, operator), (right, left, _TURNED[operator])):
        column, value = _column(one), _literal(other)
        if column is not None and value is not None:
            yield own, column, value


def _between(node: Any) -> Iterator[tuple[str, str, Any]]:
    """The two comparisons of `is_between`."""
    if not isinstance(node, dict) or not isinstance(node.get("function"), dict):
        return
    boolean = node["function"].get("Boolean")
    between = boolean.get("IsBetween") if isinstance(boolean, dict) else None
    if not isinstance(between, dict) or len(node.get("input", [])) != 3:
        return
    closed = between.get("closed")
    column, low, high = _column(node["input"][0]), *map(_literal, node["input"][1:])
    if column is not None and isinstance(low, int) and isinstance(high, int):
        yield "GtEq" if closed in ("Both", "Left") else "Gt", column, low
        yield "LtEq" if closed in ("Both", "Right") else "Lt", column, high


def _column(node: Any) -> str | None:
    column = node.get("Column") if isinstance(node, dict) else None
    return column if isinstance(column, str) else None


def _literal(node: Any) -> int | str | None:
    """The number or text of a literal, in whatever it is wrapped."""
    if not isinstance(node, dict) or "Literal" not in node:
        return None
    while isinstance(node, dict) and len(node) == 1:
        node = next(iter(node.values()))
    if isinstance(node, str):
        return node
    return node if isinstance(node, int) and not isinstance(node, bool) and node >= 0 else None
