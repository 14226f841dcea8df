"""A capture that is ready to be decoded."""

from __future__ import annotations

import html
import os
import pathlib
import tempfile
from typing import Any, Iterable, Iterator, NamedTuple, Sequence, Union

from . import _command, _tracewright
from ._results import Coverage, Found, Index, Profile, Report
from ._table import Table
from ._tracewright import (
    Context,
    DataAccess,
    DwtEvent,
    ExceptionTaken,
    Gap,
    Other,
    Range,
    SoftwareWrite,
    Timestamp,
)
from .errors import QueryError

Element = Union[
    Range, ExceptionTaken, Context, Timestamp, SoftwareWrite, DataAccess, DwtEvent, Gap, Other
]
"""An element of a trace."""

Path = Union[str, os.PathLike[str]]
"""The name of a file."""

Image = Union[bytes, Path]
"""Program memory: the name of a file, also `FILE@ADDRESS`, or its bytes."""

Span = Union[tuple[Union[int, None], Union[int, None]], slice]
"""A half-open range of numbers: `(first, end)` or a slice. `None`: from the beginning, to the
end."""


class Source(NamedTuple):
    """A trace source that can be decoded."""

    name: str
    """Its name."""
    protocol: str
    """The name of its protocol."""
    trace_id: int | None
    """Its trace ID, or for RISC-V its source number."""


class Buffer(NamedTuple):
    """A trace buffer."""

    name: str
    """Its name."""
    bytes: int | None
    """Its size in bytes, where it is known."""


class Missing(NamedTuple):
    """A source that cannot be decoded."""

    source: str
    """Its name."""
    text: str
    """The reason, and what to do."""
    registers: list[str]
    """The registers that are missing."""


class Made(NamedTuple):
    """How a trace was opened: the function and its arguments."""

    kind: str
    args: tuple[Any, ...]
    options: dict[str, Any]


