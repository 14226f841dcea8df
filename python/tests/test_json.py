"""Tables, row by row, as the lines of `--format json`, whole and in windows cut at random."""

from __future__ import annotations

import json
import pathlib
import random
from collections import Counter
from typing import Any, Callable, Iterable

import pytest
import tracewright as tw
from conftest import SMALL, command

Line = dict[str, Any]
Row = dict[str, Any]

PLACE = ("buffer", "element", "instruction", "time")


def _hex(value: str) -> int:
    return int(value, 16)


def _function(symbol: str) -> str:
    return symbol.rsplit("+0x", 1)[0]


def _events(numbers: list[int]) -> int:
    return sum(1 << number for number in numbers)


# By the name of a field of JSON: the column, and its value.
COMMON: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "source": ("source", str),
    "offset": ("offset", int),
    "kind": ("kind", str),
    "start": ("address", _hex),
    "address": ("address", _hex),
    "end": ("end", _hex),
    "next": ("end", _hex),
    "return_address": ("return_address", _hex),
    "opcode": ("opcode", _hex),
    "pc": ("pc", _hex),
    "pc_low": ("low", _hex),
    "address_low": ("low", _hex),
    "context_id": ("context_id", _hex),
    "vmid": ("vmid", _hex),
    "symbol": ("function", _function),
    "events": ("value", _events),
    "total": ("value", int),
    "time": ("write_time", int),
    "process": ("pid", int),
    "thread": ("tid", int),
    "command": ("comm", str),
}

# The fields that are there if true, and the kinds that may have them.
MARKS = {
    "range": {"conditional"},
    "exception": {"also_target", "tail_chain"},
    "software-write": {
        *("marker", "trigger", "frequency", "master_error", "global_error", "channel_error"),
        *("cross_sync", "flag", "user", "after_overflow"),
    },
    "dwt-event": {"after_overflow"},
    "local-timestamp": {"after_overflow"},
    "global-timestamp": {"after_overflow", "clock_changed"},
    "data-access": {
        *("coprocessor", "continued", "late", "store_failed", "value_not_traced", "suppressed"),
        *("big_endian", "exception"),
    },
}

# By the name of a table of elements: their kinds, and columns with other names than in COMMON.
TABLES: dict[str, tuple[set[str] | None, dict[str, str]]] = {
    "elements": (None, {}),
    "ranges": ({"range"}, {}),
    "exceptions": ({"exception"}, {}),
    "gaps": ({"gap", "trace-on", "no-code", "undecodable", "inconsistency", "ambiguity"}, {}),
    "timestamps": ({"timestamp", "global-timestamp", "local-timestamp", "cycles"}, {}),
    "contexts": ({"context"}, {}),
    "software_writes": ({"software-write"}, {}),
    "dwt_events": ({"dwt-event"}, {"number": "exception"}),
    "data_accesses": ({"data-access"}, {}),
}

# Columns that no line has: those of intervals, of clocks, and of other verbs.
OWN = {
    *("ts", "cpu", "size", "times", "file", "line", "until_element", "exit_element", "exit_time"),
    *("ticks", "dur", "inclusive_instructions", "handler_function", "page"),
}


def lines(verb: str, path: pathlib.Path, *options: object) -> list[Line]:
    """The lines of a verb; none where there is no code, or no file of a program."""
    refused = "no instructions|no ELF file|of samples|nothing was captured"
    output = command(verb, "--format", "json", *options, path, refused=refused)
    return [json.loads(line) for line in output.splitlines()]


def of_type(all_: Iterable[Line], *types: str) -> list[Line]:
    return [line for line in all_ if line.get("type") in types]


def placed(path: pathlib.Path, trace: tw.Trace, verb: str, *options: object) -> list[Line]:
    """The lines of elements and packets, each with its buffer and what is before it, in the order
    of the numbers of buffers: those of perf are listed in the order of their times."""
    names = [buffer.name for buffer in trace.buffers]
    found, buffer = [], -1
    seen: Counter[str] = Counter()
    elements = instructions = 0
    times: dict[str, int] = {}
    contexts: dict[str, Row] = {}
    for line in lines(verb, path, *options)[1:]:
        if line["type"] == "buffer":
            own = [number for number, name in enumerate(names) if name == line["name"]]
            buffer = own[seen[line["name"]]]
            seen[line["name"]] += 1
            elements = instructions = 0
            times, contexts = {}, {}
        if line["type"] not in ("element", "packet", "instruction"):
            continue
        kind = line.get("kind")
        if line["type"] == "element":
            ticks = {"timestamp": "value", "global-timestamp": "value", "software-write": "time"}
            if ticks.get(kind, "") in line:
                times[line["source"]] = int(line[ticks[kind]])
            if kind == "context":
                own = {key: line[key] for key in ("el", "security") if key in line}
                own |= {key: _hex(line[key]) for key in ("context_id", "vmid") if key in line}
                contexts[line["source"]] = own
        place = (buffer, elements, instructions, times.get(line["source"]))
        context = contexts.get(line["source"], {}) if kind == "range" else {}
        found.append({**line, "place": place, "in": context})
        if kind == "loop-turns":
            elements += line["turns"] * line["ranges"]
            instructions += line["instructions"]
        elif line["type"] == "element":
            elements += 1
            instructions += line.get("instructions", 0) if kind == "range" else 0
    return sorted(found, key=lambda line: line["place"][0])


