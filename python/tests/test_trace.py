"""Opening, errors, threads, indexes, profiles, notebooks."""

from __future__ import annotations

import multiprocessing
import pathlib
import pickle
import resource
import subprocess
import sys
import threading

import pytest
import tracewright as tw
from conftest import CAPTURES, ROOT, command, shared


def capture(name: str) -> pathlib.Path:
    return ROOT / "tests/captures" / name / "capture"


def test_errors(trace: tw.Trace, tmp_path: pathlib.Path) -> None:
    with pytest.raises(tw.OpenError) as caught:
        tw.open(tmp_path / "nothing")
    assert caught.value.path.endswith("nothing")
    text = "[snapshot]\nversion=1.0\n[device_list]\ndevice0=d.ini\n[trace]\nmetadata=t.ini\n"
    (tmp_path / "snapshot.ini").write_text(text)
    (tmp_path / "d.ini").write_text("[device]\nname=x\nclass=trace_source\n")
    with pytest.raises(tw.OpenError, match="t.ini") as caught:
        tw.open(tmp_path)
    assert caught.value.path.endswith("snapshot.ini")
    assert (caught.value.section, caught.value.key) == ("trace", "metadata")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.key) == (str(caught.value), "metadata")
    with pytest.raises(tw.OpenError) as caught:
        tw.from_bytes({"capture.toml": b"[[buffer]]\nname = 3\n"})
    assert (caught.value.section, caught.value.key) == ("buffer 1", "file")
    with pytest.raises(tw.TableError, match="the tables are"):
        trace.table("range")
    with pytest.raises(tw.TableError, match="no column"):
        trace.table("ranges", columns=["nothing"])
    with pytest.raises(OSError, match="nothing/own.csv: "):
        trace.calls().write(tmp_path / "nothing/own.csv")
    with pytest.raises(tw.QueryError):
        trace.find("nothing of this kind")
    with pytest.raises(tw.QueryError, match="counts"):
        trace.find("count exception")
    with pytest.raises(TypeError, match="list of files"):
        tw.open(CAPTURES[0], images="a.elf")
    with pytest.raises(ValueError, match="no framing"):
        tw.open_raw(b"\0" * 64, framing="nothing")
    assert issubclass(tw.OpenError, tw.TracewrightError)


def test_texts_name_arguments(tmp_path: pathlib.Path) -> None:
    """What helps is an argument of the package, and no option of the command."""
    (tmp_path / "trace.bin").write_bytes(b"xx")
    for call in (lambda: tw.open_raw(b"xx"), lambda: tw.open(tmp_path / "trace.bin")):
        with pytest.raises(tw.OpenError, match="protocol= .* config=") as caught:
            call()
        assert "<" not in str(caught.value) and "--" not in str(caught.value)


def test_programs_of_perf(tmp_path: pathlib.Path) -> None:
    folder = shared("captures/simpleperf-etm")
    data, name = tmp_path / "perf.data", "/data/local/tmp/etm_test_loop"
    data.write_bytes((folder / "perf_etm.data").read_bytes())

    def found(trace: tw.Trace) -> bool:
        return any(image.path == name and image.found for image in trace.table("images"))

    lost = tw.open(data, partial=True)
    assert not found(lost) and any("symfs=" in note for note in lost.notes)
    program = tmp_path / "root" / name[1:]
    program.parent.mkdir(parents=True)
    program.write_bytes((folder / "etm_test_loop").read_bytes())
    for own in (
        tw.open(data, partial=True, symfs=tmp_path / "root"),
        tw.open(data, partial=True, binaries=[program]),
    ):
        assert found(own) and found(pickle.loads(pickle.dumps(own)))
        assert sum(row.instructions for row in own.functions()) > 0
        assert "<html" in own.report().html
    with pytest.raises(tw.OpenError, match="nowhere"):
        tw.open(data, symfs=tmp_path / "nowhere")


def test_pickles(trace: tw.Trace) -> None:
    raw = tw.open_raw(bytes([0x01, 0x41]), protocol="ITM")
    for own in (trace, tw.open(capture("etmv4"), partial=True), raw):
        again = pickle.loads(pickle.dumps(own))
        assert again.table("elements").rows() == own.table("elements").rows()
    table = trace.table("ranges", columns=["address"], limit=5)
    assert pickle.loads(pickle.dumps(table)).rows() == table.rows()


def executed(trace: tw.Trace) -> int:
    return sum(row.instructions for row in trace.functions())


