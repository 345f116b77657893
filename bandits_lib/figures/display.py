"""Show files of `bandits_lib.plain` in notebooks, and pictures with a button for each.

The buttons are radio buttons, which arrow keys move, and a rule of CSS shows the chosen picture. There is no script and
nothing is loaded. Without style (an untrusted notebook in JupyterLab, or paper) the pictures are one below the other.
"""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from io import BytesIO
from typing import NamedTuple

import matplotlib.pyplot as plt
from IPython.display import Markdown
from matplotlib.figure import Figure


def algorithm(*names: str) -> Markdown:
    """Return whole files of `bandits_lib.plain`, as a notebook shows them.

    Parameters
    ----------
    *names : str
        Names of files in `bandits_lib/plain`, without ".py".

    Returns
    -------
    IPython.display.Markdown
        One block of code for each file, with its path in the first line.

    Raises
    ------
    ValueError
        For a name without a file.

    Examples
    --------
    >>> algorithm("wynn").data.splitlines()[:2]
    ['```python', '# bandits_lib/plain/wynn.py']
    """
    return Markdown("\n\n".join(f"```python\n# bandits_lib/plain/{name}.py\n{_source(name)}```" for name in names))


def _source(name):
    file = files("bandits_lib.plain").joinpath(f"{name}.py")
    if not file.is_file():
        raise ValueError(f"there is no file bandits_lib/plain/{name}.py: pass the name of a file in that folder")
    return file.read_text(encoding="utf-8")


STYLE = """
#{id} {{ border: 0; margin: 0; padding: 0; min-width: 0; }}
#{id} legend {{ padding: 0; font-weight: bold; }}
#{id} input {{ position: absolute; opacity: 0; }}
#{id} label {{ display: inline-block; margin: .5em .3em .5em 0; padding: .2em .8em; cursor: pointer;
 border: 1px solid currentColor; border-radius: .3em; }}
#{id} input:checked + label {{ background: #0b5fa5; color: #fff; }}
#{id} input:focus-visible + label {{ outline: 3px solid #de8f05; outline-offset: 2px; }}
#{id} figure {{ margin: 0; }}
#{id} img {{ max-width: 100%; height: auto; background: #fff; }}
"""
CHOSEN = "#{id}-{k}:checked ~ #{id}-step-{k}"
ONE = "@media screen {{ #{id} figure {{ display: none; }} {chosen} {{ display: block; }} }}"


class Step(NamedTuple):
    """One picture of several.

    Attributes
    ----------
    name : str
        The text on its button.
    png : bytes
        The picture, as `png` returns it.
    alt : str
        The picture in words, for readers who do not see it.
    caption : str
        The text below it.

    Examples
    --------
    >>> Step("phase 1", b"", "a disc", "One disc.").name
    'phase 1'
    """

    name: str
    png: bytes
    alt: str
    caption: str


class Stepper:
    """Pictures with a button for each, as the value of a notebook's cell.

    Parameters
    ----------
    title : str
        The text above the buttons, which says what they choose.
    steps : sequence of Step
        The pictures; the first is shown at the start.

    Raises
    ------
    ValueError
        If there are no steps, or if their names are not distinct.

    Examples
    --------
    >>> from bandits_lib.figures.display import Step
    >>> Stepper("Two steps", [Step("one", b"", "a", "First."), Step("two", b"", "b", "Then.")])
    Two steps
    one: First.
    two: Then.
    """

    def __init__(self, title: str, steps: Sequence[Step]) -> None:
        names = [step.name for step in steps]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"steps must be one or more, with distinct names; got {names}: rename or add a step")
        self.title, self.steps = title, tuple(steps)

    def __repr__(self):
        return "\n".join([self.title, *(f"{step.name}: {step.caption}" for step in self.steps)])

    def _repr_html_(self):
        numbered = list(enumerate(self.steps, start=1))
        own = "stepper-" + sha256(repr((self.title, self.steps)).encode()).hexdigest()[:8]
        chosen = ", ".join(CHOSEN.format(id=own, k=k) for k, _ in numbered)
        style = STYLE.format(id=own) + ONE.format(id=own, chosen=chosen)
        buttons = "\n".join(_button(own, k, step.name) for k, step in numbered)
        pictures = "\n".join(_picture(own, k, step) for k, step in numbered)
        legend = f"<legend>{escape(self.title)}</legend>"
        return f'<fieldset id="{own}">{legend}<style>{style}</style>\n{buttons}\n{pictures}\n</fieldset>'


def _button(own, k, name):
    checked = " checked" if k == 1 else ""
    keys = " data-lm-suppress-shortcuts"  # otherwise JupyterLab takes arrows and letters for commands
    radio = f'<input type="radio" id="{own}-{k}" name="{own}"{checked}{keys}>'
    return f'{radio}<label for="{own}-{k}">{escape(name)}</label>'


def _picture(own, k, step):
    data = b64encode(step.png).decode()
    image = f'<img src="data:image/png;base64,{data}" alt="{escape(step.alt)}">'
    return f'<figure id="{own}-step-{k}">{image}<figcaption>{escape(step.caption)}</figcaption></figure>'


def png(fig: Figure) -> bytes:
    """Return a figure as the bytes of a png without a date, and close the figure.

    Parameters
    ----------
    fig : matplotlib.figure.Figure
        The picture.

    Returns
    -------
    bytes
        The file.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> png(plt.figure())[1:4]
    b'PNG'
    """
    file = BytesIO()
    fig.savefig(file, format="png", dpi=110, metadata={"Software": None})
    plt.close(fig)
    return file.getvalue()
