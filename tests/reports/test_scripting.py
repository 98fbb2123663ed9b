"""The pages' scripts, put together from modules."""

from __future__ import annotations

import re

import pytest

from perfreg_assets.reports.scripting import ENTRIES, bundle, bundles, sources

MODULES = {
    "page": 'import { b as other } from "./middle.js";\nimport { a } from "./deep.js";\nother(a);\n',
    "middle": 'import { a } from "./deep.js";\nexport const b = (x) => x + a;\n',
    "deep": "let own = 1;\nexport const a = own;\nexport async function later() {}\n",
}


def test_a_module_stands_once_and_behind_what_it_imports():
    script = bundle("page", MODULES)
    assert re.findall(r"^const (\$_\w+) = ", script, re.MULTILINE) == ["$_deep", "$_middle", "$_page"]
    assert "const { b: other } = $_middle;" in script
    assert "return { a, later };" in script
    assert script.startswith("(() => {")
    assert script == bundle("page", dict(reversed(MODULES.items())))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"deep": 'import { b } from "./middle.js";\nexport const a = b;\n'}, "page → middle → deep → middle"),
        ({"deep": "const a = 1;\n"}, "middle.js imports a of deep.js, which does not export it"),
        ({"middle": 'import x from "./deep.js";\n'}, "middle.js: not understood: import x"),
        ({"middle": "export default 1;\n"}, "middle.js: not understood: export default"),
        ({"middle": 'export { a } from "./deep.js";\n'}, "not understood"),
        ({"middle": 'import { a } from "./gone.js";\n'}, "middle imports gone.js, which is not there"),
    ],
)
def test_what_is_not_understood_is_refused(change, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        bundle("page", {**MODULES, **change})


def test_every_module_is_part_of_a_page():
    everything = "".join(bundles().values())
    assert {f"{entry}.js" for entry in ENTRIES} == set(bundles())
    for name in sources():
        assert f"const $_{name.replace('-', '_')} = " in everything, name
