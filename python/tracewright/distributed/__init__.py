"""Units of work on several machines. docs/units.md describes units.

`units` lists the units of a job, `execute` computes one, on any machine that reads the captures at
the same paths, and `merge` adds the parts up. Units are pickled; the modules `ray`, `dask` and
`spark` give them to these engines.

>>> import os, tempfile
>>> from tracewright import _command
>>> folder = tempfile.TemporaryDirectory()
>>> capture, total = (os.path.join(folder.name, name) for name in ("demo", "sum.part"))
>>> _ = _command.run(["demo", "--write", capture])
>>> merge([execute(unit) for unit in units([capture])], total)
[]
>>> folder.cleanup()
"""

from __future__ import annotations

from ._parts import Failure, Part, execute, failures, merge
from ._units import Job, Unit, units

__all__ = ["Failure", "Job", "Part", "Unit", "execute", "failures", "merge", "units"]
