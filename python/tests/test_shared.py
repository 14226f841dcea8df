"""Tables of a capture of six processors, which is beside the repository: groups of their rows are
what other verbs of the command count."""

from __future__ import annotations

import json
import pathlib

import pytest
import tracewright as tw
from conftest import command, shared

duckdb = pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def path() -> pathlib.Path:
    return shared("conformance/arm/snapshots/bugfix-exact-match")


@pytest.fixture(scope="module")
def trace(path: pathlib.Path) -> tw.Trace:
    return tw.open(path, partial=True)


def lines(verb: str, path: pathlib.Path, kind: str) -> list[dict]:
    """The lines of a verb with `--format json` that have a type."""
    parsed = map(json.loads, command(verb, "--format", "json", path).splitlines())
    return [line for line in parsed if line.get("type") == kind]


def test_ranges_are_those_of_profile(trace: tw.Trace, path: pathlib.Path) -> None:
    ranges = trace.table("ranges", columns=["address", "end", "last", "taken", "times"])
    # Barriers that took effect are no branches. An instruction of A64 has four bytes.
    query = """
        with counted as (
            select address, "end" - 4 as final, times,
                taken and last in ('branch', 'indirect') as branched from ranges
        )
        select address, final, coalesce(sum(times) filter (branched), 0),
            coalesce(sum(times) filter (not branched), 0) from counted group by all
    """
    own = {
        (hex(address), hex(final)): (int(taken), int(not_taken))
        for address, final, taken, not_taken in duckdb.sql(query).fetchall()
    }
    want = {
        (line["start"], line["last"]): (line["taken"], line["not_taken"])
        for line in lines("profile", path, "range")
    }
    assert own == want and len(own) > 10_000
    executed = trace.table("ranges", columns=["instructions", "times"])
    count = duckdb.sql("select sum(instructions * times) from executed").fetchall()
    assert [(line["instructions"],) for line in lines("profile", path, "profile")] == count


def test_branches_are_those_of_profile(trace: tw.Trace, path: pathlib.Path) -> None:
    columns = ["from_address", "to_address", "taken", "kind", "times"]
    branches = trace.table("branches", columns=columns)
    query = """
        select from_address, to_address, sum(times) from branches
        where taken and kind != 'exception' group by all
    """
    own = {
        (hex(source), target and hex(target)): int(count)
        for source, target, count in duckdb.sql(query).fetchall()
    }
    want: dict[tuple[str, str | None], int] = {}
    for line in lines("profile", path, "branch"):
        key = (line["from"], line.get("to") or line.get("to_outside"))
        want[key] = want.get(key, 0) + line["count"]
    assert own == want and len(own) > 10_000


def test_calls_are_those_of_functions(trace: tw.Trace, path: pathlib.Path) -> None:
    calls = trace.calls(columns=["function", "entry", "instructions"])
    query = """
        select coalesce(function, '[unknown]'), sum(instructions), count(*) filter (
            entry in ('call', 'tail-call', 'jump', 'exception')
        ) from calls group by all
    """
    own = {name: (int(sum_), count) for name, sum_, count in duckdb.sql(query).fetchall()}
    want = {
        line["name"]: (line["instructions"], line["calls"])
        for line in lines("functions", path, "function")
    }
    assert own == want and len(own) > 100
    rows = {row.name: (row.instructions, row.calls) for row in trace.functions()}
    assert {name: row for name, row in rows.items() if name in want} == want


def test_scan_decodes_a_part(trace: tw.Trace, tmp_path: pathlib.Path) -> None:
    """What a lazy frame filters does not come from rows: most of the trace is not decoded."""
    pl = pytest.importorskip("polars")
    from tracewright.polars import scan

    columns = ["element", "offset", "source", "address"]
    whole = trace.table("ranges", columns=columns).to_polars()
    size = trace.buffers[0].bytes
    assert size == 1 << 20 and trace.decoded > 0.9 * size
    indexed = tw.open(trace._made.args[0], partial=True, jobs=1)
    indexed.index(tmp_path / "own.twx")
    assert indexed.decoded == 0
    most = whole["element"].max()
    for predicate, part in (
        # Decoding begins and ends near the window.
        (pl.col("offset").is_between(500_000, 510_000), 0.15),
        ((pl.col("element") >= most // 2) & (pl.col("element") < most // 2 + 1000), 0.2),
        (pl.col("address") < 0x1000, 0.01),
    ):
        before = indexed.decoded
        own = scan(indexed, "ranges").filter(predicate).select(columns).collect()
        assert own.equals(whole.filter(predicate)), predicate
        assert indexed.decoded - before <= part * size, predicate
    before = indexed.decoded
    assert scan(indexed, "ranges").select(columns).head(10).collect().equals(whole.head(10))
    assert indexed.decoded - before < 0.5 * size
