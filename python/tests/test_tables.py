"""Tables: read by other programs, written to files, as lazy frames."""

from __future__ import annotations

import json
import pathlib
import pickle
import re
import subprocess
import sys

import pytest
import tracewright as tw
from conftest import CAPTURES, command

pyarrow = pytest.importorskip("pyarrow")
polars = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
pandas = pytest.importorskip("pandas")

DECODED = [name for name in tw.tables() if name != "segments"]


def all_columns(name: str) -> list[str]:
    return [column.name for column in tw.tables()[name]]


@pytest.mark.parametrize("name", DECODED)
def test_other_programs_read_the_same(trace: tw.Trace, name: str) -> None:
    table = trace.table(name, columns=all_columns(name))
    rows = [tuple(row) for row in table]
    arrow = table.to_arrow()
    assert arrow.num_rows == len(rows)
    assert arrow.schema.metadata[b"tracewright:table"].decode() == name
    assert [tuple(row.values()) for row in arrow.to_pylist()] == rows
    assert list(polars.DataFrame(table).iter_rows()) == rows
    frame = table.to_pandas()
    own = [tuple(None if value is pandas.NA else value for value in row)
           for row in frame.astype(object).itertuples(index=False, name=None)]
    assert [[_plain(v) for v in row] for row in own] == [[_plain(v) for v in row] for row in rows]
    assert duckdb.sql("select * from arrow").fetchall() == rows
    assert table.to_duckdb().fetchall() == rows
    for column, field in zip(tw.tables()[name], arrow.schema):
        assert field.nullable == column.nullable, column.name
        assert not (arrow[column.name].null_count and not column.nullable), column.name


