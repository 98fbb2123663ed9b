"""A command that was written wrongly is told in one line with where to look, as every other error is."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from perfreg_assets.cli import main


def commands(group: click.Group = main, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command and group."""
    for name, one in group.commands.items():
        yield (*path, name)
        if isinstance(one, click.Group):
            yield from commands(one, (*path, name))


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_every_command_and_group_has_an_example_of_it(words: tuple[str, ...]) -> None:
    told = CliRunner().invoke(main, [*words, "--help"], prog_name="perfreg").stdout
    assert f"\n  Example:\n    perfreg {' '.join(words)}" in told


WRONG = {
    ("verdictz",): "perfreg: No such command 'verdictz'. Did you mean 'verdicts'? See perfreg --help",
    ("bench", "compar"): "perfreg: No such command 'compar'. Did you mean 'compare'? See perfreg bench --help",
    (
        "verdicts",
        "--omega",
        "x",
    ): "perfreg: Invalid value for '--omega': 'x' is not a number. See perfreg verdicts --help",
    ("review", "a", "--status", "no"): "perfreg: Invalid value for '--status': 'no' is not one of 'confirmed', "
    "'rejected', 'accepted'. See perfreg review --help",
    ("review",): "perfreg: Missing argument 'RUN_ID'. See perfreg review --help",
    (
        "settings",
        "set",
        "omega=0.5",
        "x",
    ): "perfreg: Invalid value for 'NAME': name and value are two words: omega 0.5. See perfreg settings set --help",
    (
        "settings",
        "set",
        "Omga",
        "2",
    ): "perfreg: Invalid value for 'NAME': 'Omga' is no setting that a warehouse keeps (did you "
    "mean omega?); `perfreg settings list` names them. See perfreg settings set --help",
    ("verdicts", "--by"): "perfreg: Option '--by' requires an argument.",
}


@pytest.mark.parametrize(("words", "line"), WRONG.items(), ids=[" ".join(words) for words in WRONG])
def test_what_is_written_wrongly_is_one_line(words: tuple[str, ...], line: str) -> None:
    done = CliRunner().invoke(main, list(words), prog_name="perfreg")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"{line}\n"


def test_an_option_that_nobody_knows_names_its_likes() -> None:
    done = CliRunner().invoke(main, ["verdicts", "--fromat", "json"], prog_name="perfreg")
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) == 1
    assert "--format" in done.stderr
    assert done.stderr.endswith("See perfreg verdicts --help\n")


def test_a_group_alone_still_shows_what_there_is() -> None:
    done = CliRunner().invoke(main, ["bench"], prog_name="perfreg")
    assert done.exit_code == 2
    assert "import" in done.output
    assert "compare" in done.output