def test_processes(trace: tw.Trace) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(executed, [trace, trace]) == [executed(trace)] * 2


def test_threads(trace: tw.Trace) -> None:
    want = trace.table("ranges").rows()
    elements = list(trace.elements(functions=True))
    failed = []

    def work() -> None:
        for _ in range(3):
            same = trace.table("ranges").rows() == want
            if not same or list(trace.elements(functions=True)) != elements:
                failed.append(True)
            trace.profile(), trace.coverage(), trace.functions().rows()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_one_iterator_on_several_threads(trace: tw.Trace) -> None:
    inner = trace._inner.elements(False, batch=64)
    found: list[tw._trace.Element] = []

    def work() -> None:
        for batch in inner:
            found.extend(batch)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(e.element for e in found) == [e.element for e in trace.elements()]


def test_memory_of_opens() -> None:
    def used() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def work(times: int) -> None:
        for _ in range(times):
            trace = tw.open(capture("etmv4"), partial=True)
            trace.table("ranges", limit=5).rows()
            next(trace.elements())

    work(100)
    before = used()
    work(1000)
    assert used() - before < 8 << 10


def test_index(tmp_path: pathlib.Path) -> None:
    trace = tw.demo()
    whole = trace.table("elements").rows()
    index = trace.index(tmp_path / "demo.twx")
    assert len(index) > 0
    found = index.find("all exception")
    assert [one.element for one in found] == [
        row.element for row in whole if row.kind == "exception"
    ]
    assert found == tw.demo().find("all exception")
    assert index.count("count exception") == len(found)
    assert len(index.segments.rows()) > 0
    assert trace.table("elements", element=(10, 20)).rows() == whole[10:20]
    again = pickle.loads(pickle.dumps(trace))
    assert again.table("segments").rows() == index.segments.rows()
    with pytest.raises(OSError, match="demo.twx"):
        tw.open(capture("etmv3"), partial=True).index(tmp_path / "demo.twx")
    with pytest.raises(OSError):
        trace.index(tmp_path / "nowhere" / "demo.twx")


def test_profile(tmp_path: pathlib.Path) -> None:
    command("demo", "--write", tmp_path / "demo")
    trace = tw.open(tmp_path / "demo")
    one, two = trace.profile(), tw.merge([trace.profile(), trace.profile()])
    assert two.instructions == 2 * one.instructions > 0
    empty = tw.Profile()
    empty += one
    empty += one
    assert one.instructions * 2 == empty.instructions == two.instructions
    for name in ("autofdo", "json", "callgrind"):
        one.write(tmp_path / name, name)
        output = command("profile", "--format", name, tmp_path / "demo")
        assert (tmp_path / name).read_text() == output, name
    with pytest.raises(ValueError, match="no format of profiles"):
        one.dump("nothing")
    with pytest.raises(tw.TracewrightError, match="no counts"):
        tw.Profile().dump("json")


def test_coverage(trace: tw.Trace, tmp_path: pathlib.Path) -> None:
    command("demo", "--write", tmp_path / "demo")
    coverage = trace.coverage()
    assert coverage.files == ["program.c"]
    for name in ("lcov", "cobertura", "gcov", "llvm-cov"):
        coverage.write(tmp_path / name, name)
        output = command("coverage", "--format", name, tmp_path / "demo")
        assert (tmp_path / name).read_text() == output, name
    assert any(row.executions for row in coverage.lines)


def test_memory(tmp_path: pathlib.Path) -> None:
    files = {file.name: file.read_bytes() for file in capture("etmv4").iterdir()}
    own = tw.from_bytes(files, partial=True).table("ranges").rows()
    assert own == tw.open(capture("etmv4"), partial=True).table("ranges").rows()
    with pytest.raises(tw.OpenError, match="give `path`"):
        tw.from_bytes({"a": b"", "b": b""})
    data = next(file for file in capture("itm").iterdir() if file.suffix == ".bin").read_bytes()
    trace = tw.open_raw(data, protocol="ITM")
    assert trace.table("software_writes").rows()
    (tmp_path / "trace.bin").write_bytes(data)
    same = tw.open_raw(tmp_path / "trace.bin", protocol="ITM")
    assert same.table("elements").rows() == trace.table("elements").rows()