def _plain(value: object) -> object:
    """A value of pandas as one of Python: lists are arrays there, and what is unknown is NA or NaN."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if value is pandas.NA or value is None or isinstance(value, float) and value != value:
        return None
    return value


def test_types(trace: tw.Trace) -> None:
    ranges = trace.table("ranges", columns=["address", "function", "instructions", "last", "time"])
    schema = ranges.to_arrow().schema
    assert schema.field("address").type == pyarrow.uint64()
    assert schema.field("last").type == pyarrow.dictionary(pyarrow.int8(), pyarrow.string())
    assert schema.field("function").type == pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    assert schema.field("address").metadata == {b"tracewright:display": b"hex"}
    frame = ranges.to_polars()
    assert frame.schema["address"] == polars.UInt64
    assert frame["time"].null_count() == sum(row.time is None for row in ranges)
    assert ranges.to_pandas()["time"].isna().sum() == frame["time"].null_count()
    signed = trace.table("ranges", columns=["address"], signed=True).to_arrow()
    assert signed.schema.field("address").type == pyarrow.int64()
    relation = ranges.to_duckdb()
    assert dict(zip(relation.columns, map(str, relation.types)))["address"] == "UBIGINT"


def test_numbers_of_64_bits_stay_exact() -> None:
    most, least = 0xFEDC_BA98_7654_3210, 1
    # Nibbles of MIPI STPv2, the low one of a byte first: ASYNC, VERSION, M8, C8, two D64.
    nibbles = f"{'f' * 21}0f003105305" + f"7{most:016x}7{least:016x}"
    nibbles += "0" * (len(nibbles) % 2)
    data = bytes.fromhex("".join(nibbles[i + 1] + nibbles[i] for i in range(0, len(nibbles), 2)))
    trace = tw.open_raw(data, protocol="STM")
    writes = trace.table("software_writes", columns=["value", "port"])
    assert [row.value for row in writes] == [most, least]
    assert writes.to_arrow()["value"].to_pylist() == [most, least]
    assert writes.to_polars()["value"].to_list() == [most, least]
    assert writes.to_pandas()["value"].tolist() == [most, least]
    query = "select max(value), any_value(typeof(value)) from writes"
    assert duckdb.sql(query).fetchall() == [(most, "UBIGINT")]
    # A column that is null in all rows has its type.
    assert writes.to_polars().schema["port"] == polars.UInt16
    assert str(writes.to_pandas()["port"].dtype) == "uint16[pyarrow]"
    signed = trace.table("software_writes", columns=["value"], signed=True)
    assert [row.value for row in signed] == [most - (1 << 64), least]
    view = trace.table("software_writes_view", columns=["value"])
    assert [row.value for row in view] == [hex(most), hex(least)]


def test_duckdb_queries_decode_anew(trace: tw.Trace) -> None:
    ranges = trace.table("ranges", columns=["function", "instructions", "times"])
    query = "select function, sum(instructions * times) from ranges group by function"
    sums = {name: int(sum_) for name, sum_ in duckdb.sql(query).fetchall()}
    own: dict[str | None, int] = {}
    for row in ranges:
        own[row.function] = own.get(row.function, 0) + row.instructions * row.times
    assert sums == own
    relation = duckdb.sql("select count(*) from ranges")
    assert relation.fetchall() == relation.fetchall() == [(len(ranges.rows()),)]


def test_groups_are_those_of_the_command(trace: tw.Trace, tmp_path: pathlib.Path) -> None:
    command("demo", "--write", tmp_path / "demo")
    listed = command("functions", "--format", "json", tmp_path / "demo")
    lines = [json.loads(line) for line in listed.splitlines()]
    want = {line["name"]: line for line in lines if line.get("type") == "function"}
    rows = {row.name: row for row in trace.functions()}
    assert rows.keys() == want.keys() and rows
    for name, row in rows.items():
        assert row.calls == want[name]["calls"], name
        assert row.instructions == want[name]["instructions"], name
    calls = trace.calls().to_polars().group_by("function").agg(polars.col("instructions").sum())
    assert {name: count for name, count in calls.iter_rows() if count} == {
        name: row.instructions for name, row in rows.items() if row.instructions
    }


def test_files(trace: tw.Trace, tmp_path: pathlib.Path) -> None:
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    table = trace.table("ranges")
    rows = [tuple(row) for row in table]
    files = {end: str(tmp_path / f"ranges.{end}") for end in ("parquet", "arrow", "arrows", "csv")}
    for path in files.values():
        assert table.write(path) == len(rows)
    with open(files["arrows"], "rb") as stream:
        streamed = pyarrow.ipc.open_stream(stream).read_all()
    read = {
        "parquet": pyarrow.parquet.read_table(files["parquet"]),
        "arrow": pyarrow.feather.read_table(files["arrow"]),
        "arrows": streamed,
    }
    for end, own in read.items():
        assert [tuple(row.values()) for row in own.to_pylist()] == rows, end
    assert list(polars.read_parquet(files["parquet"]).iter_rows()) == rows
    assert list(polars.read_ipc(files["arrow"]).iter_rows()) == rows
    assert duckdb.sql(f"select * from '{files['parquet']}'").fetchall() == rows
    assert len(pandas.read_parquet(files["parquet"], dtype_backend="pyarrow")) == len(rows)
    assert pyarrow.csv.read_csv(files["csv"]).num_rows == len(rows)
    metadata = pyarrow.parquet.read_metadata(files["parquet"]).metadata
    assert metadata[b"tracewright:complete"] in (b"true", b"false")
    with pytest.raises(ValueError, match="must end with"):
        table.write(tmp_path / "ranges.txt")
    with pytest.raises(OSError):
        table.write(tmp_path / "nowhere" / "ranges.csv")


@pytest.mark.parametrize("path", CAPTURES[::3], ids=lambda path: path.parent.name)
def test_files_of_the_command_are_the_same(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    command("table", "ranges", path, "-o", tmp_path / "command.parquet")
    tw.open(path, partial=True).table("ranges").write(tmp_path / "package.parquet")
    assert (tmp_path / "command.parquet").read_bytes() == (
        tmp_path / "package.parquet"
    ).read_bytes()


def test_scan(trace: tw.Trace) -> None:
    from tracewright.polars import scan, selected

    pl = polars
    names = all_columns("ranges")
    whole = trace.table("ranges", columns=names).to_polars()
    low, high, most = 40, 400, 2**64 - 1
    address = whole["address"][7]
    cases = [
        ((pl.col("element") >= low) & (pl.col("element") < high), {"element": (low, high)}),
        ((pl.col("offset") > low) & pl.col("taken"), {"offset": (low + 1, most)}),
        ((pl.col("offset") <= high) | (pl.col("element") == 3), {}),
        (pl.col("instruction") == 7, {"instruction": (7, 8)}),
        (pl.lit(low) < pl.col("time"), {"time": (low + 1, most)}),
        (pl.col("offset").is_between(low, high), {"offset": (low, high + 1)}),
        (pl.col("address") == address, {"address": (address, address + 1)}),
        (pl.col("source") == "ETM_0", {"source": "ETM_0"}),
        (pl.col("source") == "nothing", {}),
        (pl.col("function") == "main", {"function": "main"}),
        (pl.col("function") == "nothing", {}),
        (~(pl.col("element") < low), {}),
        ((pl.col("function") == "main") & (pl.col("address") > address), None),
        ((pl.col("element") >= high) & (pl.col("element") < low), None),
    ]
    for predicate, selections in cases:
        if selections is not None:
            assert selected(predicate, trace, "ranges") == selections, predicate
        want = whole.filter(predicate).select("element", "address")
        frame = scan(trace, "ranges", columns=names).filter(predicate)
        assert frame.select("element", "address").collect().equals(want), predicate
    assert scan(trace, "ranges").head(3).collect().height == 3
    assert scan(trace, "ranges", limit=5).filter(pl.col("element") > 2).collect().equals(
        trace.table("ranges", columns=names).to_polars().head(5).filter(pl.col("element") > 2)
    )
    within = scan(trace, "ranges", function="main").filter(pl.col("address") < address).collect()
    assert within.equals(
        trace.table("ranges", columns=names, function="main")
        .to_polars()
        .filter(pl.col("address") < address)
    )


def test_scan_has_columns_on_request(trace: tw.Trace) -> None:
    from tracewright.polars import scan

    frame = scan(trace, "ranges")
    assert frame.collect_schema().names() == all_columns("ranges")
    own = frame.filter(polars.col("function") == "main").select("function").collect()
    assert own["function"].unique().to_list() == ["main"]


def test_scan_without_pyarrow(trace: tw.Trace) -> None:
    script = (
        "import sys\n"
        "sys.modules['pyarrow'] = None\n"
        "import tracewright as tw, polars as pl\n"
        "from tracewright.polars import scan\n"
        "trace = tw.demo()\n"
        "frame = scan(trace, 'ranges', batch=100).filter(pl.col('taken')).select('address').collect()\n"
        "print(frame.height, trace.table('ranges', batch=100).to_polars().height)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    taken = [row.taken for row in trace.table("ranges")]
    assert done.stdout.split() == [str(sum(taken)), str(len(taken))], done.stderr


def test_schema(trace: tw.Trace) -> None:
    for name in DECODED:
        schema = trace.table(name, columns=all_columns(name)).schema
        assert schema == tw.tables()[name]
    view = trace.table("ranges_view", columns=["address", "taken"]).schema
    assert [column.type for column in view] == ["Utf8", "Boolean"]


def test_single_names_and_addresses(trace: tw.Trace) -> None:
    assert trace.table("ranges", columns="address", limit=1).columns == ["address"]
    exceptions = list(trace.elements(kinds="exception"))
    assert exceptions and exceptions == list(trace.elements(kinds=["exception"]))
    address = trace.table("ranges", limit=1).rows()[0].address
    own = trace.table("ranges", address=address).rows()
    assert own and own == trace.table("ranges", address=(address, address + 1)).rows()
    both = trace.table("ranges", address=[address, (address + 2, address + 4)]).rows()
    assert both == trace.table("ranges", address=(address, address + 4)).rows()


def test_rows(trace: tw.Trace) -> None:
    rows = trace.table("ranges", limit=3).rows()
    assert pickle.loads(pickle.dumps(rows)) == rows
    assert rows[0]._fields == tuple(trace.table("ranges").columns)
    view = trace.table("ranges_view", columns=["address"], limit=1).rows()
    assert view[0].address == hex(rows[0].address)


def test_tables_without_decoding(tmp_path: pathlib.Path) -> None:
    # The registers that an ETMv4 needs are not there.
    folder = tmp_path / "capture"
    folder.mkdir()
    for file in CAPTURES[[p.parent.name for p in CAPTURES].index("etmv4")].iterdir():
        text = file.read_bytes()
        if file.name == "ETM4_0.ini":
            text = re.sub(rb"(?m)^TRCCONFIGR.*$", b"", text)
        (folder / file.name).write_bytes(text)
    trace = tw.open(folder)
    assert trace.missing and trace.missing[0].registers == ["TRCCONFIGR"]
    assert len(trace.table("missing").rows()) == 1
    with pytest.raises(tw.DecodeError, match="TRCCONFIGR") as caught:
        trace.table("ranges").rows()
    assert len(caught.value.left_out) == 1
    with pytest.raises(tw.DecodeError):
        trace.table("ranges").to_arrow()


def test_errors_reach_other_programs(trace: tw.Trace) -> None:
    table = trace.table("ranges", function="nothing")
    with pytest.raises(tw.TableError, match="nothing"):
        table.rows()
    with pytest.raises(Exception, match="nothing"):
        table.to_arrow()
    with pytest.raises(Exception, match="nothing"):
        polars.DataFrame(table)
