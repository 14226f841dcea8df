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


def _small() -> list[pathlib.Path]:
    """The captures of the repository, and one with symbols and source lines; with
    TRACEWRIGHT_TIMES also those beside it whose files are small."""
    found = [*CAPTURES, ROOT / "crates/columns/tests/example"]
    for root in _beside() if os.environ.get("TRACEWRIGHT_TIMES") else []:
        folders = sorted((root / "conformance/arm/snapshots").glob("*/"))
        found += [f for f in folders if sum(p.stat().st_size for p in f.iterdir()) < 1 << 18]
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
