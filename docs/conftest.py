"""Doctests of the pages; the examples of the gallery are run by ``make docs``."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = ["*.py", "_build/*", "api/generated/*", "gallery/*", "generated/*"]
# Pages that also run another package are skipped unless it is installed; the dependency group "docs" contains it.
collect_ignore = [
    f"coming_from/{package}.md"
    for package in ("autorank", "corankco", "evalica")
    if find_spec(package) is None
]
