"""Write the site's reference: an index, a page for each module, and the plain version of each rule as a page of code.

Each exported name has its docstring, a link to its source, the notebooks whose code uses it, and its plain version.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import nbformat

import bandits_lib
import bandits_lib.plain
from bandits_lib.simulate.fingerprint import PACKAGES

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
PLAIN = Path(bandits_lib.plain.__file__).parent
GROUPS = ("bandits_lib.simulate", "bandits_lib.papers", "bandits_lib.figures", "bandits_lab", "bandits_companion")
RULES = ("fixed_confidence", "fixed_budget", "variance", "design")  # packages whose names have plain versions
FIRST = ["bandits_lib", "fixed_confidence", "fixed_budget", "variance", "design", "complexity", "papers", "protocol"]
OPEN = (  # modules whose names are exported if notebooks, examples or README use them
    *(f"bandits_lib.{name}" for name in ("complexity", "problem", "protocol")),
    *(f"bandits_lib.simulate.{name}" for name in ("intervals", "monte_carlo")),
    *(f"bandits_lib.simulate.{name}" for name in ("own_rule", "play", "profiles")),
    *(f"bandits_lib.papers.{name}" for name in ("data", "jedra2020")),
    *(f"bandits_lib.figures.{name}" for name in ("bars", "display", "plane", "results", "style")),
    *(f"bandits_companion.{name}" for name in ("claims", "coverage", "errata", "ledger")),
    *(f"bandits_companion.{name}" for name in ("registry", "report", "seeds")),
)


# --- what is public


@cache
def public_names():
    """Return {module: names}: the names in `__all__` or, for a module in OPEN without it, those that readers use."""
    modules = {name: importlib.import_module(name) for name in sorted(["bandits_lib", *exporting()], key=position)}
    names = {name: getattr(module, "__all__", None) or used_names(module) for name, module in modules.items()}
    return {name: found for name, found in names.items() if found}


def exporting():
    """Yield the names of the packages that have `__all__`, and of the modules in OPEN."""
    for module in pkgutil.iter_modules(bandits_lib.__path__, "bandits_lib."):
        if module.ispkg and hasattr(importlib.import_module(module.name), "__all__"):
            yield module.name
    yield from ("bandits_lab", *OPEN)


def position(module):
    """Return a key for the order of the reference: what a reader needs first, then the alphabet."""
    name = module.rpartition(".")[2]
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)


def used_names(module):
    """Return functions and classes that notebooks, examples, README or `bandits_lib` name, in the module's order."""
    own = [item for item in vars(module).values() if getattr(item, "__module__", None) == module.__name__]
    known = used() | {id(getattr(bandits_lib, name)) for name in bandits_lib.__all__}
    return [item.__name__ for item in own if callable(item) and item.__name__[0] != "_" and id(item) in known]


@cache
def used():
    """Return {id of every object that notebooks, examples or README use}."""
    return {id(item) for code in (*codes().values(), *examples()) for item in named_in(code)}


@cache
def examples():
    """Return the syntax trees of README's blocks of Python and of the example files."""
    readme = (NOTEBOOKS.parent / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    files = [path.read_text(encoding="utf-8") for path in sorted(NOTEBOOKS.glob("example_*.py"))]
    return [ast.parse(text) for text in (*blocks, *files)]


# --- which notebooks use a name, and its plain version


def notebooks_using():
    """Return {id of an object: the notebooks whose code imports it, or names it as `module.name`}."""
    users = defaultdict(list)
    for name, code in codes().items():
        for item in {id(item): item for item in named_in(code)}:
            users[item].append(name)
    return users


@cache
def codes():
    """Return {notebook: the syntax tree of its cells of code}."""
    found = {}
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        found[path.stem] = ast.parse("\n".join(cell.source for cell in cells if cell.cell_type == "code"))
    return found


def named_in(code):
    """Yield the objects of the library that the code imports, or reaches through a module."""
    modules = {}
    for node in ast.walk(code):
        for called, item in imported(node):
            if inspect.ismodule(item):
                modules[called] = item
            else:
                yield item
    reached = (attribute(node, modules) for node in ast.walk(code) if isinstance(node, ast.Attribute))
    yield from (item for item in reached if item is not None)


def imported(node):
    """Yield (name in the notebook, module or object) for each import from the library."""
    if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] in PACKAGES:
        home = importlib.import_module(node.module)
        for alias in node.names:
            item = getattr(home, alias.name, None)
            found = importlib.import_module(f"{node.module}.{alias.name}") if item is None else item
            yield alias.asname or alias.name, found
    elif isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.partition(".")[0] in PACKAGES:
                module = importlib.import_module(alias.name)
                top = alias.name.partition(".")[0]
                yield (alias.asname, module) if alias.asname else (top, importlib.import_module(top))


def attribute(node, modules):
    """Return the object of the library that a name or `module.name` stands for, or None."""
    if isinstance(node, ast.Name):
        return modules.get(node.id)
    owner = attribute(node.value, modules) if isinstance(node, ast.Attribute) else None
    return getattr(owner, node.attr, None) if inspect.ismodule(owner) else None


@cache
def plain_files():
    """Return {name of a file of `bandits_lib/plain`: (first line of its docstring, its functions)}."""
    found = {}
    for path in sorted(PLAIN.glob("[!_]*.py")):
        code = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node.name for node in code.body if isinstance(node, ast.FunctionDef)]
        found[path.stem] = summary(ast.get_docstring(code)), functions
    return found


