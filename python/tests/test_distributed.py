"""Units: planned, executed anywhere, merged; on Ray, Dask and Spark where they are installed."""

from __future__ import annotations

import pathlib
import pickle
import re
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
import tracewright as tw
from conftest import ROOT, command, shared
from tracewright import distributed

TRACE = 9944
"""The offset of the trace in `perf_etm.data`."""


class Fleet:
    """Recordings of phones that differ, in the folder that the pages of docs name `/shared`."""

    def __init__(self, folder: pathlib.Path, count: int) -> None:
        source = shared("captures/simpleperf-etm")
        self.folder = folder
        data = bytearray((source / "perf_etm.data").read_bytes())
        self.paths = []
        for number in range(count):
            # An atom packet of format 6 has 4 to 24 atoms, of which two are a turn of a loop.
            data[TRACE + 0x12B] = 0xC0 | number % 11 * 2
            # The number is in bytes of no source (ID 0).
            data[TRACE + 0x171 : TRACE + 0x175 : 2] = number.to_bytes(2, "little")
            path = folder / f"{number}.data"
            path.write_bytes(data)
            self.paths.append(path)
        (folder / "captures").write_text("".join(f"{path}\n" for path in self.paths))
        program = folder / "files/data/local/tmp/etm_test_loop"
        program.parent.mkdir(parents=True)
        shutil.copy(source / "etm_test_loop", program)
        (folder / "parts").mkdir()
        self.options = ["--symfs", str(folder / "files")]

    def units(self) -> list[distributed.Unit]:
        """A unit for each file."""
        return distributed.units(self.paths, "branch-list", unit_size=384, options=self.options)

    def whole(self, paths: list[pathlib.Path]) -> bytes:
        output = self.folder / "whole.list"
        verb = ["profile", "--quiet", "--format", "branch-list", *self.options]
        more = [word for path in paths for word in ("--add", path)]
        command(*verb, *more, "-o", output)
        return output.read_bytes()

    def page(self, name: str, changes: dict[str, str]) -> bytes:
        """Executes the code of a page, with this folder, and returns the branch list."""
        text = (ROOT / "docs" / name).read_text()
        [code] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        for before, after in {"/shared": str(self.folder), **changes}.items():
            assert before in code
            code = code.replace(before, after)
        names: dict[str, Any] = {}
        exec(code, names)
        if "client" in names:
            names["client"].close()
        return (self.folder / "fleet.list").read_bytes()


@pytest.fixture
def fleet(tmp_path: pathlib.Path) -> Fleet:
    return Fleet(tmp_path, 12)


def test_units_add_up(fleet: Fleet) -> None:
    units = fleet.units()
    assert len(units) == 12 and units == pickle.loads(pickle.dumps(units))
    assert sum(unit.bytes for unit in units) == 12 * 384
    # A unit needs its own captures only, and no plan.
    assert all(len(unit.plan.splitlines()) == 4 and "plan" not in repr(unit) for unit in units)
    output = fleet.folder / "sum.list"
    with ProcessPoolExecutor(2) as pool:
        parts = list(pool.map(distributed.execute, reversed(units)))
    assert distributed.merge(parts, output) == []
    assert output.read_bytes() == fleet.whole(fleet.paths)
    # As files: twice the same.
    files = [distributed.execute(unit, fleet.folder / "parts") for unit in units * 2]
    assert len(set(files)) == 12
    output.unlink()
    distributed.merge(files[:12], output)
    assert output.read_bytes() == fleet.whole(fleet.paths)
    with pytest.raises(tw.CommandError, match="lacking"):
        distributed.merge(parts[1:], output)
    with pytest.raises(tw.CommandError, match="counted twice"):
        distributed.merge([*parts, parts[0]], output)
    with pytest.raises(tw.CommandError, match="altered"):
        distributed.merge([parts[0].replace(b"list", b"lost"), *parts[1:]], output)
    assert distributed.units([]) == []
    with pytest.raises(ValueError, match="line break"):
        distributed.units(["a\nb"])
    with pytest.raises(tw.CommandError, match="absent"):
        distributed.units([fleet.folder / "absent"])


