"""What can go wrong: each error derives from `TracewrightError`."""

from __future__ import annotations


class TracewrightError(Exception):
    """An error of this package."""


class OpenError(TracewrightError):
    """A capture cannot be read.

    >>> error = OpenError("a.ini: [device] has no `type`", "a.ini", "device", "type")
    >>> error.path, error.section, error.key
    ('a.ini', 'device', 'type')
    """

    def __init__(
        self, text: str, path: str = "", section: str | None = None, key: str | None = None
    ) -> None:
        super().__init__(text, path, section, key)
        self.text = text
        self.path = path
        """The file."""
        self.section = section
        """The section in the file, where one is meant."""
        self.key = key
        """The key in the section, where one is meant."""

    def __str__(self) -> str:
        return self.text


class DecodeError(TracewrightError):
    """A trace cannot be decoded."""

    def __init__(self, text: str, left_out: list[str] | None = None) -> None:
        super().__init__(text, left_out or [])
        self.text = text
        self.left_out = left_out or []
        """What each source lacks that cannot be decoded."""

    def __str__(self) -> str:
        return self.text


class TableError(TracewrightError):
    """A table cannot be read: there is no such table, column, source or function, or its rows
    cannot be selected so."""


class QueryError(TracewrightError):
    """A search is not understood, or has no answer."""


class CommandError(TracewrightError):
    """The command could not do what was asked."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text, code)
        self.text = text
        self.code = code
        """Its exit code."""

    def __str__(self) -> str:
        return self.text
