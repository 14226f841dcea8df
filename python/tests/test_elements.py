"""Elements as objects, compared with the listings of the command."""

from __future__ import annotations

import json
import pathlib
import pickle

import pytest
import tracewright as tw
from conftest import CAPTURES, command


def lines(path: pathlib.Path) -> list[dict]:
    """The lines of elements of `decode --format json`."""
    output = command("decode", "--single", "--format", "json", path)
    parsed = [json.loads(line) for line in output.splitlines()]
    return [line for line in parsed if line.get("type") == "element"]


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.parent.name)
def test_elements_are_the_lines_of_the_command(path: pathlib.Path) -> None:
    listed = [line for line in lines(path) if line["kind"] != "loop-turns"]
    own = list(tw.open(path, partial=True).elements(functions=True))
    own = [element for element in own if not (isinstance(element, tw.Range) and element.times > 1)]
    assert [element.kind for element in own] == [line["kind"] for line in listed]
    assert len(own) > 0
    for element, line in zip(own, listed):
        assert (element.source, element.offset) == (line["source"], line["offset"])
        match element:
            case tw.Range(start, end):
                assert (hex(start), hex(end)) == (line["start"], line["end"])
                assert element.instructions == line["instructions"]
                assert element.taken == line["taken"]
                assert element.cycles == line.get("cycles")
                symbol = line.get("symbol")
                assert element.function == (symbol and symbol.split("+")[0])
            case tw.ExceptionTaken(number, return_address):
                assert number == line["number"]
                assert (return_address and hex(return_address)) == line.get("return_address")
            case tw.SoftwareWrite(port, value):
                assert (port, hex(value)) == (line.get("port"), line["value"])
            case tw.DataAccess(address, value):
                assert (address and hex(address)) == line.get("address")
                assert element.size == line.get("size")
            case tw.Context():
                assert element.el == line.get("el")


def test_match(trace: tw.Trace) -> None:
    seen = set()
    for element in trace.elements():
        match element:
            case tw.Range(start, end):
                assert start < end
                seen.add("range")
            case tw.ExceptionTaken(number, _):
                assert number > 0
                seen.add("exception")
            case tw.Timestamp(value):
                assert element.time == value
                seen.add("timestamp")
            case tw.SoftwareWrite(port, value):
                assert port in (0, 1) and value < 1 << 32
                seen.add("write")
    assert seen == {"range", "exception", "timestamp", "write"}


def test_elements_are_values(trace: tw.Trace) -> None:
    elements = list(trace.elements(functions=True))
    again = list(trace.elements(functions=True))
    assert elements == again and len(set(elements)) == len(elements)
    assert elements[0] != elements[1]
    assert pickle.loads(pickle.dumps(elements)) == elements
    ranges = [element for element in elements if isinstance(element, tw.Range)]
    assert repr(ranges[0]).startswith("Range(start=0x")
    with pytest.raises(AttributeError):
        ranges[0].start = 0  # type: ignore[misc]


def test_selections(trace: tw.Trace) -> None:
    whole = list(trace.elements())
    assert list(trace.elements(element=slice(10, 20))) == whole[10:20]
    assert list(trace.elements(limit=3)) == whole[:3]
    assert list(trace.elements(offset=(0, 100))) == [e for e in whole if e.offset < 100]
    assert list(trace.elements(source="ITM_0")) == [e for e in whole if e.source == "ITM_0"]
    kinds = {"exception", "exception-return"}
    assert list(trace.elements(kinds=kinds)) == [e for e in whole if e.kind in kinds]
    late = [e for e in whole if e.time is not None and e.time >= 4000]
    assert list(trace.elements(time=(4000, None))) == late and late
    of_main = [e for e in trace.elements(function="main", functions=True, kinds=["range"])]
    assert {e.function for e in of_main} >= {"main"}
    with pytest.raises(tw.TableError, match="no kind of element"):
        list(trace.elements(kinds=["nothing"]))
    with pytest.raises(ValueError, match="offset"):
        list(trace.elements(offset=(5, 3)))
    with pytest.raises(ValueError, match="step"):
        list(trace.elements(offset=slice(0, 8, 2)))


def test_instructions(trace: tw.Trace) -> None:
    executed = sum(row.times for row in trace.instructions())
    assert executed == sum(
        element.instructions * element.times for element in trace.elements(kinds=["range"])
    )
    first = next(trace.instructions())
    assert first.text and first.opcode is not None and first.size in (2, 4)
