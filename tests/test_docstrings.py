"""Every name that the site's reference lists describes its parameters and what it returns, and has annotations.

`make lint` holds all docstrings to the rules of pyproject.toml, and pytest runs their examples. Other functions need
neither a list of parameters nor annotations.
"""

import importlib
import inspect

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate
from reference import public_names

DESCRIBED = {"GL08", "PR01", "PR02", "RT01"}  # numpydoc's codes: a docstring, all parameters and no other, the return


def plain(item):
    """The Python function behind a compiled or wrapped one."""
    return inspect.unwrap(getattr(item, "py_func", item))


def exported():
    """{dotted name: object} of every public function and class, and of the public methods of classes."""
    for module, names in public_names().items():
        for name in names:
            item = getattr(importlib.import_module(module), name)
            yield f"{module}.{name}", item
            for key, value in vars(item).items() if inspect.isclass(item) else ():
                if inspect.isfunction(value) and not key.startswith("_"):
                    yield f"{module}.{name}.{key}", value


EXPORTED = dict(exported())


@pytest.mark.parametrize("item", EXPORTED.values(), ids=EXPORTED)
def test_it_is_described(item):
    function, passed = plain(item), set()
    if hasattr(item, "_fields"):  # a NamedTuple has attributes in place of parameters
        passed = {"PR01", "PR02"}
    if inspect.isgeneratorfunction(function):  # numpydoc refuses Returns beside Yields
        passed = {"RT01"}
    doc = get_doc_object(function)
    assert not [fault for fault in validate(doc)["errors"] if fault[0] in DESCRIBED - passed]


@pytest.mark.parametrize("item", EXPORTED.values(), ids=EXPORTED)
def test_it_is_annotated(item):
    function = plain(vars(item).get("__init__", item)) if inspect.isclass(item) else plain(item)
    if inspect.isfunction(function):
        signature = inspect.signature(function)
        lacking = [name for name, given in signature.parameters.items() if given.annotation is given.empty]
        lacking += ["return"] * (signature.return_annotation is signature.empty and not inspect.isclass(item))
        assert set(lacking) <= {"self", "cls"}
