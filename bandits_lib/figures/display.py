"""Show files of `bandits_lib.plain` in notebooks, and figures as files in memory."""

from importlib.resources import files
from io import BytesIO

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
    """
    file = BytesIO()
    fig.savefig(file, format="png", dpi=110, metadata={"Software": None})
    plt.close(fig)
    return file.getvalue()
