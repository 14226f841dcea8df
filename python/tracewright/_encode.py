"""Execution logs to trace."""

from __future__ import annotations

import os
from typing import Sequence

from . import _command
from ._opening import open
from ._trace import Path, Trace


def encode(
    log: Path,
    output: Path,
    *,
    protocol: str,
    images: Sequence[Path] = (),
    config: Sequence[str] = (),
    options: Sequence[str] = (),
) -> Trace:
    """Encodes an execution log (of QEMU, Spike, Tarmac, CSV and others) to trace, as the verb
    `encode` of the command does, and opens the capture that is written to the folder `output`.

    `protocol` is that of the trace units, such as `ETM4` or `etrace`; `images` are the executed
    programs; `config` has registers or parameters of the trace units: `TRCCONFIGR=0x1801`.
    `options` are further options of the verb: `["--isa", "rv64"]`.

    Raises `CommandError` with the text of the command.
    """
    arguments = ["encode", "--log", os.fspath(log), "--protocol", protocol]
    for image in images:
        arguments += ["--image", os.fspath(image)]
    for value in config:
        arguments += ["--config", value]
    _command.run([*arguments, *options, "-o", os.fspath(output)])
    return open(output)