class Trace:
    """A capture that is ready to be decoded. Several threads may read it at once. It is pickled as
    how it was opened.

    >>> import tracewright as tw
    >>> trace = tw.demo()
    >>> trace.sources[0].protocol
    'ETM4'
    >>> sum(1 for element in trace.elements(kinds=["range"])) > 0
    True
    """

    def __init__(self, inner: _tracewright.Trace, made: Made) -> None:
        self._inner = inner
        self._made = made
        self._index_path: str | None = None

    @property
    def sources(self) -> list[Source]:
        """The sources that can be decoded."""
        return [Source(*own) for own in self._inner.sources]

    @property
    def buffers(self) -> list[Buffer]:
        """The trace buffers."""
        return [Buffer(*own) for own in self._inner.buffers]

    @property
    def missing(self) -> list[Missing]:
        """The sources that cannot be decoded. `gaps` is the table of what is missing inside of the
        others."""
        return [Missing(*own) for own in self._inner.missing]

    @property
    def notes(self) -> list[str]:
        """What was odd in the files, or was assumed."""
        return self._inner.notes

    @property
    def decoded(self) -> int:
        """The bytes of sources that were decoded so far for elements and tables that were read to
        their end: what a selection, an index or a lazy frame of polars spared is not among them."""
        return self._inner.decoded

    def symbol(self, source: int, address: int) -> str | None:
        """The symbol of an address in the program of the source with this number among `sources`:
        `main+0x14`."""
        return self._inner.symbol(source, address)

    def elements(
        self,
        *,
        kinds: str | Iterable[str] | None = None,
        functions: bool = False,
        function: str | Sequence[str] | None = None,
        address: int | Span | Sequence[int | Span] | None = None,
        source: str | Sequence[str] | None = None,
        buffers: Sequence[int] | None = None,
        offset: Span | None = None,
        time: Span | None = None,
        element: Span | None = None,
        instruction: Span | None = None,
        limit: int | None = None,
    ) -> Iterator[Element]:
        """The elements, each an object that `match` takes apart. With `functions`, ranges and
        exceptions have the name of their function. The other arguments select, as those of
        `table` do.

        Raises `DecodeError` where a source cannot be decoded and `partial` was not given, and
        `TableError` where a source, a function or a kind is not there.
        """
        selections = _selections(
            kinds=_listed(kinds),
            function=function,
            address=address,
            source=source,
            buffers=buffers,
            offset=offset,
            time=time,
            element=element,
            instruction=instruction,
            limit=limit,
        )
        for batch in self._inner.elements(functions, **selections):
            yield from batch

    def instructions(self, **selections: Any) -> Iterator[Any]:
        """The executed instructions, each a row of the table `instructions` with its text and its
        function: `i.address`, `i.opcode`, `i.text`. The arguments are those of `table`.

        >>> import tracewright as tw
        >>> next(tw.demo().instructions(function="main")).function
        'main'
        """
        columns = selections.pop("columns", None) or [
            *("source", "element", "offset", "time", "instruction", "address", "opcode", "size"),
            *("isa", "text", "taken", "passed", "cycles", "times", "function"),
        ]
        return iter(self.table("instructions", columns=columns, **selections))

    def table(
        self,
        name: str,
        *,
        columns: str | Sequence[str] | None = None,
        offset: Span | None = None,
        time: Span | None = None,
        element: Span | None = None,
        instruction: Span | None = None,
        address: int | Span | Sequence[int | Span] | None = None,
        function: str | Sequence[str] | None = None,
        source: str | Sequence[str] | None = None,
        buffers: Sequence[int] | None = None,
        kinds: str | Sequence[str] | None = None,
        limit: int | None = None,
        signed: bool = False,
        batch: int | None = None,
    ) -> Table:
        """A table. `tracewright.tables()` lists the tables and their columns; with `_view` after
        its name, addresses are texts in hexadecimal.

        `columns` are made, in this order; all but those on request otherwise. `offset`, `time`,
        `element` and `instruction` select a part of each buffer, `address` and `function` code,
        `source` and `buffers` what writes and holds the trace, `kinds` elements. With `signed`,
        numbers of 64 bits are signed, with the same bits. `batch` is the number of rows of a batch.

        Raises `TableError` where the table or a column is not there.

        >>> import tracewright as tw
        >>> tw.demo().table("ranges", limit=1).rows()[0].element >= 0
        True
        """
        selections = _selections(
            columns=_listed(columns),
            offset=offset,
            time=time,
            element=element,
            instruction=instruction,
            address=address,
            function=function,
            source=source,
            buffers=buffers,
            kinds=_listed(kinds),
            limit=limit,
            signed=signed,
            batch=batch,
        )
        return Table(self, name, selections)

    @property
    def tables(self) -> dict[str, Table]:
        """All tables by their names, with the columns that they have by default."""
        names = [name for name, _, _ in _tracewright.table_info()]
        return {name: self.table(name) for name in names}

    def ranges(self, **selections: Any) -> Table:
        """Table `ranges`: instructions executed one after another. The arguments are those of
        `table`."""
        return self.table("ranges", **selections)

    def functions(self, **selections: Any) -> Table:
        """Table `functions`: calls, instructions, cycles and ticks of each. The arguments are those
        of `table`."""
        return self.table("functions", **selections)

    def calls(self, **selections: Any) -> Table:
        """Table `calls`: a row for each call, in the order in which calls end. The arguments are
        those of `table`."""
        return self.table("calls", **selections)

    def coverage(self) -> Coverage:
        """What was executed of the source files.

        Raises `DecodeError` as `elements` does.
        """
        return Coverage(self._inner.coverage(), self)

    def profile(self) -> Profile:
        """Counts of branches and ranges, for compilers.

        Raises `DecodeError` as `elements` does.
        """
        return Profile._of(self._inner.profile())

    def index(self, path: Path) -> Index:
        """Uses the index at `path`, which is made if it is not there: windows and searches are then
        decoded from near their beginning.

        Raises `OSError` where the file cannot be read or written, or is that of another trace.
        """
        own = os.path.abspath(path)
        if not os.path.exists(own):
            self._inner.make_index(own)
        inner = self._inner.use_index(own)
        self._index_path = own
        return Index(inner, self)

    def find(self, query: str) -> list[Found]:
        """The elements that a search finds, as the verb `find` of the command: `first exception`,
        `all function main`, `last write 0 before exception 3`.

        Raises `QueryError` where the search is not understood, or counts.

        >>> import tracewright as tw
        >>> tw.demo().find("first exception 6")[0].source
        'ETM_0'
        """
        count, found = self._inner.find(query)
        if count > 0 and not found:
            raise QueryError(f"`{query}` counts, and finds no element: `Trace.count` has the number")
        return [Found(*own) for own in found]

    def count(self, query: str) -> int:
        """The number of elements that a search finds or counts: `count exception`.

        Raises `QueryError` where the search is not understood.
        """
        return self._inner.find(query)[0]

    def report(self) -> Report:
        """A page with functions, flame graph, timeline, exceptions and coverage, as the verb
        `report` of the command makes it. A notebook shows it.

        Raises `CommandError` with the text of the command.
        """
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "report.html"
            _command.run(["report", *self._arguments(pathlib.Path(folder)), "-o", str(page)])
            return Report(page.read_text("utf-8"))

    def _arguments(self, folder: pathlib.Path) -> list[str]:
        """The arguments by which the command opens the same. What is in memory is written to
        `folder`."""
        made = self._made
        if made.kind == "demo":
            _command.run(["demo", "--write", str(folder / "demo")])
            return [str(folder / "demo")]
        given = made.args[0]
        if isinstance(given, bytes):
            (folder / "trace.bin").write_bytes(given)
            given = str(folder / "trace.bin")
        elif isinstance(given, dict):
            given = _written(given, folder / "capture") / made.options["path"]
        arguments = [str(given)]
        for number, image in enumerate(made.options.get("images", [])):
            if isinstance(image, bytes):
                path = folder / f"image{number}"
                path.write_bytes(image)
                image = str(path)
            arguments += ["--image", image]
        named = (
            *(("protocol", "--protocol"), ("config", "--config"), ("ids", "--id")),
            ("binaries", "--binary"),
        )
        for key, option in named:
            for value in made.options.get(key, []):
                arguments += [option, str(value)]
        for key in ("framing", "core", "symfs"):
            if made.options.get(key) is not None:
                arguments += [f"--{key}", made.options[key]]
        return arguments

    def __reduce__(self) -> Any:
        from ._opening import restored

        return restored, (*self._made, self._index_path)

    def __repr__(self) -> str:
        sources = ", ".join(source.name for source in self.sources)
        return f"<Trace of {sources or 'no source'}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(s.name)}</td><td>{html.escape(s.protocol)}</td>"
            f"<td>{'' if s.trace_id is None else hex(s.trace_id)}</td></tr>"
            for s in self.sources
        )
        buffers = "".join(
            f"<tr><td>{html.escape(b.name)}</td><td>{'' if b.bytes is None else b.bytes}</td></tr>"
            for b in self.buffers
        )
        lost = "".join(f"<li>{html.escape(own.text)}</li>" for own in self.missing)
        return (
            f"<table><tr><th>source</th><th>protocol</th><th>trace ID</th></tr>{rows}</table>"
            f"<table><tr><th>buffer</th><th>bytes</th></tr>{buffers}</table>"
            + (f"<ul>{lost}</ul>" if lost else "")
        )


