"""Units on Ray.

    from tracewright import distributed
    from tracewright.distributed import ray

    units = distributed.units(captures, "branch-list")
    distributed.merge(ray.execute(units), "sum.list")
"""

from __future__ import annotations

import os
from typing import Any, Iterable, Iterator

from ..errors import CommandError
from ._parts import Part, execute as _execute
from ._units import Unit


def execute(
    units: Iterable[Unit],
    *,
    folder: str | os.PathLike[str] | None = None,
    retries: int = 3,
    in_flight: int = 1000,
    **options: Any,
) -> Iterator[Part]:
    """Executes units as tasks of Ray, and yields the part of each, in the order in which they end.

    A unit is executed again, `retries` times at most, where its worker died or its files could not
    be read; a trace that cannot be decoded is not. `folder` is that of `distributed.execute`: on
    storage that all nodes share. At most `in_flight` tasks are submitted at a time. `options` are
    those of a task, such as `num_cpus`. Raises the error of Ray for the last attempt.
    """
    import ray

    own = {"num_cpus": 1, "max_retries": retries, "retry_exceptions": [CommandError], **options}
    task = ray.remote(**own)(_execute)
    place = None if folder is None else os.path.abspath(os.fspath(folder))
    left = iter(units)
    running: set[Any] = set()
    try:
        while True:
            while len(running) < in_flight and (unit := next(left, None)) is not None:
                running.add(task.remote(unit, place))
            if not running:
                return
            done, _ = ray.wait(list(running))
            for reference in done:
                running.discard(reference)
                yield ray.get(reference)
    finally:
        for reference in running:
            ray.cancel(reference)
