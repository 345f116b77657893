"""Let sphinx read docstrings as written: `rage` and `LinearBandit.pull` become links, |x| is not a substitution."""

from sphinx.util.nodes import make_refnode


def link(app, env, node, contnode):
    """Return a link to the entry of the reference with this name, or None if there is none.

    A name alone means a class or a name that a package exports; a name in a module of a package needs the module too.
    """
    if node.get("reftype") != "obj":
        return None
    target = node["reftarget"].removesuffix("()")
    found = {}
    for name, entry in env.domains.python_domain.objects.items():
        dots = name.count(".") - target.count(".")  # 1: in a top package, 2: in a subpackage
        offered = entry.objtype == "class" or dots <= 2 and (entry.objtype == "function" or "." in target)
        if name.endswith(f".{target}") and offered:
            found[dots, name] = entry
    if not found:
        return None
    (_, name), entry = min(found.items(), key=lambda item: item[0])
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, contnode, name)


def skip_fields(app, what, name, item, skip, options):
    """Skip the fields of a NamedTuple, which its docstring describes, because Python's own text says nothing more."""
    return True if (item.__doc__ or "").startswith("Alias for field number") else None


def keep_bars(app, what, name, item, options, lines):
    """Escape the bars of |x|, a length or a number of elements, except in the examples, which come last."""
    prose = next((k for k, line in enumerate(lines) if line.startswith(">>>")), len(lines))
    lines[:prose] = [line.replace("|", r"\|") for line in lines[:prose]]


def setup(app):
    app.connect("missing-reference", link)
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("autodoc-process-docstring", keep_bars, priority=100)  # before numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
