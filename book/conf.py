"""How sphinx makes the site. Notebooks are shown as they are committed: nothing is executed, nothing is fetched."""

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "bandits_lib"
author = "the bandits_lib authors"
release = metadata.version("bandits_lib")
extensions = ["myst_nb", "sphinx.ext.autodoc", "mathml", "plain_docstrings"]
exclude_patterns = ["README.md", "figures/*/*.md"]

nb_execution_mode = "off"
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_dmath_double_inline = True
myst_heading_anchors = 3
suppress_warnings = ["myst.header", "mystnb.unknown_mime_type"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
html_theme = "furo"
html_title = "bandits_lib"
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["book.css"]
