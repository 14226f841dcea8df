"""What a trace shows as a whole: searches, profiles, coverage, reports."""

from __future__ import annotations

import html
import os
import pathlib
from typing import TYPE_CHECKING, Iterable, NamedTuple

from . import _tracewright
from .errors import TracewrightError

if TYPE_CHECKING:
    from ._table import Table
    from ._trace import Trace


class Found(NamedTuple):
    """An element that a search found."""

    buffer: int
    """Number of the buffer."""
    element: int
    """Number of the element in the buffer."""
    offset: int
    """Offset of its packet in the buffer."""
    source: str
    """Name of the source."""
    instruction: int
    """Number of instructions of the buffer before it."""
    time: int | None
    """Last timestamp of the source up to it, in ticks."""


class Index:
    """An index that a trace uses: windows and searches take a fraction of the time."""

    def __init__(self, inner: _tracewright.Index, trace: Trace) -> None:
        self._inner = inner
        self._trace = trace

    def __len__(self) -> int:
        """The number of segments of all buffers."""
        return len(self._inner)

    def __repr__(self) -> str:
        return f"<Index of {len(self)} segments>"

    def find(self, query: str) -> list[Found]:
        """As `Trace.find`."""
        return self._trace.find(query)

    def count(self, query: str) -> int:
        """As `Trace.count`."""
        return self._trace.count(query)

    @property
    def segments(self) -> Table:
        """Table `segments`: where and when, without decoding."""
        return self._trace.table("segments")


class Profile:
    """Counts of branches and ranges, for compilers. `+=` adds those of another trace of the same
    programs.

    >>> import tracewright as tw
    >>> profile = tw.demo().profile()
    >>> profile += tw.demo().profile()
    >>> profile.instructions == 2 * tw.demo().profile().instructions
    True
    """

    def __init__(self) -> None:
        self._inner: _tracewright.Profile | None = None

    @classmethod
    def _of(cls, inner: _tracewright.Profile) -> Profile:
        own = cls()
        own._inner = inner
        return own

    @property
    def instructions(self) -> int:
        """Number of executed instructions."""
        return 0 if self._inner is None else self._inner.instructions

    def __repr__(self) -> str:
        return f"<Profile of {self.instructions} instructions>"

    def __iadd__(self, other: Profile) -> Profile:
        if other._inner is None:
            return self
        if self._inner is None:
            self._inner = other._inner.copy()
        else:
            self._inner.merge(other._inner)
        return self

    def dump(self, format: str) -> bytes:
        """The profile in a format of the verb `profile`: `autofdo`, `bolt`, `llvm`,
        `llvm-unsymbolized`, `propeller`, `branch-list`, `pprof`, `folded`, `callgrind` or `json`.

        Raises `ValueError` for another format, and where the programs lack what it needs.
        """
        if self._inner is None:
            raise TracewrightError("the profile has no counts")
        return self._inner.bytes(format)

    def write(self, path: str | os.PathLike[str], format: str) -> None:
        """Writes the profile to a file, in a format of `dump`."""
        pathlib.Path(path).write_bytes(self.dump(format))


class Coverage:
    """What was executed of the source files."""

    def __init__(self, inner: _tracewright.Coverage, trace: Trace) -> None:
        self._inner = inner
        self._trace = trace

    def __repr__(self) -> str:
        return f"<Coverage of {len(self.files)} files>"

    @property
    def files(self) -> list[str]:
        """The paths of the source files."""
        return self._inner.files

    @property
    def lines(self) -> Table:
        """Table `coverage_lines`: executions and outcomes of branches of each line with code."""
        return self._trace.table("coverage_lines")

    def dump(self, format: str) -> bytes:
        """The coverage in a format: `lcov`, `cobertura`, `gcov` or `llvm-cov`.

        Raises `ValueError` for another format.
        """
        return self._inner.bytes(format)

    def write(self, path: str | os.PathLike[str], format: str) -> None:
        """Writes the coverage to a file, in a format of `dump`."""
        pathlib.Path(path).write_bytes(self.dump(format))

    def _repr_html_(self) -> str:
        return self.lines._repr_html_()


class Report:
    """A page with functions, flame graph, timeline, exceptions and coverage. A notebook shows
    it."""

    def __init__(self, page: str) -> None:
        self.html = page
        """The page."""

    def __repr__(self) -> str:
        return f"<Report of {len(self.html)} characters>"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file."""
        pathlib.Path(path).write_text(self.html, "utf-8")

    def _repr_html_(self) -> str:
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:40em;border:0"></iframe>'


def merge(profiles: Iterable[Profile]) -> Profile:
    """The sum of profiles."""
    total = Profile()
    for profile in profiles:
        total += profile
    return total
