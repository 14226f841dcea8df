"""The command `tracewright`: also `python -m tracewright`."""

from __future__ import annotations

import signal
import sys

from . import _tracewright


def main() -> int:
    """Runs the command with the arguments of the process, and returns its exit code."""
    # The command decodes in one call: Ctrl-C ends it as it ends other commands.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _tracewright.command(["tracewright", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
