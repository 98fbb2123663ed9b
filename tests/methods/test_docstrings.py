"""Whoever calls the numerics reads shapes and errors beside the name, not in the body."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import perfreg_assets.methods

ARRAYS = re.compile(r"Floats|NDArray|ArrayLike")
SHAPE = re.compile(r"\([a-z_…]+(?: [+-] [a-z0-9 +-]+)?,[ a-z0-9_]*\)|`[a-z_]+`")
FILES = sorted(Path(perfreg_assets.methods.__file__).parent.glob("*.py"))


def public_functions(tree):
    """(name, node) of the functions and methods that other modules may call."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from ((f"{node.name}.{name}", inner) for name, inner in public_functions(node))
        elif isinstance(node, ast.FunctionDef) and (not node.name.startswith("_") or node.name == "__init__"):
            yield node.name, node


def is_kernel(node):
    return any("njit" in ast.unparse(decorator) for decorator in node.decorator_list)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_public_functions_say_what_they_take_and_raise(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    for name, node in public_functions(tree):
        text = ast.get_docstring(node) or ""
        # What a constructor takes is told by its class.
        assert text or name.endswith("__init__"), f"{path.name}: {name} has no docstring"
        raises = [inner for inner in ast.walk(node) if isinstance(inner, ast.Raise) and inner.exc is not None]
        assert not raises or "Raises" in text, f"{path.name}: {name} raises and does not say so"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_arrays_are_given_with_their_shape(path):
    """Wherever a signature has arrays, the docstring has a shape: (n,), (k, d), k of (n_i,) …; kernels have theirs in
    the module's."""
    for name, node in public_functions(ast.parse(path.read_text(encoding="utf-8"))):
        annotated = [argument.annotation for argument in node.args.args + node.args.kwonlyargs] + [node.returns]
        has_array = any(one is not None and ARRAYS.search(ast.unparse(one)) for one in annotated)
        if has_array and not is_kernel(node) and not name.endswith("__init__"):
            assert SHAPE.search(ast.get_docstring(node) or ""), f"{path.name}: {name} names no shape"