def mapped(line: Line, columns: set[str], own: dict[str, str]) -> Row:
    """The row that a line is, of these columns."""
    row: Row = {}
    for field, value in line.items():
        if field in ("type", "place", "in", "symbol") and not (field == "symbol" and "function" in columns):
            continue
        column, convert = COMMON.get(field, (field, None))
        column = own.get(field, column)
        # An element's address of several kinds is in one column.
        if column not in columns and field == "return_address":
            column = "address"
        if isinstance(value, str) and convert is None:
            convert = _hex if value.startswith("0x") else str
            if field in ("value", "delta") and value.isdigit():
                convert = int
        if field in MARKS.get(line.get("kind", ""), ()):
            continue
        row[column] = value if convert is None else convert(value)
    for mark in MARKS.get(line.get("kind", ""), ()):
        row[mark] = line.get(mark, False)
    if "conditional" in columns and "kind" not in columns:
        row |= line.get("in", {})
    for column, value in zip(PLACE, line["place"]):
        if value is not None and column in columns:
            row[column] = value
    return row


def known(row: Any, leave: set[str] = OWN) -> Row:
    """What is known of a row, without the columns that lines lack."""
    own = {name: value for name, value in row._asdict().items() if value is not None}
    for name in ("pid", "tid", "comm"):
        # Lines of contexts only have these.
        if own.get("kind", "context") != "context" or "until_element" not in row._fields:
            own.pop(name, None)
    return {name: value for name, value in own.items() if name not in leave}


def all_columns(name: str) -> list[str]:
    return [column.name for column in tw.tables()[name]]


def rows(trace: tw.Trace, name: str, **selections: Any) -> list[Any]:
    return trace.table(name, columns=all_columns(name), **selections).rows()


def in_order(all_: list[Any]) -> list[Any]:
    """Rows of intervals come in the order in which they end."""
    return sorted(all_, key=lambda row: (row.buffer, row.element))


def without_turns(all_: list[Any]) -> list[Any]:
    return [row for row in all_ if getattr(row, "times", 1) == 1]


def compared(name: str, own: list[Any], want: list[Row]) -> None:
    assert len(own) == len(want), name
    for row, line in zip(own, want):
        fields = known(row)
        if name == "elements":
            # Flags of other kinds are null, and one is there of all.
            fields = {key: value for key, value in fields.items() if value is not False or key in line}
            line = {key: value for key, value in line.items()}
        else:
            for mark in {column for kind in MARKS.values() for column in kind} & fields.keys():
                line.setdefault(mark, False)
        line = {key: value for key, value in line.items() if key not in OWN}
        if "kind" not in row._fields:
            line.pop("kind", None)
        if name != "contexts":
            for key in ("pid", "tid", "comm"):
                line.pop(key, None)
        assert fields == line, name


@pytest.fixture(params=SMALL, ids=lambda path: path.parent.name if path.name == "capture" else path.name)
def path(request: pytest.FixtureRequest) -> pathlib.Path:
    return request.param


@pytest.fixture
def opened(path: pathlib.Path) -> tw.Trace:
    trace = tw.open(path, partial=True, jobs=1)
    if not trace.sources:
        pytest.skip("nothing can be decoded")
    return trace


def test_elements(path: pathlib.Path, opened: tw.Trace) -> None:
    listed = placed(path, opened, "decode", "--single")
    listed = [line for line in listed if line["kind"] != "loop-turns"]
    if not listed:
        pytest.skip("nothing was captured")
    for name, (kinds, own) in TABLES.items():
        columns = set(all_columns(name))
        of_kind = [line for line in listed if kinds is None or line["kind"] in kinds]
        found = in_order(without_turns(rows(opened, name)))
        compared(name, found, [mapped(line, columns, own) for line in of_kind])


def test_packets_and_instructions(path: pathlib.Path, opened: tw.Trace) -> None:
    listed = placed(path, opened, "packets")
    if not listed:
        pytest.skip("nothing was captured")
    found = rows(opened, "packets")
    assert len(found) == len(listed)
    for row, line in zip(found, listed):
        assert (row.buffer, row.source, row.offset) == (line["place"][0], line["source"], line["offset"])
        assert row.kind == line["kind"]
        if line["type"] == "packet":
            # A packet of an STM consists of halves of bytes: a digit for each.
            assert row.text == line["text"]
            assert row.bytes.hex() == line["bytes"] or row.size == len(line["bytes"])
    listed = of_type(placed(path, opened, "instructions"), "instruction")
    found = without_turns(rows(opened, "instructions"))
    assert len(found) == len(listed)
    columns = {*("source", "offset", "address", "isa", "opcode", "text", "function", "taken"), "passed", "cycles"}
    for row, line in zip(found, listed):
        fields = {key: value for key, value in known(row).items() if key in columns}
        assert fields == mapped({**line, "place": ()}, columns, {})


