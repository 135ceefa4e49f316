"""Which template a request's path is of."""

from __future__ import annotations

import re
from typing import Any, Callable

from ._text import field

# How many templates a process tells apart, and for how many paths it remembers theirs.
MOST_TEMPLATES = 500
MOST_PATHS = 2000
OTHER = "(other)"
NONE = "(no route)"

_HEX = re.compile(r"(?i)(?=[0-9a-f-]*[0-9])[0-9a-f]{8,}(?:-[0-9a-f]{4,})*")
_NUMBER = re.compile(r"[0-9]+")


def normalised(path: str) -> str:
    """A path whose numbers, UUIDs and long hexadecimal words are `<n>`."""
    return "/".join("<n>" if _NUMBER.fullmatch(part) or _HEX.fullmatch(part) else part for part in path.split("/"))


class Routes:
    """The templates of a process as fields, no more than so many of them."""

    def __init__(self, given: Callable[[Any], Any] | None, fail: Callable[[Exception], None]) -> None:
        self._given = given
        self._fail = fail
        self._fields: dict[str, str] = {}
        self._paths: dict[str, str] = {}

    def of_environ(self, environ: dict[str, Any]) -> str:
        """The template of a WSGI request that has been answered, where the framework has not named a rule."""
        try:
            return self._of_environ(environ)
        except Exception as error:
            # A request whose route cannot be told is told all the same.
            self._fail(error)
            return NONE

    def of_scope(self, scope: dict[str, Any]) -> str:
        """The template of an ASGI request that has been answered."""
        try:
            return self._of_scope(scope)
        except Exception as error:
            self._fail(error)
            return NONE

    def _of_environ(self, environ: dict[str, Any]) -> str:
        if self._given is not None:
            return self._field(self._given(environ))
        template = environ.get("steadyhand.route")
        if template is not None:
            return self._field(template)
        bottle = environ.get("bottle.route")
        if bottle is not None:
            return self._field(bottle.rule)
        return self._of_path(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""), True)

    def _of_scope(self, scope: dict[str, Any]) -> str:
        if self._given is not None:
            return self._field(self._given(scope))
        template = scope.get("steadyhand.route")
        if template is not None:
            return self._field(template)
        route = scope.get("route")
        template = getattr(route, "path_format", None) or getattr(route, "path", None)
        if template is not None:
            return self._field(template)
        router = scope.get("router")
        if router is not None:
            return self._field(_of_starlette(router, scope) or NONE)
        return self._of_path(scope.get("path", ""), False)

    def _field(self, template: Any) -> str:
        known = self._fields.get(template)
        if known is not None:
            return known
        if len(self._fields) >= MOST_TEMPLATES:
            return OTHER
        made = self._fields[template] = field(template)
        return made

    def _of_path(self, path: str, is_latin: bool) -> str:
        known = self._paths.get(path)
        if known is not None:
            return known
        # As PEP 3333 has it: the path's bytes, each as the letter of that number.
        text = path.encode("latin-1", "replace").decode("utf-8", "replace") if is_latin else path
        made = self._field(normalised(text))
        if len(self._paths) < MOST_PATHS:
            self._paths[path] = made
        return made


def rule_of_closers(closers: Any) -> Any:
    """What Django makes of the path, or None. Its responses know their request by what is closed with them."""
    owners = [getattr(closer, "__self__", None) for closer in closers]
    return next((owner.resolver_match for owner in owners if hasattr(owner, "resolver_match")), None)


# The templates of this process as fields.
_templates: dict[str, str] = {}


def rule_text(rule: Any) -> str:
    """The template of Flask's rule or of Django's match as a field."""
    template = rule.rule if hasattr(rule, "rule") else f"/{getattr(rule, 'route', '')}"
    known = _templates.get(template)
    if known is None:
        if len(_templates) >= MOST_TEMPLATES:
            return OTHER
        known = _templates[template] = field(template)
    return known


_endpoints: dict[Any, str | None] = {}


def _of_starlette(router: Any, scope: dict[str, Any]) -> str | None:
    """Starlette tells the endpoint and the names of the parameters; the template is that of the route which has them."""
    endpoint = scope.get("endpoint")
    if endpoint is None:
        return None
    key = (endpoint, tuple(scope.get("path_params") or ()))
    if key not in _endpoints:
        if len(_endpoints) >= MOST_TEMPLATES:
            return OTHER
        _endpoints[key] = _search(getattr(router, "routes", ()), endpoint, set(key[1]), "")
    return _endpoints[key]


def _search(routes: Any, endpoint: Any, names: set[str], before: str) -> str | None:
    for route in routes:
        template = before + str(getattr(route, "path_format", None) or getattr(route, "path", ""))
        below = getattr(route, "routes", None)
        if below:
            # Mounts end with what is left of the path.
            found = _search(below, endpoint, names, template.replace("/{path}", ""))
            if found is not None:
                return found
        is_it = getattr(route, "endpoint", None) is endpoint or getattr(route, "app", None) is endpoint
        if is_it and set(re.findall(r"{(\w+)}", template)) <= names:
            return template
    return None