def test_failures_are_listed_and_not_repeated(fleet: Fleet) -> None:
    units = fleet.units()
    data = bytearray(fleet.paths[5].read_bytes())
    data[TRACE + 0x130] ^= 1
    fleet.paths[5].write_bytes(data)
    parts = [distributed.execute(unit) for unit in units]
    [failure] = [own for part in parts for own in distributed.failures(part)]
    assert "not the capture of which the plan was made" in failure.why
    output = fleet.folder / "sum.list"
    with pytest.raises(tw.DecodeError, match="1 units could not be decoded") as caught:
        distributed.merge(parts, output)
    assert failure.unit in caught.value.left_out[0] and not output.exists()
    assert distributed.merge(parts, output, allow_failed=1) == [failure]
    good = [path for path in fleet.paths if path != fleet.paths[5]]
    assert output.read_bytes() == fleet.whole(good)
    # What may be so only once is an error, and has no part.
    fleet.paths[6].unlink()
    lost = [unit for unit in units if str(fleet.paths[6]) in unit.plan]
    with pytest.raises(tw.CommandError, match="6.data"):
        distributed.execute(lost[0], fleet.folder / "parts")
    assert not list((fleet.folder / "parts").iterdir())


def test_counts_of_a_capture(tmp_path: pathlib.Path) -> None:
    trace = tmp_path / "trace"
    shutil.copytree(ROOT / "tests/captures/etmv4/capture", trace)
    buffer = trace / "ETB_0.bin"
    buffer.write_bytes(buffer.read_bytes() * 100)
    command("index", trace, "--segment", 512)
    units = distributed.units([trace], unit_size=1024)
    assert len(units) > 3
    output = tmp_path / "sum.part"
    distributed.merge(map(distributed.execute, units), output)
    for verb in (["profile", "--format", "folded"], ["profile", "--limit", "100000"]):
        assert command(*verb, trace, "--parts", output) == command(*verb, trace)


def test_ray(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray = pytest.importorskip("ray", reason="pip install ray")
    ray.init(num_cpus=2, object_store_memory=100 << 20, include_dashboard=False)
    try:
        assert fleet.page("units-ray.md", {}) == fleet.whole(fleet.paths)
        from tracewright.distributed import ray as engine

        fleet.paths[0].unlink()
        with pytest.raises(tw.CommandError, match="0.data"):
            list(engine.execute(fleet_of(fleet), retries=1, in_flight=2))
    finally:
        ray.shutdown()


def test_dask(fleet: Fleet) -> None:
    dask = pytest.importorskip("distributed", reason="pip install distributed")
    local: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None}
    with dask.LocalCluster(n_workers=2, **local) as cluster:
        changes = {"tcp://scheduler:8786": cluster.scheduler_address}
        assert fleet.page("units-dask.md", changes) == fleet.whole(fleet.paths)
        from tracewright.distributed import dask as engine

        fleet.paths[0].unlink()
        with dask.Client(cluster) as client, pytest.raises(tw.CommandError, match="0.data"):
            list(engine.execute(fleet_of(fleet), client, retries=1))


def test_spark(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="pip install pyspark")
    if shutil.which("java") is None:
        pytest.skip("apt-get install default-jre-headless")
    from pyspark.sql import SparkSession

    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2,2]").config("spark.ui.enabled", "false")
    session = builder.getOrCreate()
    try:
        assert fleet.page("units-spark.md", {}) == fleet.whole(fleet.paths)
        from tracewright.distributed import spark as engine

        assert engine.execute([]) == []
        fleet.paths[0].unlink()
        with pytest.raises(Exception, match="CommandError.*0.data"):
            engine.execute(fleet_of(fleet))
    finally:
        session.stop()


def fleet_of(fleet: Fleet) -> list[distributed.Unit]:
    """The units of a fleet whose first file is not there any more."""
    data = fleet.paths[1].read_bytes()
    fleet.paths[0].write_bytes(bytes([*data[: TRACE + 0x171], 99, *data[TRACE + 0x172 :]]))
    units = distributed.units(fleet.paths, "branch-list", options=fleet.options, unit_size=384)
    fleet.paths[0].unlink()
    return units


def test_a_killed_process_is_an_error(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = fleet.units()[0]
    script = fleet.folder / "killed"
    script.write_text(f"#!{sys.executable}\nimport os\nos.kill(os.getpid(), 9)\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    with pytest.raises(tw.CommandError, match="signal 9") as caught:
        distributed.execute(unit)
    assert caught.value.code == -9
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.code, str(again)) == (-9, str(caught.value))
    assert subprocess.run([script], check=False).returncode == -9