def test_threads(path: pathlib.Path, opened: tw.Trace) -> None:
    for name in tw.tables():
        if name == "segments":
            continue
        want = rows(opened, name)
        for jobs in (2, 3):
            assert rows(tw.open(path, partial=True, jobs=jobs), name) == want, (name, jobs)


ENDS = {"exit_element", "exit_time", "ticks", "dur", "inclusive_instructions", "until_element"}


def test_windows(path: pathlib.Path, opened: tw.Trace, tmp_path: pathlib.Path) -> None:
    """The rows of windows cut anywhere are those of the whole, with an index and without."""
    cuts = random.Random(path.name)
    indexed = tw.open(path, partial=True, jobs=1)
    indexed.index(tmp_path / "own.twx")
    for name in [*TABLES, "packets", "instructions", "range_blocks"]:
        leave = {"block"} | (ENDS if name in ("exceptions", "contexts") else set())
        whole = [known(row, leave) for row in rows(opened, name)]
        for by in ("element", "offset", "time", "instruction"):
            if by not in all_columns(name) or name == "packets" and by != "offset":
                continue
            if by == "instruction" and name not in ("instructions", "gaps", "exceptions", "contexts"):
                # A range is in all windows that have one of its instructions.
                continue
            values = [row[by] for row in whole if by in row]
            most = max(values, default=0)
            between = sorted(cuts.randint(0, most) for _ in range(3))
            spans = list(zip([0, *between], [*between, None]))
            want = [row for row in whole if by in row]
            for trace in (opened, indexed):
                own = [known(row, leave) for span in spans for row in rows(trace, name, **{by: span})]
                assert len(own) == len(want), (name, by, spans)
                assert _sorted(own) == _sorted(want), (name, by, spans)


def _sorted(all_: list[Row]) -> list[str]:
    return sorted(map(repr, all_))


def window(span: tuple[int, int | None]) -> list[str]:
    return ["--offset", f"{span[0]}..{'' if span[1] is None else span[1]}"]


def test_calls_functions_coverage(path: pathlib.Path, opened: tw.Trace) -> None:
    """Calls, functions and lines of source, of the whole and of windows, are those of their verbs;
    the instructions of windows add up to those of the whole."""
    size = max((buffer.bytes or 0 for buffer in opened.buffers), default=0)
    cut = random.Random(path.name).randint(1, max(size, 1))
    whole, first, second = (
        _checked_calls(path, opened, span) for span in ((0, None), (0, cut), (cut, None))
    )
    assert whole == first + second


def _checked_calls(
    path: pathlib.Path, trace: tw.Trace, span: tuple[int, int | None]
) -> int:
    """Compares one window, and returns its instructions."""
    given = {} if span == (0, None) else {"offset": span}
    options = window(span) if given else []
    called = lines("calls", path, *options)
    def listed_call(line: Line, last: str) -> tuple[Any, ...]:
        # A function whose name is not known is called so.
        name = line["function"] if line["function"] != "[unknown]" else None
        return line["thread"], line.get("offset"), line.get("instruction"), line["depth"], name, line[last]

    want = [
        (*listed_call(line, "ending"), line["instructions"], line["inclusive_instructions"],
         line.get("uncertain", False))
        for line in of_type(called, "end")
    ]
    calls = rows(trace, "calls", **given)
    own = [
        (row.thread, row.end_offset, row.end_instruction, row.depth, row.function, row.ending,
         row.instructions, row.inclusive_instructions, row.uncertain)
        for row in calls
    ]
    # Lines of several buffers come in another order.
    assert sorted(own, key=_thread) == sorted(want, key=_thread)
    want = [
        (*listed_call(line, "entry"), _hex(line["address"]) if "address" in line else None, line.get("exception"))
        for line in of_type(called, "begin")
    ]
    begun = [
        (row.thread, row.begin_offset, row.begin_instruction, row.depth, row.function, row.entry,
         row.address, row.exception)
        for row in calls
    ]
    assert Counter(begun) == Counter(want)
    fields = ("name", "calls", "instructions", "inclusive_instructions", "cycles", "ticks")
    functions = rows(trace, "functions", **given)
    want = [tuple(line.get(field) for field in fields) for line in of_type(lines("functions", path, *options), "function")]
    assert Counter(tuple(getattr(row, field) for field in fields) for row in functions) == Counter(want)
    covered = rows(trace, "coverage_lines", **given)
    listed = of_type(lines("coverage", path, *options), "line")
    assert [(row.file, row.line, row.executions) for row in covered] == [
        (line["path"], line["line"], line.get("executions")) for line in listed
    ]
    return sum(row.instructions for row in functions)


def _thread(row: tuple[Any, ...]) -> str:
    return row[0]
