"""How many bits of trace an instruction takes with several settings of the encoder, and which
packets they are.

Usage: bits_per_instruction.py [LOG [IMAGE...]]: an execution log of RISC-V, such as that of Spike.
"""

import pathlib
import sys
import tempfile

import polars as pl
import tracewright as tw

SETTINGS = {
    "as usual": [],
    "full addresses": ["full_address=1"],
    "return stack of 8": ["implicit_return=1", "return_stack_size=3"],
    "sequentially inferable jumps": ["sijump=1"],
    "branch prediction of 64": ["branch_prediction=1", "bpred_size=6"],
}

EXAMPLE = pathlib.Path(__file__).parents[2] / "tests/captures/etrace-2.0/log.csv"

log, *images = sys.argv[1:] or [EXAMPLE]
for setting, config in SETTINGS.items():
    with tempfile.TemporaryDirectory() as folder:
        try:
            trace = tw.encode(
                log, f"{folder}/capture", protocol="etrace", images=images, config=config
            )
        except tw.CommandError as error:
            print(f"{setting}: {error}")
            continue
        packets = trace.table("packets", columns=["kind", "size"]).to_polars()
        executed = sum(row.instructions * row.times for row in trace.ranges())
    bits = 8 * packets["size"].cast(pl.UInt64).sum() / executed
    print(f"{setting}: {executed} instructions, {bits:.3f} bits each")
    kinds = packets.group_by("kind").agg(pl.col("size").cast(pl.UInt64).sum())
    for kind, size in kinds.sort("size", "kind", descending=[True, False]).head(4).iter_rows():
        print(f"    {8 * size / executed:.3f}  {kind}")
