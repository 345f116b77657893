"""Configure sphinx for the site. Notebooks are shown as they are committed: nothing is executed or fetched."""

import sys
from importlib import metadata
from pathlib import Path

from numpydoc.xref import DEFAULT_LINKS

sys.path.insert(0, str(Path(__file__).parent))
from reference import public_names  # noqa: E402

project = "bandits_lib"
author = "the bandits_lib authors"
project_copyright = f"2026 {author}"
release = metadata.version("bandits_lib")
extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc", "mathml", "short_names", "polish"]
exclude_patterns = ["README.md", "downloads", "figures/jedra2020/*.md", "figures/claims_changes.md"]

nb_execution_mode = "off"
nb_code_prompt_show, nb_code_prompt_hide = "Show the {type}", "Hide the {type}"
nb_render_markdown_format = "myst"  # tables and formulas in outputs too
myst_enable_extensions = ["dollarmath", "amsmath", "attrs_inline", "html_image"]
myst_dmath_double_inline = True
myst_heading_anchors = 3
suppress_warnings = ["myst.header", "myst.xref_missing", "mystnb.unknown_mime_type"]  # test_book.py follows all anchors
smartquotes = False  # quotes in docstrings are values, and x'theta is a product

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True  # show `design=xy_design` as in the source
autodoc_typehints = "none"
autosummary_generate = False
default_role = "py:obj"  # a name in backticks is a link if the reference has it, else code
numpydoc_show_class_members = False  # autodoc shows them
numpydoc_xref_param_type = True  # of types, the library's classes are links; other words stay as they are
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = dict(zip(DEFAULT_LINKS, DEFAULT_LINKS, strict=True)) | {
    name: f":obj:`{name}`" for names in public_names().values() for name in names if name[0].isupper()
}

html_theme = "furo"
html_favicon = "static/favicon.svg"
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_title = f"bandits_lib {release}"
html_copy_source = False
html_domain_indices = False  # api.html lists the modules
html_show_sourcelink = False
html_math_renderer = "mathml"
html_search_scorer = str(Path(__file__).parent / "scorer.js")
html_static_path = ["static"]
html_css_files = ["book.css"]
html_js_files = [("sidebar.js", {"defer": "defer"})]
