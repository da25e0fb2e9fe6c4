"""Pages that are written from measured files and from the command line's own help before each build."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from write_pages import PAGES


def setup(app: Any) -> dict[str, bool]:
    """Write the pages when a build starts."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write(app: Any) -> None:
    """Write every page whose text has changed into the folder ``generated``."""
    docs = Path(app.srcdir)
    folder = docs / "generated"
    folder.mkdir(exist_ok=True)
    for name, make in PAGES.items():
        text = make(docs / "measured")
        path = folder / f"{name}.md"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