def plain_version(module, name):
    """Return the plain file that is called like the first words of a name, or has a function so called; or None."""
    if module.removeprefix("bandits_lib.") not in RULES:
        return None
    words = name.split("_")
    for start in ("_".join(words[:end]) for end in range(len(words), 0, -1)):
        for file, (_, functions) in plain_files().items():
            if start == file or start in functions:
                return file
    return None


def notebooks_showing(file):
    """Yield the notebooks that show a whole plain file, by `algorithm("rage")`."""
    for name, code in codes().items():
        calls = (node for node in ast.walk(code) if isinstance(node, ast.Call))
        if any(ast.unparse(call.func) == "algorithm" and file in map(ast.literal_eval, call.args) for call in calls):
            yield name


# --- pages


def write(source):
    """Write the index, the modules' pages in `api` and the plain files' in `api/plain` into the folder `source`."""
    users, names = notebooks_using(), public_names()
    pages = {"api": index(names), "api/bandits_lib.plain": plain_index()}
    pages |= {f"api/{module}": module_page(module, names[module], users) for module in names}
    pages |= {f"api/plain/{file}": plain_page(file) for file in plain_files()}
    (source / "api" / "plain").mkdir(parents=True)
    for page, text in pages.items():
        alone = ":orphan:\n\n" * (page != "api")  # the contents at the left name the index alone
        (source / f"{page}.rst").write_text(alone + text, encoding="utf-8")


def index(names):
    """Return the index: the modules with one sentence each, those of bandits_lib itself and then by package."""
    parts = [title("Reference"), "What ``bandits_lib`` offers, module by module, in the words of its docstrings."]
    root = [module for module in names if "." not in short(module) and module not in GROUPS]
    parts.append(table({module_link(module): first_line(module) for module in [*root, "bandits_lib.plain"]}))
    for group in GROUPS:
        modules = sorted(module for module in names if f"{module}.".startswith(f"{group}."))
        parts += [title(short(group), "-"), first_line(group)]
        parts.append(table({module_link(module): first_line(module) for module in modules}))
    return "\n\n".join(parts) + "\n"


def module_page(module, names, users):
    """Return the page of a module: its docstring, a table of its names with their first lines, and the names."""
    home = importlib.import_module(module)
    rows = {f"`{name} <#{module}.{name}>`__": summary(inspect.getdoc(getattr(home, name))) for name in names}
    parts = [title(short(module)), f".. automodule:: {module}", table(rows)]
    return "\n\n".join([*parts, *(entry(module, name, users) for name in names)]) + "\n"


def entry(module, name, users):
    """Return the directive of one name; the notebooks that use it and its plain version are below its docstring."""
    item = getattr(importlib.import_module(module), name)
    kind = "autoclass" if inspect.isclass(item) else "autofunction" if callable(item) else "autodata"
    lines = [f".. {kind}:: {module}.{name}"] + ["   :members:"] * (kind == "autoclass") + [""]
    if kind != "autodata":
        file = Path(inspect.getsourcefile(inspect.unwrap(item))).relative_to(NOTEBOOKS.parent)
        lines.append(f"   :Source: :download:`{file} </{file}>`")
    if notebooks := users.get(id(item)):
        lines.append(f"   :Used in: {links(notebooks)}")
    if file := plain_version(module, name):
        lines.append(f"   :Plain version: :doc:`bandits_lib/plain/{file}.py </api/plain/{file}>`")
    return "\n".join(lines)


def plain_index():
    """Return the page that lists the plain files with one line each."""
    rows = {f":doc:`{file}.py </api/plain/{file}>`": line for file, (line, _) in plain_files().items()}
    parts = [title("plain"), ".. automodule:: bandits_lib.plain", table(rows)]
    return "\n\n".join(parts) + "\n"


def plain_page(file):
    """Return the page of one plain file, with links to the rules that are played and to the notebooks that show it."""
    played = [f":obj:`~{module}.{name}`" for module, name in rules() if plain_version(module, name) == file]
    parts = [title(f"plain/{file}.py")]
    parts += [f"The plain version of {', '.join(played)}."] * bool(played)
    if notebooks := list(notebooks_showing(file)):
        parts.append(f"Shown in {links(notebooks)}.")
    return "\n\n".join([*parts, f".. literalinclude:: /bandits_lib/plain/{file}.py"]) + "\n"


def rules():
    """Return [(module, name), ...] of the names that can have a plain version."""
    return [(module, name) for module, names in public_names().items() for name in names if short(module) in RULES]


# --- parts of pages


def short(module):
    return module.removeprefix("bandits_lib.")


def title(text, line="="):
    return f"{text}\n{line * len(text)}"


def first_line(module):
    return summary(importlib.import_module(module).__doc__)


def summary(text):
    """Return the first line of a docstring, in which |x| is a length and not a substitution."""
    return (text or "").partition("\n")[0].replace("|", r"\|")


def module_link(module):
    return f":doc:`{short(module)} </api/{module}>`"


def links(notebooks):
    return ", ".join(f":doc:`{name} </notebooks/{name}>`" for name in notebooks)


def table(rows):
    cells = "\n".join(f"   * - {left}\n     - {right}" for left, right in rows.items())
    return f".. list-table::\n   :widths: 30 70\n\n{cells}"
