"""How long interrupts and other exceptions take: from their first instruction to the return, in
instructions and in ticks.

Usage: interrupt_durations.py [CAPTURE [IMAGE...]]
"""

import sys

import polars as pl
import tracewright as tw

trace = tw.open(sys.argv[1], images=sys.argv[2:]) if len(sys.argv) > 1 else tw.demo()
names = {row.number: row.name for row in trace.table("exceptions", columns=["number", "name"])}
columns = ["exception", "function", "ending", "inclusive_instructions", "inclusive_ticks"]
handlers = trace.calls(columns=columns).to_polars().filter(pl.col("exception").is_not_null())
# A handler whose end is not in the trace is longer than it seems. One that is left for other code,
# as that of an exception after it, is replaced.
whole = pl.col("ending").is_in(["return", "replaced"]).fill_null(False)
ticks = pl.col("inclusive_ticks").filter(whole)
durations = (
    handlers.group_by("exception", "function")
    .agg(
        pl.len().alias("count"),
        (~whole).sum().alias("unended"),
        pl.col("inclusive_instructions").filter(whole).mean().alias("instructions"),
        ticks.min().alias("least"),
        ticks.mean().alias("mean"),
        ticks.max().alias("most"),
    )
    .sort("exception", "function")
)
print("number    count  unended  instructions  least ticks     mean     most  handler")
for number, function, count, unended, instructions, *spans in durations.iter_rows():
    known = ["unknown" if own is None else f"{own:.1f}" for own in (instructions, *spans)]
    executed, least, mean, most = known
    handler = f"{function or 'unknown'} ({names.get(number) or 'without a name'})"
    print(
        f"{number:6}  {count:7}  {unended:7}  {executed:>12}  {least:>11}  {mean:>7}  {most:>7}  {handler}"
    )
