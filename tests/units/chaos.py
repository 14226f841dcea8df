#!/usr/bin/env python3
"""Units on three workers of Ray and of Dask that are killed at random moments, stopped and continued,
without room on the disk, with a damaged capture and with another program: the result is that of the
whole trace, or an error states what is wrong.

    pip install ./python -r tests/units/requirements.txt
    python tests/units/chaos.py [ray] [dask]

From the root of the repository. A full disk needs the right to mount a tmpfs; without it, that step
is skipped and named. chaos.sh does the same with plain processes.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Callable, Iterable, Iterator

import psutil

from tracewright import DecodeError, distributed
from tracewright.distributed import Unit

Execute = Callable[..., Iterable[Any]]

CAPTURE = pathlib.Path("tests/captures/etmv4/capture")
WORKERS = 3
RETRIES = 1000
"""Of a unit, while its workers are killed."""
MEMORY = 100 << 20
"""Bytes of the object store of Ray."""


def command(*arguments: object) -> bytes:
    own = [sys.executable, "-m", "tracewright", "-q", *map(str, arguments)]
    return subprocess.run(own, check=True, capture_output=True).stdout


@contextlib.contextmanager
def on_ray() -> Iterator[tuple[Execute, Callable[[], list[psutil.Process]]]]:
    """Ray on this machine, and its processes that execute tasks."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from tracewright.distributed import ray as engine

    ray.init(
        num_cpus=WORKERS, object_store_memory=MEMORY, include_dashboard=False, log_to_driver=False
    )

    def workers() -> list[psutil.Process]:
        return [own for own in below() if own.cmdline()[:1] == ["ray::execute"]]

    try:
        yield lambda units, **own: engine.execute(units, **own), workers
    finally:
        ray.shutdown()


@contextlib.contextmanager
def on_dask() -> Iterator[tuple[Execute, Callable[[], list[psutil.Process]]]]:
    """Dask on this machine, and its worker processes."""
    import dask
    from distributed import Client, LocalCluster
    from tracewright.distributed import dask as engine

    dask.config.set({"distributed.scheduler.allowed-failures": 1000})
    cluster = LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:

        def workers() -> list[psutil.Process]:
            pids = [own.pid for own in cluster.workers.values() if own.pid]
            return [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]

        yield lambda units, **own: engine.execute(units, client, **own), workers


def below() -> list[psutil.Process]:
    """The processes below this one."""
    found = []
    for own in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            own.cmdline()
            found.append(own)
    return found


class Chaos(threading.Thread):
    """Kills workers and what they execute, and stops and continues them."""

    def __init__(self, workers: Callable[[], list[psutil.Process]]) -> None:
        super().__init__(daemon=True)
        self.workers = workers
        self.ended = threading.Event()
        self.killed = self.stopped = 0

    def run(self) -> None:
        while not self.ended.wait(random.uniform(0.02, 0.3)):
            with contextlib.suppress(psutil.Error, ProcessLookupError):
                self.act()

    def act(self) -> None:
        # Of workers that execute a unit: an engine does not start again what is killed in its start.
        targets = [(own, own.children(recursive=True)) for own in self.workers()]
        targets = [(own, children) for own, children in targets if children]
        if not targets:
            return
        target, children = random.choice(targets)
        kind = random.random()
        if kind < 0.4:
            random.choice(children).send_signal(signal.SIGKILL)
            self.killed += 1
        elif kind < 0.7:
            target.send_signal(signal.SIGKILL)
            self.killed += 1
        else:
            target.send_signal(signal.SIGSTOP)
            time.sleep(random.uniform(0.05, 0.5))
            target.send_signal(signal.SIGCONT)
            self.stopped += 1


class Case:
    """A capture with an index, and its units."""

    def __init__(self, root: pathlib.Path) -> None:
        self.trace = root / "trace"
        shutil.copytree(CAPTURE, self.trace)
        data = (CAPTURE / "ETB_0.bin").read_bytes()
        (self.trace / "ETB_0.bin").write_bytes(data * 120)
        command("index", self.trace, "--segment", 256)
        self.whole = command("profile", self.trace, "--limit", 100_000)
        assert self.whole
        self.units: list[Unit] = distributed.units([self.trace], unit_size=256)

    def check(self, parts: Iterable[Any], what: str) -> None:
        """The sum of parts is the whole."""
        output = self.trace.with_name(f"{random.getrandbits(64):x}.part")
        assert distributed.merge(parts, output) == []
        shown = command("profile", self.trace, "--parts", output, "--limit", 100_000)
        assert shown == self.whole, f"{what}: another result"
        print(f"ok: {what}", flush=True)


def killed(case: Case, execute: Execute, workers: Any, folder: pathlib.Path, name: str) -> None:
    folder.mkdir()
    kills = stops = 0
    # Until both have happened.
    for _ in range(20):
        chaos = Chaos(workers)
        chaos.start()
        try:
            parts = list(execute(case.units, folder=folder, retries=RETRIES))
        finally:
            chaos.ended.set()
            chaos.join()
        kills, stops = kills + chaos.killed, stops + chaos.stopped
        case.check(parts, f"{name}: {kills} processes were killed, {stops} stopped and continued")
        if kills > 5 and stops > 2:
            return
        for part in parts:
            os.unlink(part)
    raise AssertionError(f"{name}: {kills} processes were killed, and {stops} stopped")


def full(case: Case, execute: Execute, folder: pathlib.Path, name: str) -> None:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "none", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        print(f"skipped: {name}: a tmpfs cannot be mounted")
        return
    try:
        with contextlib.suppress(OSError), open(folder / "filled", "wb", buffering=0) as file:
            while True:
                file.write(bytes(1024))
        refused(case, lambda: execute(case.units[:2], folder=folder), "No space left", name)
        assert not list(folder.glob("*.part")), "a part of a full disk"
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def damaged(case: Case, execute: Execute, name: str) -> None:
    """The trace, and then the program, is another one for some of the workers."""
    for file, what in (("ETB_0.bin", "the trace"), ("cpu_0.bin", "the program")):
        found = sorted(case.trace.glob(file.replace(".bin", "*.bin")))[0]
        before = found.read_bytes()
        half = len(case.units) // 2
        parts = list(execute(case.units[:half]))
        try:
            found.write_bytes(bytes(byte ^ 0x5A for byte in before))
            parts += execute(case.units[half:])
        finally:
            found.write_bytes(before)
        refused(case, functools.partial(list, parts), "units could not be decoded", f"{name}: {what}")


def refused(case: Case, parts: Callable[[], Iterable[Any]], why: str, what: str) -> None:
    """Parts have no sum, for this reason."""
    try:
        distributed.merge(parts(), case.trace.with_name("no.part"))
    except Exception as error:  # an engine raises errors of its own
        assert why in f"{error} {error.__cause__}", f"{what}: {error!r}"
        assert isinstance(error, DecodeError) or "No space" in why
        print(f"ok: {what}: {why}", flush=True)
        return
    raise AssertionError(f"{what}: parts were added")


def main() -> None:
    engines = {"ray": on_ray, "dask": on_dask}
    random.seed()
    for name in sys.argv[1:] or engines:
        with tempfile.TemporaryDirectory(prefix="tracewright-chaos-") as text:
            root = pathlib.Path(text)
            case = Case(root)
            with engines[name]() as (execute, workers):
                case.check(execute(case.units), f"{name}: {len(case.units)} units")
                killed(case, execute, workers, root / "parts", name)
                damaged(case, execute, name)
                full(case, execute, root / "full", name)


if __name__ == "__main__":
    main()
