"""Check the links of a built site: every page, anchor, picture and script that a page refers to must exist.

    python scripts/check_links.py FOLDER

Links to other sites are counted, not fetched. The exit code is 1 when a link is broken, or when a page loads a script,
a style sheet or a picture from another site.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src"}
"""Attributes whose target the browser loads with the page."""
_NOT_LOADED = {"canonical", "next", "prev", "index", "search", "author"}
"""Relations of ``link`` elements that are not loaded."""


@dataclass
class Page(HTMLParser):
    """The anchors and the links of a page."""

    anchors: set[str] = field(default_factory=set)
    links: set[str] = field(default_factory=set)
    loads: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        if tag in _LOADED and _LOADED[tag] in values and values.get("rel") not in _NOT_LOADED:
            self.loads.add(values[_LOADED[tag]])


def check(site: Path) -> tuple[list[str], int, int]:
    """Return the broken links of a site, and the numbers of links inside it and to other sites."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        if path.is_relative_to(site / "_static"):
            continue  # templates of the theme
        pages[path] = Page()
        pages[path].feed(path.read_text(encoding="utf-8"))
    broken, inside, outside = [], 0, 0
    for path, page in pages.items():
        for link in sorted(page.links | page.loads):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                outside += 1
                if link in page.loads and parts.scheme != "data":
                    broken.append(f"{path.relative_to(site)}: loads {link} from another site")
                continue
            inside += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            known = pages[target].anchors if target in pages else set()
            if not target.is_file():
                broken.append(f"{path.relative_to(site)}: {link} does not exist")
            elif anchor and target.suffix == ".html" and anchor not in known:
                broken.append(f"{path.relative_to(site)}: {link} has no such anchor")
    return broken, inside, outside


def main() -> int:
    site = Path(sys.argv[1]).resolve()
    broken, inside, outside = check(site)
    for line in broken:
        print(line, file=sys.stderr)
    print(f"links: {inside} inside the site, {len(broken)} broken, {outside} to other sites")
    return 1 if broken or inside == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