def test_images_in_memory(trace: tw.Trace, tmp_path: pathlib.Path) -> None:
    command("demo", "--write", tmp_path / "demo")
    path = tmp_path / "demo"
    program = path / "program.bin"
    bytes_, file = tw.open(path, images=[program.read_bytes()]), tw.open(path, images=[program])
    assert bytes_.functions().rows() == file.functions().rows() == trace.functions().rows()


def test_notebook(trace: tw.Trace) -> None:
    text = trace.table("ranges", columns=["address", "taken"])._repr_html_()
    assert text.startswith("<table>") and "0x" in text and text.count("<tr>") == 22
    assert "ETM_0" in trace._repr_html_()
    assert "program.c" in trace.coverage()._repr_html_()
    page = trace.report()
    assert "<html" in page.html and "srcdoc=" in page._repr_html_()
    raw = tw.open_raw(bytes([0x01, 0x41]), protocol="ITM")
    assert "<html" in raw.report().html
    files = {file.name: file.read_bytes() for file in capture("etmv4").iterdir()}
    assert "<html" in tw.from_bytes(files).report().html


def test_representations(trace: tw.Trace, tmp_path: pathlib.Path) -> None:
    own = tw.demo()
    first = next(iter(own.elements()))
    index = own.index(tmp_path / "own.twx")
    all_ = [own, first, index, own.calls(), own.profile(), own.coverage(), own.report()]
    for value in [*all_, tw.Profile(), own.sources[0], own.buffers[0], index.find("any")[0]]:
        text = repr(value)
        assert " object at " not in text and "\n" not in text and len(text) < 400, text


def test_names_are_escaped() -> None:
    files = {file.name: file.read_bytes() for file in capture("itm").iterdir()}
    for name in ("ITM_0.ini", "trace.ini"):
        files[name] = files[name].replace(b"ITM_0", b"<b>x</b>")
    trace = tw.from_bytes(files, partial=True)
    assert trace.sources[0].name == "<b>x</b>"
    for page in (trace._repr_html_(), trace.table("elements")._repr_html_()):
        assert "<b>" not in page


def test_encode(tmp_path: pathlib.Path) -> None:
    log = ROOT / "tests/captures/etrace-2.0/log.csv"
    image = ROOT / "tests/captures/etrace-2.0/capture"
    programs = sorted(image.glob("*.elf"))
    trace = tw.encode(log, tmp_path / "own", protocol="etrace", images=programs)
    assert sum(row.instructions * row.times for row in trace.table("ranges")) > 0
    with pytest.raises(tw.CommandError, match="nothing") as caught:
        tw.encode(log, tmp_path / "other", protocol="nothing")
    assert caught.value.code == 2


def test_command() -> None:
    assert "Usage: tracewright" in command("--help")
    done = subprocess.run(
        [sys.executable, "-m", "tracewright", "decod"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "decode" in done.stderr
    script = pathlib.Path(sys.prefix) / "bin" / "tracewright"
    if not script.exists():
        pytest.skip("the package is not installed")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("tracewright ")
    # Advice repeats the arguments of the command, without those of Python.
    done = subprocess.run(
        [script, "info", "--protocol", "PTM", capture("itm") / "ETB_0.bin"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "python" not in done.stdout + done.stderr


def interrupted(work: str) -> None:
    script = (
        "import os, signal, threading, tracewright as tw\n"
        "trace = tw.demo()\n"
        "threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    while True:\n"
        f"        {work}\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "interrupted\n", done.stderr


@pytest.mark.parametrize(
    "work",
    [
        "sum(1 for _ in trace.elements())",
        "trace.functions().rows()",
        "trace.profile()",
        "trace.find('all exception')",
    ],
)
def test_interrupt(work: str) -> None:
    interrupted(work)


@pytest.mark.parametrize("method", ["to_arrow", "to_polars", "to_pandas", "rows"])
def test_interrupt_before_the_first_row(method: str) -> None:
    """What has no rows for long ends, too, and before all is decoded."""
    for module in ("pyarrow", "polars", "pandas"):
        pytest.importorskip(module)
    script = (
        "import os, signal, threading, tracewright as tw\n"
        "data = bytes([0, 0, 0, 0, 0, 0x80]) + b'\\x01h' * 40_000_000\n"
        "trace = tw.open_raw(data, protocol='ITM', jobs=1)\n"
        "table = trace.table('elements', kinds=['exception'])\n"
        "import pyarrow, polars, pandas\n"
        "threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        f"    table.{method}()\n"
        "except KeyboardInterrupt:\n"
        "    print(trace.decoded < len(data))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout == "True\n", done.stdout + done.stderr
