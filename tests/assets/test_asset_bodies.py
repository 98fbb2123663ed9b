"""An asset says what it is, calls the model and tells what came of it: its body is short."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import perfreg_assets.assets

LONGEST = 40
FILES = sorted(Path(perfreg_assets.assets.__file__).parent.glob("*.py"))


def body_lines(node):
    """Lines from the first statement behind the docstring to the last."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_function_of_the_assets_has_more_than_forty_lines(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            assert body_lines(node) <= LONGEST, f"{path.name}: {node.name} has {body_lines(node)} lines"


def test_lines_are_counted_behind_the_docstring():
    (node,) = ast.parse('def f():\n    """Two\n    lines."""\n    x = 1\n\n    return x\n').body
    assert body_lines(node) == 3
