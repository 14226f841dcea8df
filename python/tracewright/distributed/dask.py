"""Units on Dask.

    from distributed import Client
    from tracewright import distributed
    from tracewright.distributed import dask

    units = distributed.units(captures, "branch-list")
    distributed.merge(dask.execute(units, Client("scheduler:8786")), "sum.list")
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterable, Iterator

from ._parts import Part, execute as _execute
from ._units import Unit

if TYPE_CHECKING:
    from distributed import Client


def execute(
    units: Iterable[Unit],
    client: Client | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    retries: int = 3,
    **options: Any,
) -> Iterator[Part]:
    """Executes units as tasks of Dask, and yields the part of each, in the order in which they end.

    Without a `client` it is the current one. A unit is executed again, `retries` times at most,
    where its files could not be read, and where its worker died as often as
    `distributed.scheduler.allowed-failures` allows; a trace that cannot be decoded is not. `folder`
    is that of `distributed.execute`: on storage that all workers share. `options` are those of
    `Client.map`. Raises the error of the last attempt.
    """
    from distributed import as_completed, get_client

    place = None if folder is None else os.path.abspath(os.fspath(folder))
    client = get_client() if client is None else client
    # The result of a task is not that of another execution: it may be a file that was deleted.
    own = {"retries": retries, "pure": False, **options}
    futures = client.map(_execute, list(units), folder=place, **own)
    try:
        for future, part in as_completed(futures, with_results=True):
            yield part
            future.release()
    finally:
        client.cancel(futures)
