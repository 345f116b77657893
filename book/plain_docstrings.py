"""Docstrings are plain text for a terminal; the site shows them letter by letter, as literal blocks."""


def literal(app, what, name, obj, options, lines):
    if any(lines):
        lines[:] = [".. code-block:: text", "   :class: docstring", "", *(f"   {line}" for line in lines), ""]


def setup(app):
    app.connect("autodoc-process-docstring", literal)
    return {"parallel_read_safe": True}
