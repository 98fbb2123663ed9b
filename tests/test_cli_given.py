"""What no option takes: an empty name, a number that is none, a time that is none; in whatever command."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from perfreg_assets.cli import main
from perfreg_assets.cli.given import ANY_TEXT

EMPTY = [
    ("profiles", "add", "profile.xml", "--device", ""),
    ("profiles", "remove", ""),
    ("verdicts", "--app", ""),
    ("verdicts", "--app-version", " "),
    ("import", "traces", "--app", "com.rig.shop", "--app-version", "1", "--scenario", ""),
    ("import", "traces", "--app", "com.rig.shop", "--app-version", ""),
    ("import", "traces", "--app", "com.rig.shop", "--app-version", "1", "--device", " "),
    ("import", "traces", "--app", "com.rig.shop", "--app-version", "1", "--pattern", ""),
    ("import", "", "--app", "com.rig.shop", "--app-version", "1"),
    ("ingest", ""),
    ("inspect", ""),
    ("causes", "--log", "calls.txt", "--template", ""),
    ("compare", "", "b"),
    ("compare", "a", "b", "--scenario", ""),
    ("review", "", "--status", "confirmed"),
    ("review", "a", "--status", "confirmed", "--reviewer", ""),
    ("exclude", "a", "--reason", " "),
    ("settings", "set", "omega", "1", "--who", ""),
    ("bench", "import", ".", "--app", ""),
    ("reduce", "long.pftrace", "--out", ""),
    ("export", "parquet", "marts", "--mart", ""),
]
NO_NUMBERS = [
    ("import", "traces", "--app", "com.rig.shop", "--app-version", "1", "--time-limit"),
    ("reevaluate", "--level"),
    ("reduce", "long.pftrace", "--out", "kept", "--window"),
    ("archive", "--days"),
    ("causes", "a", "--window", "9"),
]


def run(*arguments, tmp_path):
    return CliRunner().invoke(main, [*arguments, "--warehouse", str(tmp_path / "none.duckdb")])


def commands(group=main):
    for one in group.commands.values():
        yield from commands(one) if isinstance(one, click.Group) else [one]


@pytest.mark.parametrize("arguments", EMPTY, ids=" ".join)
def test_a_name_that_is_empty_is_an_error_that_says_which(arguments, tmp_path):
    told = run(*arguments, tmp_path=tmp_path)
    assert told.exit_code == 2
    (sentence,) = told.stderr.splitlines()
    option = arguments[-2] if arguments[-2].startswith("--") and not arguments[-1].strip() else ""
    assert sentence.startswith(f"perfreg: Invalid value for '{option}")
    assert ": it is empty; name it" in sentence


def test_every_name_and_path_of_every_command_is_looked_at():
    kinds = (click.types.StringParamType, click.Path, click.FloatRange, click.types.FloatParamType)
    unseen = {
        (one.name, param.name)
        for one in commands()
        for param in one.params
        if type(param.type) in kinds and param.type is not ANY_TEXT
    }
    assert unseen == set()


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", ""])
@pytest.mark.parametrize("arguments", NO_NUMBERS, ids=lambda given: f"{given[0]} {given[-1]}")
def test_a_number_that_is_none_is_named_with_its_option(arguments, value, tmp_path):
    told = run(*arguments, value, tmp_path=tmp_path)
    assert told.exit_code == 2
    option = [one for one in arguments if one.startswith("--")][-1]
    assert f"Invalid value for '{option}': " in told.stderr


@pytest.mark.parametrize("value", ["0", "-1"])
def test_a_time_limit_is_above_0(value, tmp_path):
    told = run(*NO_NUMBERS[0], value, tmp_path=tmp_path)
    assert "Invalid value for '--time-limit': " in told.stderr


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("yesterday", "'yesterday' is no time as 2026-11-20T09:12:00Z"),
        ("2026-11-20T09:12:00", "has no time zone, a trailing Z for UTC"),
        ("9999-12-31T23:59:59-14:00", "is in none of the years 1 to 9999 in UTC"),
    ],
)
@pytest.mark.parametrize("command", [("import", "."), ("bench", "import", ".")], ids=" ".join)
def test_a_time_that_is_none_is_told_of_the_option_and_of_no_file(command, value, sentence, tmp_path):
    told = run(*command, "--app", "com.rig.shop", "--app-version", "1", "--started-at", value, tmp_path=tmp_path)
    assert told.exit_code == 2
    assert "Invalid value for '--started-at': " in told.stderr
    assert sentence in told.stderr
    assert "benchmark.json" not in told.stderr


PICTURES = [("power", "--app", "com.rig.shop"), ("evaluate", ".")]


@pytest.mark.parametrize("name", ["curve.xyz", "curve.json", "png.d/curve.7", "curve.jpg"])
@pytest.mark.parametrize("command", PICTURES, ids=" ".join)
def test_a_picture_of_no_known_kind_is_told_of_the_option_before_anything_is_measured(command, name, tmp_path):
    told = run(*command, "--picture", str(tmp_path / name), tmp_path=tmp_path)
    assert told.exit_code == 2
    (sentence,) = told.stderr.splitlines()
    assert sentence.startswith(f"perfreg: Invalid value for '--picture': {tmp_path / name} is no name of a picture")
    assert "end it in .png, .svg or .pdf" in sentence


@pytest.mark.parametrize("name", ["curve.png", "curve.SVG", "curve", "curve.pdf"])
@pytest.mark.parametrize("command", PICTURES, ids=" ".join)
def test_a_picture_of_a_known_kind_is_no_error_of_the_option(command, name, tmp_path):
    assert "--picture" not in run(*command, "--picture", str(tmp_path / name), tmp_path=tmp_path).stderr


def test_blanks_around_a_name_are_none_of_it():
    """`--app "$(cat app.txt)"`, where the file has the line ends of another system."""
    (param,) = [one for one in main.commands["import"].params if one.name == "app"]
    assert param.type.convert(" com.rig.shop\r\n", param, None) == "com.rig.shop"
    (template,) = [one for one in main.commands["causes"].params if one.name == "template_text"]
    assert template.type.convert("{method} took ", template, None) == "{method} took ", "there they count"
