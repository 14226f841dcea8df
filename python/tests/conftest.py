"""What the tests share: the captures of the repository, and the built-in example."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest
import tracewright as tw

ROOT = pathlib.Path(__file__).parents[2]
CAPTURES = sorted((ROOT / "tests/captures").glob("*/capture"))


def _beside() -> list[pathlib.Path]:
    """The folders that may have the test data beside the repository."""
    given = os.environ.get("TRACEWRIGHT_SHARED")
    return [pathlib.Path(given)] if given else [ROOT / "../shared", ROOT / "../../shared"]


def _captures(root: pathlib.Path) -> list[pathlib.Path]:
    """The captures in a folder whose sources can be decoded, and whose trace is small."""
    described = ("snapshot.ini", "capture.toml")
    files = sorted(p for p in root.rglob("*") if p.name in described or p.suffix == ".data")
    found = []
    for path in (p.parent if p.name in described else p for p in files):
        try:
            opened = tw.open(path, partial=True)
        except tw.TracewrightError:
            continue
        if opened.sources and sum(buffer.bytes or 0 for buffer in opened.buffers) < 1 << 18:
            found.append(path)
    return found


def _small() -> list[pathlib.Path]:
    """The captures of the repository, and one with symbols and source lines; with
    TRACEWRIGHT_TIMES also the small ones beside it."""
    found = [*CAPTURES, ROOT / "crates/columns/tests/example"]
    for root in _beside() if os.environ.get("TRACEWRIGHT_TIMES") else []:
        for folder in ("captures", "conformance", "findings/repro"):
            found += _captures(root / folder)
    return found


SMALL = _small()


@pytest.fixture(scope="session")
def trace() -> tw.Trace:
    return tw.demo()


def shared(name: str) -> pathlib.Path:
    """A file or folder of the test data beside the repository. Without it the test is skipped, or
    fails if `TRACEWRIGHT_REQUIRE_SHARED=1`."""
    for root in _beside():
        if (root / name).exists():
            return (root / name).resolve()
    if os.environ.get("TRACEWRIGHT_REQUIRE_SHARED") == "1":
        pytest.fail(f"shared/{name} is missing")
    pytest.skip(f"shared/{name} is missing")


def command(*arguments: object, refused: str | None = None) -> str:
    """The output of the command of the package; none where it refuses with a text like `refused`."""
    done = subprocess.run(
        [sys.executable, "-m", "tracewright", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    if refused is not None and done.returncode == 2 and re.search(refused, done.stderr):
        return ""
    assert done.returncode in (0, 1), done.stderr
    return done.stdout
