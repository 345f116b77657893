"""Convert formulas to MathML, which browsers draw without a script or the network."""

import re
import unicodedata

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

VARIANTS = {"script": "SCRIPT", "double-struck": "DOUBLE-STRUCK", "fraktur": "FRAKTUR"}
SIZED = re.compile(r"(\\[bB]igg?[lrm]?)\s*\{\s*(\\[a-zA-Z]+|[^a-zA-Z\\])\s*\}")  # \big{(} would become a brace
LETTER = re.compile(r'<mi mathvariant="(script|double-struck|fraktur)">([A-Za-z])</mi>')


def mathml(latex, display="inline"):
    """Return a formula as MathML; letters of other alphabets become Unicode signs: Chromium ignores `mathvariant`."""
    latex = SIZED.sub(r"\1\2 ", latex.replace(r"\{", r"\lbrace ").replace(r"\}", r"\rbrace "))
    made = convert(latex, display=display).replace(r"\lbrace", "{").replace(r"\rbrace", "}")
    return LETTER.sub(lambda found: f"<mi>{letter(*found.groups())}</mi>", made)


def letter(variant, plain):
    """Return the sign for a letter of another alphabet; some signs are outside Unicode's mathematical alphabets."""
    name = f"{VARIANTS[variant]} {'CAPITAL' if plain.isupper() else 'SMALL'} {plain.upper()}"
    for full in (f"MATHEMATICAL {name}", name, name.replace("FRAKTUR", "BLACK-LETTER")):
        try:
            return unicodedata.lookup(full)
        except KeyError:
            continue
    raise ValueError(f"no sign for {plain} in {variant}")


def inline(translator, node):
    translator.body.append(mathml(node.astext()))
    raise SkipNode


def block(translator, node):
    translator.body.append(f'<div class="math">{mathml(node.astext(), display="block")}</div>')
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True}
