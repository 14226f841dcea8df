"""What the tests share: the captures of the repository, and the built-in example."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
import tracewright as tw

ROOT = pathlib.Path(__file__).parents[2]
CAPTURES = sorted((ROOT / "tests/captures").glob("*/capture"))


@pytest.fixture(scope="session")
def trace() -> tw.Trace:
    return tw.demo()


def shared(name: str) -> pathlib.Path:
    """A file or folder of the test data beside the repository. Without it the test is skipped, or
    fails if `TRACEWRIGHT_REQUIRE_SHARED=1`."""
    given = os.environ.get("TRACEWRIGHT_SHARED")
    roots = [pathlib.Path(given)] if given else [ROOT / "../shared", ROOT / "../../shared"]
    for root in roots:
        if (root / name).exists():
            return (root / name).resolve()
    if os.environ.get("TRACEWRIGHT_REQUIRE_SHARED") == "1":
        pytest.fail(f"shared/{name} is missing")
    pytest.skip(f"shared/{name} is missing")


def command(*arguments: object) -> str:
    """The output of the command of the package."""
    done = subprocess.run(
        [sys.executable, "-m", "tracewright", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout
