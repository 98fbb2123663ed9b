"""Suites in XML and TOML: what goes before what, and every mistake with its place."""

from __future__ import annotations

import pytest
from benchmark_suites import SUITE, written

from perfreg_assets.benchmarks.suite import read_suite
from perfreg_assets.reasons import Reason, Rejected

TOML = """
[conf]
launches = 2
isValidating = true

[[benchmark]]
name = "Sorting"
area = "sort"
paramSize = 20000
threads = 2

[[benchmark]]
name = "loop"
runner = "command"
command = ["sh", "a b.sh"]
launches = 7
"""


def refused(path):
    with pytest.raises(Rejected) as caught:
        read_suite(path)
    return caught.value


def test_an_option_goes_before_conf_and_that_before_the_default():
    sorting, digest, loop = read_suite(SUITE).benchmarks
    assert (sorting.name, sorting.area, sorting.runner) == ("Sorting", "sort", "java")
    assert (sorting.options.launches, sorting.options.threads, sorting.options.iterations_min) == (2, 2, 3)
    assert sorting.options.params == {"paramSize": "20000"}
    assert sorting.options.told_params == {"paramSize": "20000", "threads": "2"}
    assert digest.options.params["paramGoldenfile"] == str(SUITE.with_name("digest.txt").resolve())
    assert digest.options.told_params["paramGoldenfile"] == "digest.txt"
    assert loop.options.command == ("sh", "loop.sh")
    assert (loop.options.unit, loop.options.is_validating, loop.options.adequacy_ms) == ("s", False, 1.0)
    over = read_suite(SUITE, {"launches": "9", "paramSize": "3"}).benchmarks[0].options
    assert (over.launches, over.params["paramSize"]) == (9, "3")


def test_toml_says_the_same(tmp_path):
    first, second = read_suite(written(tmp_path, TOML, "suite.toml")).benchmarks
    assert (first.runner, first.area, first.options.threads, first.options.launches) == ("java", "sort", 2, 2)
    assert first.options.is_validating
    assert first.options.params == {"paramSize": "20000"}
    assert (second.options.command, second.options.launches) == (("sh", "a b.sh"), 7)
    xml = """<mttest><conf name="launches" value="2"/><conf name="isValidating" value="true"/>
      <benchmark name="Sorting" area="sort"><option name="paramSize" value="20000"/><option name="threads" value="2"/>
      </benchmark><benchmark name="loop" runner="command"><option name="command" value="sh 'a b.sh'"/>
      <option name="launches" value="7"/></benchmark></mttest>"""
    assert read_suite(written(tmp_path, xml)).benchmarks == (first, second)


@pytest.mark.parametrize(
    ("body", "reason", "word"),
    [
        ('\n<benchmark name="A"><option name="thread" value="2"/></benchmark>', Reason.SUITE_UNKNOWN_OPTION, "line 2"),
        ('<benchmark name="A"><option name="thread" value="2"/></benchmark>', Reason.SUITE_UNKNOWN_OPTION, "threads"),
        ('<benchmark name="A" kind="x"/>', Reason.SUITE_UNKNOWN_OPTION, "'kind'"),
        ('<benchmark name="A" runner="jawa"/>', Reason.SUITE_VALUE, "did you mean java"),
        ('<benchmark name="A"><option name="threads" value="0"/></benchmark>', Reason.SUITE_VALUE, "1 to 1024"),
        ('<benchmark name="A"><option name="threads" value="two"/></benchmark>', Reason.SUITE_VALUE, "'two'"),
        ('<benchmark name="A"><option name="measure_s" value="nan"/></benchmark>', Reason.SUITE_VALUE, "a number"),
        ('<benchmark name="A"><option name="unit" value="h"/></benchmark>', Reason.SUITE_VALUE, "s or ms"),
        (
            '<benchmark name="A"><option name="isValidating" value="1"/></benchmark>',
            Reason.SUITE_VALUE,
            "true or false",
        ),
        ('<benchmark name="A" runner="command"/>', Reason.SUITE_VALUE, "needs the option command"),
        (
            '<benchmark name="A"><option name="paramGoldenfile" value="none.txt"/></benchmark>',
            Reason.SUITE_PATH,
            "not there",
        ),
        ('<benchmark name="A"><option name="paramGoldenfile" value="../x"/></benchmark>', Reason.SUITE_PATH, "leaves"),
        (
            '<benchmark name="A"><option name="paramGoldenfile" value="/etc/passwd"/></benchmark>',
            Reason.SUITE_PATH,
            "leaves",
        ),
        ("<benchmark/>", Reason.SUITE_UNREADABLE, "no name"),
        ("<option/>", Reason.SUITE_UNREADABLE, "no place"),
        ("", Reason.SUITE_UNREADABLE, "no benchmark"),
        ("<benchmark", Reason.SUITE_UNREADABLE, "line 1"),
    ],
)
def test_mistakes_are_refused_with_their_place(tmp_path, body, reason, word):
    path = written(tmp_path, f"<mttest>{body}</mttest>")
    found = refused(path)
    assert found.reason is reason
    assert word in str(found)
    assert str(path) in str(found)


def test_an_encoding_that_is_not_read_is_named(tmp_path):
    path = written(tmp_path, '<?xml version="1.0" encoding="gbk"?><mttest><benchmark name="A"/></mttest>')
    found = refused(path)
    assert found.reason is Reason.SUITE_UNREADABLE
    assert f"{path}, line 1: its encoding" in str(found)


def test_no_entities_are_declared(tmp_path):
    bomb = '<!DOCTYPE mttest [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><mttest><benchmark name="&b;"/></mttest>'
    assert "declares no document type" in str(refused(written(tmp_path, bomb)))


@pytest.mark.parametrize(
    ("text", "reason", "word"),
    [
        ("[conf", Reason.SUITE_UNREADABLE, "suite.toml"),
        ("[konf]\nx = 1", Reason.SUITE_UNKNOWN_OPTION, "did you mean conf"),
        ("conf = 3\n[[benchmark]]\nname = 'A'", Reason.SUITE_UNREADABLE, "table"),
        ("[[benchmark]]\narea = 'x'", Reason.SUITE_UNREADABLE, "benchmark 1 has no name"),
        ("[[benchmark]]\nname = 'A'\nthreads = {a = 1}", Reason.SUITE_VALUE, "threads"),
        ("[[benchmark]]\nname = 'A'\nthreads = 2.5", Reason.SUITE_VALUE, "'2.5'"),
    ],
)
def test_mistakes_in_toml(tmp_path, text, reason, word):
    found = refused(written(tmp_path, text, "suite.toml"))
    assert found.reason is reason
    assert word in str(found)


def test_a_suite_that_is_not_there(tmp_path):
    assert refused(tmp_path / "none.xml").reason is Reason.SUITE_UNREADABLE
