"""Processor trace: decode ETM, ETE, PTM, E-Trace, N-Trace, ITM and STM, and read them as tables.

>>> import tracewright as tw
>>> trace = tw.demo()
>>> for element in trace.elements(kinds=["range"], limit=1):
...     match element:
...         case tw.Range(start, end):
...             print(start < end)
True
"""

from __future__ import annotations

from ._encode import encode
from ._opening import demo, from_bytes, open, open_raw
from ._results import Coverage, Found, Index, Profile, Report, merge
from ._table import Column, Table, tables
from ._trace import Buffer, Element, Missing, Source, Trace
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
from .errors import CommandError, DecodeError, OpenError, QueryError, TableError, TracewrightError

__version__ = "0.1.0"

__all__ = [
    "Buffer",
    "Column",
    "CommandError",
    "Context",
    "Coverage",
    "DataAccess",
    "DecodeError",
    "DwtEvent",
    "Element",
    "ExceptionTaken",
    "Found",
    "Gap",
    "Index",
    "Missing",
    "OpenError",
    "Other",
    "Profile",
    "QueryError",
    "Range",
    "Report",
    "SoftwareWrite",
    "Source",
    "Table",
    "TableError",
    "Timestamp",
    "Trace",
    "TracewrightError",
    "demo",
    "encode",
    "from_bytes",
    "merge",
    "open",
    "open_raw",
    "tables",
]
