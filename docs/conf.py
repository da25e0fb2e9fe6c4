"""Sphinx configuration of the documentation; ``make docs`` builds it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))
# One thread per example, so that the time of a build does not depend on the linear algebra library that NumPy finds.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib as mpl  # noqa: E402
from docutils import nodes  # noqa: E402

import bucketrank  # noqa: E402

mpl.use("Agg")

project = "bucketrank"
author = "The bucketrank developers"
project_copyright = author
release = version = bucketrank.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "sphinx_design",
    "written_pages",
]
exclude_patterns = ["_build", "examples", "measured"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False


def skip_foreign(app, what, name, member, skip, options):  # noqa: ARG001 (the signature of the event)
    """Leave out methods that scikit-learn generates: their texts refer to its own pages."""
    return (
        True
        if name.startswith(("get_metadata_routing", "set_"))
        and name.endswith(("_request", "_routing"))
        else None
    )


def strip_code(app, doctree):  # noqa: ARG001 (the signature of the event)
    """Remove the blank line that a doctest needs before the end of its block."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip()
        block.rawsource = text
        block.children = [nodes.Text(text)] if len(block.children) == 1 else block.children


def setup(app):
    """Connect the events."""
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("doctree-read", strip_code)


html_theme = "pydata_sphinx_theme"
html_title = "bucketrank"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = None
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "github_url": "https://github.com/bucketrank/bucketrank",
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_nav_level": 2,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
# No sidebar for pages outside the sections: its list of sibling pages would be empty.
html_sidebars = {page: [] for page in ("index", "faq", "changelog", "generated/*", "search")}
# The table of contents of a class lists "aggregate()", not "TauX.aggregate()", which is wider than its column.
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "gallery_order.TopicOrder",
    # The last expression of a block is often a call of matplotlib, whose return value is not worth showing.
    "ignore_repr_types": r"matplotlib|\'(list|tuple)\'",
    "abort_on_example_error": True,
    "backreferences_dir": "api/generated/backreferences",
    "doc_module": ("bucketrank",),
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 60,
    "image_scrapers": ("matplotlib",),
    "image_srcset": ["2x"],
    "plot_gallery": True,
    "write_computation_times": False,
    "reset_modules": ("matplotlib",),
}
