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


def exported(module, names):
    """Yield (name, object) of the public functions and classes of a module, and of the public methods of classes."""
    for name in names:
        item = getattr(importlib.import_module(module), name)
        yield name, item
        for key, value in vars(item).items() if inspect.isclass(item) else ():
            if inspect.isfunction(value) and not key.startswith("_"):
                yield f"{name}.{key}", value


each_module = pytest.mark.parametrize(("module", "names"), public_names().items(), ids=public_names())


def faults(item):
    """What numpydoc finds in the docstring of an object."""
    function, passed = plain(item), set()
    if hasattr(item, "_fields"):  # a NamedTuple has attributes in place of parameters
        passed = {"PR01", "PR02"}
    if inspect.isgeneratorfunction(function):  # numpydoc refuses Returns beside Yields
        passed = {"RT01"}
    return [fault for fault in validate(get_doc_object(function))["errors"] if fault[0] in DESCRIBED - passed]


@each_module
def test_every_name_is_described(module, names):
    assert not {name: found for name, item in exported(module, names) if (found := faults(item))}


def lacking(item):
    """The parameters, and the result, that have no annotation."""
    function = plain(vars(item).get("__init__", item)) if inspect.isclass(item) else plain(item)
    if not inspect.isfunction(function):
        return set()
    signature = inspect.signature(function)
    found = {name for name, given in signature.parameters.items() if given.annotation is given.empty}
    result = signature.return_annotation is signature.empty and not inspect.isclass(item)
    return (found | {"return"} if result else found) - {"self", "cls"}


@each_module
def test_every_name_is_annotated(module, names):
    assert not {name: found for name, item in exported(module, names) if (found := lacking(item))}
