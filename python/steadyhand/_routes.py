"""Finds the route template of a request."""

from __future__ import annotations

import re
import sys
from typing import Any, Callable

from ._text import field

# The maximum number of templates that a process reports, and of paths whose template it caches.
MOST_TEMPLATES = 500
MOST_PATHS = 2000
OTHER = "(other)"
NONE = "(no route)"

_HEX = re.compile(r"(?i)(?=[0-9a-f-]*[0-9])[0-9a-f]{8,}(?:-[0-9a-f]{4,})*")
_NUMBER = re.compile(r"[0-9]+")


def normalised(path: str) -> str:
    """Returns the path with numbers, UUIDs and long hexadecimal words replaced by `<n>`."""
    return "/".join("<n>" if _NUMBER.fullmatch(part) or _HEX.fullmatch(part) else part for part in path.split("/"))


class Routes:
    """The route templates of an application, as fields. At most `MOST_TEMPLATES` are distinguished."""

    def __init__(self, route: Callable[[Any], Any] | None, fail: Callable[[Exception], None]) -> None:
        self._route = route
        self._fail = fail
        self._fields: dict[str, str] = {}
        self._paths: dict[str, str] = {}

    def of_environ(self, environ: dict[str, Any]) -> str:
        """Returns the template of an answered WSGI request whose framework has not named a rule."""
        try:
            return self._of_environ(environ)
        except Exception as error:
            # The request is reported without a route.
            self._fail(error)
            return NONE

    def of_scope(self, scope: dict[str, Any]) -> str:
        """Returns the template of an answered ASGI request."""
        try:
            return self._of_scope(scope)
        except Exception as error:
            self._fail(error)
            return NONE

    def _of_environ(self, environ: dict[str, Any]) -> str:
        if self._route is not None:
            return self._field(self._route(environ))
        template = environ.get("steadyhand.route")
        if template is not None:
            return self._field(template)
        bottle = environ.get("bottle.route")
        if bottle is not None:
            return self._field(bottle.rule)
        return self._of_path(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""), environ.get("PATH_INFO", ""))

    def _of_scope(self, scope: dict[str, Any]) -> str:
        if self._route is not None:
            return self._field(self._route(scope))
        template = scope.get("steadyhand.route")
        if template is not None:
            return self._field(template)
        route, router = scope.get("route"), scope.get("router")
        if _path_of(route) is not None:
            return self._field(_of_route(route, router, scope))
        if router is not None:
            return self._field(_of_starlette(router, scope) or NONE)
        return self._of_path(scope.get("path", ""))

    def _field(self, template: Any) -> str:
        cached = self._fields.get(template)
        if cached is not None:
            return cached
        if len(self._fields) >= MOST_TEMPLATES:
            return OTHER
        created = self._fields[template] = field(template)
        return created

    def _of_path(self, path: str, wsgi_path: str | None = None) -> str:
        """Returns the template of a path. `wsgi_path` is the part below the application under WSGI."""
        cached = self._paths.get(path)
        if cached is not None:
            return cached
        if wsgi_path is None:
            template = self._field(normalised(path))
        else:
            template = self._field(_of_django(_decoded(wsgi_path)) or normalised(_decoded(path)))
        if len(self._paths) < MOST_PATHS:
            self._paths[path] = template
        return template


def _decoded(path: str) -> str:
    # PEP 3333: each character of the string is one byte of the path.
    return path.encode("latin-1", "replace").decode("utf-8", "replace")


def _of_django(path: str) -> str | None:
    """Returns the template of a path if the application is Django's, whose response other middleware may have wrapped."""
    urls = sys.modules.get("django.urls")
    if urls is None:
        return None
    try:
        return f"/{urls.resolve(path).route}"
    except Exception:
        # No route matches, or Django is imported but does not serve.
        return None


def rule_of_closers(closers: Any) -> Any:
    """Returns the Django resolver match of a response, or None. The request is found among the response's closers."""
    owners = [getattr(closer, "__self__", None) for closer in closers]
    return next((owner.resolver_match for owner in owners if hasattr(owner, "resolver_match")), None)


# The templates of this process, as fields.
_templates: dict[str, str] = {}


def rule_text(rule: Any) -> str:
    """Returns the template of a Flask rule or a Django resolver match, as a field."""
    template = rule.rule if hasattr(rule, "rule") else f"/{getattr(rule, 'route', '')}"
    cached = _templates.get(template)
    if cached is None:
        if len(_templates) >= MOST_TEMPLATES:
            return OTHER
        cached = _templates[template] = field(template)
    return cached


def _path_of(route: Any) -> str | None:
    """Returns the template of a route of Starlette or FastAPI below its router."""
    return getattr(route, "path_format", None) or getattr(route, "path", None)


# The templates of routes that a scope named, with their routes, by the ids of the route and of the outermost router.
_routes: dict[tuple[int, int], tuple[Any, Any, str | None]] = {}


def _of_route(route: Any, router: Any, scope: dict[str, Any]) -> str:
    """Returns the template of the route that a scope names. Of a mounted application, that is its own route."""
    if getattr(route, "routes", None):
        # A mount none of whose routes matched.
        return NONE
    key = (id(route), id(router))
    if key not in _routes:
        if len(_routes) >= MOST_TEMPLATES:
            return OTHER
        # The objects are kept, so that their ids stay theirs.
        _routes[key] = (route, router, _template_of(getattr(router, "routes", None) or (), route, ""))
    template = _routes[key][2]
    if template is None:
        # An application that is mounted below middleware. Starlette adds its prefix to the root path.
        root, outer = scope.get("root_path", ""), scope.get("app_root_path")
        prefix = root[len(outer):] if outer is not None and root.startswith(outer) else ""
        template = normalised(prefix) + str(_path_of(route))
    return template


def _template_of(routes: Any, route: Any, before: str) -> str | None:
    for candidate in routes:
        template = before + str(_path_of(candidate) or "")
        if candidate is route:
            return template
        below = getattr(candidate, "routes", None)
        found = _template_of(below, route, template.replace("/{path}", "")) if below else None
        if found is not None:
            return found
    return None


_endpoints: dict[Any, str | None] = {}


def _of_starlette(router: Any, scope: dict[str, Any]) -> str | None:
    """Returns the template of the route with the endpoint and parameters of this scope.

    It is searched for because Starlette does not name the route in the scope.
    """
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
        template = before + str(_path_of(route) or "")
        below = getattr(route, "routes", None)
        if below:
            # The template of a mount ends with the rest of the path.
            found = _search(below, endpoint, names, template.replace("/{path}", ""))
            if found is not None:
                return found
        is_mounted = not below and not hasattr(route, "endpoint") and getattr(route, "app", None) is endpoint
        # The rest of the path is not a parameter of a mounted application.
        rest = {"path"} if is_mounted else set()
        is_match = any(getattr(route, name, None) is endpoint for name in ("endpoint", "app"))
        if is_match and set(re.findall(r"{(\w+)}", template)) - rest <= names:
            return template
    return None
