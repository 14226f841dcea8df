"""Captures from files and from memory."""

from __future__ import annotations

import os
import pathlib
from typing import Any, Callable, Mapping, Sequence

from . import _tracewright
from ._trace import Image, Made, Path, Trace
from .errors import OpenError

_ENTRIES = ("snapshot.ini", "capture.toml")
"""Files by which a capture of several files is opened."""


def open(
    path: Path,
    *,
    images: Sequence[Image] = (),
    symfs: Path | None = None,
    binaries: Sequence[Path] = (),
    partial: bool = False,
    jobs: int | None = None,
) -> Trace:
    """Opens a capture: an Arm snapshot, a folder with a `capture.toml`, a `perf.data`.

    `images` are program files, `FILE` or `FILE@ADDRESS`, or the bytes of one. The programs of a
    `perf.data` are found on this machine and in the cache of perf; those of another machine in the
    folder `symfs`, which has its files at their paths, or among the files `binaries`. With
    `partial`, the sources that can be decoded are, even if others cannot. `jobs` is the number of
    threads: one for each processor otherwise.

    Raises `OpenError` where a file cannot be read.
    """
    own = os.fspath(path)
    files, programs = _images(images), [os.path.abspath(own) for own in binaries]
    folder = None if symfs is None else os.path.abspath(symfs)
    for name in [*programs, *([] if folder is None else [folder])]:
        if not os.path.exists(name):
            raise OpenError(f"{name}: there is no such file or folder", name)
    inner = _tracewright.open(own, files, folder, programs, partial, jobs)
    options: dict[str, Any] = {"images": files, "symfs": folder, "binaries": programs}
    options |= {"partial": partial, "jobs": jobs}
    return Trace(inner, Made("open", (os.path.abspath(own),), options))


def open_raw(
    data: bytes | Path,
    *,
    images: Sequence[Image] = (),
    protocol: str | Sequence[str] = (),
    config: Sequence[str] = (),
    framing: str | None = None,
    core: str | None = None,
    ids: Sequence[int] = (),
    partial: bool = False,
    jobs: int | None = None,
) -> Trace:
    """Opens raw trace data, such as a dump of a trace buffer: the name of a file, or its bytes.
    What is not given is detected; `Trace.notes` has what was assumed.

    `protocol` is the name of a protocol, `ETM4`, or with its trace ID `ETM4@0x10`; `config` has
    registers of the trace unit, `TRCCONFIGR=0xc1`; `framing` is that of the link, such as
    `coresight`, `tpiu` or `raw`; `core` is the type of the core, such as `Cortex-M7`; `ids` are
    the trace IDs to decode.

    Raises `OpenError` where a file cannot be read, or nothing explains the bytes.

    >>> import tracewright as tw
    >>> trace = tw.open_raw(bytes([0x01, 0x41, 0x01, 0x0a]), protocol="ITM")
    >>> [write.value for write in trace.elements(kinds=["software-write"])]
    [65, 10]
    """
    own = data if isinstance(data, bytes) else os.fspath(data)
    files = _images(images)
    protocols = [protocol] if isinstance(protocol, str) else list(protocol)
    units = [_unit(own) for own in protocols]
    inner = _tracewright.open_raw(
        own, files, units, list(config), framing, core, list(ids), partial, jobs
    )
    options: dict[str, Any] = {
        "images": files,
        "protocol": protocols,
        "config": list(config),
        "framing": framing,
        "core": core,
        "ids": list(ids),
        "partial": partial,
        "jobs": jobs,
    }
    given = own if isinstance(own, bytes) else os.path.abspath(own)
    return Trace(inner, Made("open_raw", (given,), options))


def from_bytes(
    data: bytes | Mapping[str, bytes],
    *,
    path: str | None = None,
    images: Sequence[Image] = (),
    partial: bool = False,
    jobs: int | None = None,
) -> Trace:
    """Opens a capture in memory: the bytes of a `perf.data`, or those of the files of a snapshot by
    their names. `path` is the name of the file among them by which the capture is opened:
    `snapshot.ini` or `capture.toml` where there is one. No file of the disk is read, but those of
    `images`.

    Raises `OpenError` as `open` does.
    """
    files = {"perf.data": data} if isinstance(data, bytes) else dict(data)
    entry = path or _entry(files)
    own = _images(images)
    inner = _tracewright.from_bytes(files, entry, own, partial, jobs)
    options = {"path": entry, "images": own, "partial": partial, "jobs": jobs}
    return Trace(inner, Made("from_bytes", (files,), options))


def demo() -> Trace:
    """The built-in example: a Cortex-M7 places queens on a chessboard, while a timer interrupts it.

    >>> [source.protocol for source in demo().sources]
    ['ETM4', 'ITM']
    """
    return Trace(_tracewright.demo(), Made("demo", (), {}))


def restored(kind: str, args: tuple[Any, ...], options: dict[str, Any], index: str | None) -> Trace:
    """A trace that was pickled."""
    kinds: dict[str, Callable[..., Trace]] = {
        "open": open,
        "open_raw": open_raw,
        "from_bytes": from_bytes,
        "demo": demo,
    }
    trace = kinds[kind](*args, **options)
    if index is not None:
        trace.index(index)
    return trace


def _images(images: Sequence[Image]) -> list[bytes | str]:
    if isinstance(images, (str, bytes, os.PathLike)):
        raise TypeError("images is a list of files")
    return [image if isinstance(image, bytes) else os.fspath(image) for image in images]


def _unit(text: str) -> tuple[str, int | None]:
    name, _, number = text.partition("@")
    return name, int(number, 0) if number else None


def _entry(files: dict[str, bytes]) -> str:
    named = [name for name in files if pathlib.PurePath(name).name in _ENTRIES]
    if len(named) == 1:
        return named[0]
    if len(files) == 1:
        return next(iter(files))
    raise OpenError(f"none of {', '.join(files) or 'no files'} is known to be a capture: give `path`")
