"""Whole files of the package, shown in a notebook."""

from importlib.resources import files

from IPython.display import Markdown


def algorithm(*names):
    """The files of `bandits_lib.plain` with these names, whole, as a notebook shows them.

    Parameters
    ----------
    *names : str
        Names of files in `bandits_lib/plain`, without ".py".

    Returns
    -------
    IPython.display.Markdown
        One block of code for each file, its path in the first line.

    Raises
    ------
    ValueError
        For a name that no file has.

    Examples
    --------
    >>> algorithm("wynn").data.splitlines()[:2]
    ['```python', '# bandits_lib/plain/wynn.py']
    """
    return Markdown("\n\n".join(f"```python\n# bandits_lib/plain/{name}.py\n{_source(name)}```" for name in names))


def _source(name):
    """The text of a file of `bandits_lib.plain`."""
    file = files("bandits_lib.plain").joinpath(f"{name}.py")
    if not file.is_file():
        raise ValueError(f"there is no file bandits_lib/plain/{name}.py")
    return file.read_text(encoding="utf-8")
