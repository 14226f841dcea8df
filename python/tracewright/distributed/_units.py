"""The units of a job: plain values, which are pickled."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass, field
from typing import Iterable, Iterator, Literal, Sequence

from .._command import run

Job = Literal["counts", "branch-list"]
"""What is computed: `counts` for profiles and coverage of one capture, or the `branch-list` of any
number of captures."""


@dataclass(frozen=True)
class Unit:
    """Segments or buffers of captures, which are computed by themselves."""

    id: str
    """A digest of the job, the version, the data, the programs, the options and the segments."""
    job: Job
    bytes: int
    """The bytes of trace, approximately where buffers are divided."""
    plan: str = field(repr=False)
    """The lines of the plan that are about the unit: its captures, and their digests."""
    options: tuple[str, ...] = ()
    """Options of the command by which captures are read."""


def units(
    captures: Iterable[str | os.PathLike[str]],
    job: Job = "counts",
    *,
    unit_size: int | None = None,
    force: bool = False,
    options: Sequence[str] = (),
) -> list[Unit]:
    """The units of `job` for these captures, each of about `unit_size` bytes of trace.

    All captures are opened once. `options` are those of the command that select and describe
    captures, such as `["--symfs", "files"]`. `force` adds captures of different programs. Raises
    `CommandError` if a capture cannot be read, if one is a copy of another, and if their programs
    differ.
    """
    paths = [os.path.abspath(os.fspath(path)) for path in captures]
    odd = [path for path in paths if "\n" in path]
    if odd:
        raise ValueError(f"a path has a line break: {odd[0]!r}")
    if not paths:
        return []
    with tempfile.TemporaryDirectory(prefix="tracewright-") as folder:
        names, plan = os.path.join(folder, "names"), os.path.join(folder, "plan")
        with open(names, "w", encoding="utf-8") as file:
            file.writelines(path + "\n" for path in paths)
        size = [] if unit_size is None else ["--unit-size", str(unit_size)]
        forced = ["--force"] if force else []
        run(["units", f"@{names}", "--job", job, "-o", plan, *size, *forced, *options])
        with open(plan, encoding="utf-8") as file:
            return list(_extracts(file, job, tuple(options)))


def _extracts(plan: Iterable[str], job: Job, options: tuple[str, ...]) -> Iterator[Unit]:
    """The units of a plan, each with the lines that it needs: a plan of its own."""
    lines = iter(plan)
    head = next(lines)
    captures: dict[str, str] = {}
    for line in lines:
        fields = json.loads(line)
        if fields["type"] == "capture":
            captures[fields["data"]] = line
        if fields["type"] == "unit":
            own = dict.fromkeys(piece[0] for piece in fields["pieces"])
            text = "".join([head, *(captures[data] for data in own), line])
            sha256 = hashlib.sha256(text.encode()).hexdigest()
            end = {"type": "end", "lines": len(own) + 2, "sha256": sha256}
            text += json.dumps(end, separators=(",", ":")) + "\n"
            yield Unit(fields["id"], job, fields["bytes"], text, options)
