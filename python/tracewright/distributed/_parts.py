"""Parts of units: what executes one, and what adds them up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Iterable, Iterator

from .._command import run
from ..errors import CommandError, DecodeError
from ._units import Unit

Part = bytes | str
"""The bytes of a part, or the path of its file."""


@dataclass(frozen=True)
class Failure:
    """A unit that cannot be decoded."""

    unit: str
    """Its identifier."""
    why: str


def execute(unit: Unit, folder: str | os.PathLike[str] | None = None) -> Part:
    """Computes a unit, in a process of its own, and returns its part.

    With a `folder` the part is a file `ID.part` there, whose path is returned: it appears whole or
    not at all, and a unit that is executed twice does no harm.

    A unit that cannot be decoded has a part, too, which states why: to execute it again would not
    change that. `failures` lists these, and `merge` refuses them unless they are allowed. Raises
    `CommandError` for all else: a file that cannot be read, a disk without room, another version of
    the package, a process that was killed. Such a unit may be executed again.
    """
    verb = ["profile"] if unit.job == "counts" else ["profile", "--format", "branch-list"]
    chosen = ["--plan", "-", "--unit", unit.id, "--allow-failed", "1", "--jobs", "1"]
    path = None if folder is None else os.path.join(os.fspath(folder), f"{unit.id}.part")
    output = [] if path is None else ["-o", path]
    done = subprocess.run(
        [sys.executable, "-m", "tracewright", "--quiet", "--color", "never", *verb, *chosen]
        + [*output, *unit.options],
        input=unit.plan.encode(),
        capture_output=True,
        check=False,
    )
    # 1 is a trace that contradicts its description.
    if done.returncode not in (0, 1):
        text = done.stderr.decode(errors="replace").strip()
        ended = f"it was ended by signal {-done.returncode}" if done.returncode < 0 else ""
        why = text or ended or "no message"
        raise CommandError(f"unit {unit.id}: {why}", done.returncode)
    return done.stdout if path is None else path


def failures(part: Part) -> list[Failure]:
    """The units of a part that cannot be decoded."""
    found = []
    for line in _lines(part):
        # The lines of units are before those of counts.
        if line.startswith(b"["):
            break
        fields = json.loads(line)
        if fields["type"] == "unit" and "failed" in fields:
            found.append(Failure(fields["id"], fields["failed"]))
    return found


def _lines(part: Part) -> Iterator[bytes]:
    if isinstance(part, bytes):
        yield from part.splitlines()
        return
    with open(part, "rb") as file:
        yield from file


def merge(
    parts: Iterable[Part], output: str | os.PathLike[str], *, allow_failed: int = 0
) -> list[Failure]:
    """Adds the parts of all units of a job up, in any order, and writes the sum to `output`.

    The sum of `branch-list` is a branch list; that of `counts` is a part, which the verbs `profile`
    and `coverage` of the command show with `--parts`. Returns the units that could not be decoded;
    more than `allow_failed` of them raise `DecodeError`, whose `left_out` has them. Raises
    `CommandError` if parts are lacking, damaged, of another plan, or of the same unit.
    """
    output = os.fspath(output)
    failed: list[Failure] = []
    with tempfile.TemporaryDirectory(prefix="tracewright-") as folder:
        names = os.path.join(folder, "names")
        with open(names, "w", encoding="utf-8") as file:
            for number, part in enumerate(parts):
                failed += failures(part)
                path = part if isinstance(part, str) else os.path.join(folder, f"{number}.part")
                if isinstance(part, bytes):
                    with open(path, "wb") as own:
                        own.write(part)
                file.write(os.path.abspath(path) + "\n")
        if len(failed) > allow_failed:
            texts = [f"unit {own.unit}: {own.why}" for own in failed]
            text = f"{len(failed)} units could not be decoded, and {allow_failed} are allowed"
            raise DecodeError(f"{text}: {texts[0]}", texts)
        allowed = ["--allow-failed", str(allow_failed)] if failed else []
        run(["merge", f"@{names}", "-o", output, *allowed])
    return failed
