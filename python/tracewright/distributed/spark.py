"""Units on Spark.

    from pyspark.sql import SparkSession
    from tracewright import distributed
    from tracewright.distributed import spark

    units = distributed.units(captures, "branch-list")
    parts = spark.execute(units, SparkSession.builder.getOrCreate(), folder="/shared/parts")
    distributed.merge(parts, "sum.list")
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Iterable

from ._parts import Part, execute as _execute
from ._units import Unit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def execute(
    units: Iterable[Unit],
    session: SparkSession | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
) -> list[Part]:
    """Executes units as tasks of Spark, one a task, and returns the part of each, in their order.

    Without a `session` it is the active one, which must have a SparkContext: a client of Spark
    Connect has none. A unit is executed again where its executor died or its files could not be
    read, `spark.task.maxFailures` times in all; a trace that cannot be decoded is not. `folder` is
    that of `distributed.execute`: on storage that all executors share; without it, the driver holds
    all parts. Raises the error of Spark for the last attempt.
    """
    from pyspark.sql import SparkSession

    session = SparkSession.active() if session is None else session
    place = None if folder is None else os.path.abspath(os.fspath(folder))
    all_units = list(units)
    if not all_units:
        return []
    rows = session.sparkContext.parallelize(all_units, len(all_units))
    return list(rows.map(lambda unit: _execute(unit, place)).collect())
