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
    folder = files("bandits_lib.plain")
    for name in names:
        if not folder.joinpath(f"{name}.py").is_file():
            raise ValueError(f"no file bandits_lib/plain/{name}.py")
    sources = {name: folder.joinpath(f"{name}.py").read_text(encoding="utf-8") for name in names}
    return Markdown("\n\n".join(f"```python\n# bandits_lib/plain/{name}.py\n{text}```" for name, text in sources.items()))