def _written(files: dict[str, bytes], folder: pathlib.Path) -> pathlib.Path:
    """Writes files into a folder, and nowhere else."""
    for name, content in files.items():
        path = (folder / name).resolve()
        if folder.resolve() not in path.parents:
            raise ValueError(f"{name}: it is outside of the capture")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def _listed(names: Iterable[str] | None) -> list[str] | None:
    """A list of names: a single name is one, too."""
    return [names] if isinstance(names, str) else None if names is None else list(names)


def _selections(**given: Any) -> dict[str, Any]:
    """Selections as the module takes them: lists where one may be given, and pairs of numbers."""
    own = {name: value for name, value in given.items() if value is not None}
    for name in ("function", "source"):
        if isinstance(own.get(name), str):
            own[name] = [own[name]]
    if "address" in own:
        own["address"] = _spans("address", own["address"])
    for name in ("offset", "time", "element", "instruction"):
        if name in own:
            own[name] = _pair(name, own[name])
    return own


def _spans(name: str, given: Any) -> list[tuple[int | None, int | None]]:
    """One span, or several. A number is the span of itself."""
    is_pair = isinstance(given, tuple) and not isinstance(next(iter(given), None), (tuple, slice))
    spans = [given] if is_pair or isinstance(given, (slice, int)) else given
    return [(own, own + 1) if isinstance(own, int) else _pair(name, own) for own in spans]


def _pair(name: str, span: Any) -> tuple[int | None, int | None]:
    if isinstance(span, slice):
        if span.step is not None:
            raise ValueError(f"{name}: a range of numbers has no step")
        span = (span.start, span.stop)
    if not isinstance(span, tuple) or len(span) != 2:
        raise ValueError(f"{name}: expected (first, end) or a slice, not {span!r}")
    return span
