"""The calls of each function: how many, and the least, mean and most instructions and ticks.

Usage: call_times.py [CAPTURE [IMAGE...]]
"""

import sys

import polars as pl
import tracewright as tw

trace = tw.open(sys.argv[1], images=sys.argv[2:]) if len(sys.argv) > 1 else tw.demo()
calls = trace.calls().to_polars()
# A call whose begin or end was not traced is not as long as it seems.
whole = calls.filter(
    ~pl.col("uncertain") & pl.col("entry").is_in(["call", "exception"]) & (pl.col("ending") == "return")
)
instructions = pl.col("inclusive_instructions")
table = (
    whole.group_by("function")
    .agg(
        pl.len().alias("calls"),
        instructions.min().alias("least"),
        instructions.mean().alias("mean"),
        instructions.max().alias("most"),
        pl.col("inclusive_ticks").max().alias("ticks"),
    )
    .sort("calls", "function", descending=[True, False])
)
print("  calls    least       mean     most  most ticks  function")
for function, count, least, mean, most, ticks in table.iter_rows():
    ticks = "" if ticks is None else ticks
    print(f"{count:7}  {least:7}  {mean:9.1f}  {most:7}  {ticks:>10}  {function or 'unknown'}")
