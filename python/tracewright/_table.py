"""Tables of a trace."""

from __future__ import annotations

import html
import os
from collections import namedtuple
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple

from . import _tracewright

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow

    from ._trace import Trace

_SHOWN = 20
"""Rows of a table that a notebook shows."""


class Column(NamedTuple):
    """A column of a table."""

    name: str
    """Its name."""
    type: str
    """The type of its values in Arrow."""
    nullable: bool
    """Values may be unknown, or not apply."""
    on_request: bool
    """It is made only where it is named, as it takes long."""
    about: str
    """What it is."""


def tables() -> dict[str, list[Column]]:
    """The tables by their names, and the columns of each.

    >>> tables()["ranges"][0].name
    'buffer'
    """
    return {
        name: [Column(*own) for own in columns] for name, _, columns in _tracewright.table_info()
    }


class Table:
    """A table of a trace, which is decoded each time that it is read.

    Programs that know the Arrow PyCapsule interface read it without a copy:
    `polars.DataFrame(table)`, `pyarrow.table(table)`, or its name in a query of DuckDB.

    >>> import tracewright as tw
    >>> table = tw.demo().table("ranges", columns=["address", "taken"], limit=2)
    >>> table.columns
    ['address', 'taken']
    >>> [row.taken in (True, False) for row in table]
    [True, True]
    """

    def __init__(self, trace: Trace, name: str, selections: dict[str, Any]) -> None:
        self._trace = trace
        self._made = (name, selections)
        self._inner = trace._inner.table(name, **selections)

    @property
    def name(self) -> str:
        """Its name."""
        return self._inner.name

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return self._inner.columns

    @property
    def schema(self) -> list[Column]:
        """Its columns, with types and descriptions.

        >>> import tracewright as tw
        >>> [(own.name, own.type) for own in tw.demo().table("ranges", columns="address").schema]
        [('address', 'UInt64')]
        """
        known = {own.name: own for own in tables()[self.name.removesuffix("_view")]}
        types = zip(self.columns, self._inner.types)
        return [known[name]._replace(type=type_) for name, type_ in types]

    def __arrow_c_schema__(self) -> object:
        """The schema, for programs that know the Arrow PyCapsule interface."""
        return self._inner.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows, which are decoded anew, for programs that know the Arrow PyCapsule
        interface."""
        return self._inner.__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[Any]:
        """The rows, each a named tuple. What is unknown is `None`."""
        row = _row(tuple(self.columns))
        for batch in self._inner.batches():
            yield from map(row._make, batch)

    def rows(self) -> list[Any]:
        """All rows, each a named tuple."""
        return list(self)

    def to_arrow(self) -> pyarrow.Table:
        """The rows as a table of pyarrow."""
        try:
            import pyarrow
        except ImportError:
            raise _needs("pyarrow", "arrow") from None
        # A signal such as Ctrl-C ends what waits for a batch.
        batches = [pyarrow.record_batch(batch) for batch in self._inner.record_batches()]
        return pyarrow.Table.from_batches(batches, schema=pyarrow.schema(self))

    def to_polars(self) -> polars.DataFrame:
        """The rows as a data frame of polars."""
        try:
            import polars
        except ImportError:
            raise _needs("polars", "polars") from None
        # One batch after another, as for pyarrow.
        frames = [polars.DataFrame(batch) for batch in self._inner.record_batches()]
        return polars.concat(frames) if frames else polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame of pandas, with the types of Arrow: numbers of 64 bits stay
        exact, and what is unknown is `pandas.NA`."""
        try:
            import pandas
        except ImportError:
            raise _needs("pandas", "pandas") from None
        frame: pandas.DataFrame = self.to_arrow().to_pandas(types_mapper=pandas.ArrowDtype)
        return frame

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> Any:
        """The rows as a relation of DuckDB, which holds a copy of them."""
        try:
            import duckdb
        except ImportError:
            raise _needs("duckdb", "duckdb") from None
        return (connection or duckdb.default_connection()).from_arrow(self.to_arrow())

    def write(self, path: str | os.PathLike[str]) -> int:
        """Writes a file, whose format the end of its name selects: `.parquet`, `.arrow`, `.arrows`
        or `.csv`. Returns the number of rows.

        Raises `ValueError` for another end, and `OSError` where the file cannot be written.
        """
        name = os.fspath(path)
        try:
            return self._inner.write(name)
        except OSError as error:
            raise OSError(f"{name}: {error}") from None

    def __reduce__(self) -> Any:
        return Table, (self._trace, *self._made)

    def __repr__(self) -> str:
        return f"<Table {self.name}: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        hexadecimal = set(self._inner.hexadecimal)
        shown = [name in hexadecimal for name in self.columns]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        lines = [f"<tr>{head}</tr>"]
        for count, row in enumerate(self):
            if count == _SHOWN:
                lines.append(f"<tr><td colspan={len(shown)}>…</td></tr>")
                break
            cells = (_cell(value, is_hex) for value, is_hex in zip(row, shown))
            lines.append(f"<tr>{''.join(cells)}</tr>")
        return f"<table>{''.join(lines)}</table>"


def _needs(module: str, extra: str) -> ImportError:
    return ImportError(f"{module} is not installed; pip install 'tracewright[{extra}]'")


def _cell(value: object, is_hex: bool) -> str:
    text = hex(value) if is_hex and isinstance(value, int) else str(value)
    return f"<td>{'' if value is None else html.escape(text)}</td>"


@lru_cache(maxsize=256)
def _row(names: tuple[str, ...]) -> Any:
    """The class of rows with these columns."""

    class Row(namedtuple("Row", names)):  # type: ignore[misc]
        __slots__ = ()

        def __reduce__(self) -> Any:
            return _restored, (names, tuple(self))

    return Row


def _restored(names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return _row(names)._make(values)
