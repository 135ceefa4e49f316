"""Request classes: the application determines the class of a request before the version is chosen."""

from __future__ import annotations

from typing import Any, Callable

from ._routes import OTHER
from ._text import field

# The maximum number of classes that a process distinguishes.
MOST_CLASSES = 16


class Classes:
    """The classes of an application, as fields of its lines."""

    def __init__(self, classify: Callable[[Any], Any], fail: Callable[[Exception], None]) -> None:
        self._classify = classify
        self._fail = fail
        self._fields: dict[Any, str] = {}

    def field_of(self, request: dict[str, Any]) -> str:
        """Returns the class field of a request, given its environ or scope; empty if it has no class."""
        try:
            name = self._classify(request)
            cached = self._fields.get(name)
            return self._new(name) if cached is None else cached
        except Exception as error:
            # The request is served and counted without a class.
            self._fail(error)
            return ""

    def _new(self, name: Any) -> str:
        if name is None or name == "":
            return ""
        if len(self._fields) >= MOST_CLASSES:
            return f"\tclass={OTHER}"
        created = self._fields[name] = f"\tclass={field(name)}"
        return created
