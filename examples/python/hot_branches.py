"""The branches that are taken most often, and how often each is not taken.

Usage: hot_branches.py [CAPTURE [IMAGE...]]
"""

import sys

import polars as pl
import tracewright as tw

trace = tw.open(sys.argv[1], images=sys.argv[2:]) if len(sys.argv) > 1 else tw.demo()
columns = ["from_address", "to_address", "taken", "times", "from_function", "kind"]
branches = trace.table("branches", columns=columns).to_polars()
hot = (
    branches.filter(pl.col("kind") != "exception")
    .group_by("from_address", "from_function")
    .agg(
        pl.col("times").filter(pl.col("taken")).sum().alias("taken"),
        pl.col("times").filter(~pl.col("taken")).sum().alias("not_taken"),
        pl.col("to_address").filter(pl.col("taken")).n_unique().alias("targets"),
    )
    .sort("taken", "from_address", descending=[True, False])
    .head(10)
)
print("     taken  not taken  targets  branch")
for address, function, taken, not_taken, targets in hot.iter_rows():
    print(f"{taken:10}  {not_taken:9}  {targets:7}  {address:#x} {function or ''}")
