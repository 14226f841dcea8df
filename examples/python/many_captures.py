"""The functions of many perf.data files together: each file is decoded by one of several processes.

Usage: many_captures.py [CAPTURE...]. Without a name, the built-in example is taken eight times.
"""

import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import tracewright as tw


def functions(path: str) -> dict[str, int] | str:
    """The instructions of each function, or why there are none."""
    try:
        # One thread for each file: the processes are as many as the processors.
        trace = tw.open(path, partial=True, jobs=1) if path else tw.demo()
        return {row.name: row.instructions for row in trace.functions()}
    except tw.TracewrightError as error:
        return f"{path}: {error}"


def main() -> None:
    paths = sys.argv[1:] or [""] * 8
    total: Counter[str] = Counter()
    read = 0
    with ProcessPoolExecutor() as pool:
        for own in pool.map(functions, paths, chunksize=8):
            if isinstance(own, str):
                print(own, file=sys.stderr)
            else:
                total.update(own)
                read += 1
    print(f"{read} of {len(paths)} captures")
    for name, instructions in total.most_common(10):
        print(f"{instructions:12}  {name}")


if __name__ == "__main__":
    main()
