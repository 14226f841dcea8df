"""The command in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from typing import Sequence

from .errors import CommandError


def run(arguments: Sequence[str]) -> str:
    """Runs the command, and returns what it wrote to standard error.

    Raises `CommandError` with that text if the command could not do what was asked.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tracewright", "--color", "never", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    # 1 is a result with a finding, such as missing program memory.
    if done.returncode not in (0, 1):
        raise CommandError(done.stderr.strip(), done.returncode)
    return done.stderr
