"""What a command writes where somebody told it to: there with all that is in it, or as it was before."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from perfreg_assets import figures
from perfreg_assets.cli import main
from tests.soak.small_disk import CannotMountError, small_disk

PACKAGE = Path(__file__).parents[1] / "perfreg_assets"
SLOW = str(Path(__file__).parent / "data" / "call-logs" / "calllog_small_slow.txt.gz")


@pytest.fixture
def disk(tmp_path):
    """A folder without room: a file is begun, and does not fit."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        with small_disk(tmp_path / "disk", 1) as made:
            made.fill(0)
            yield made
    except CannotMountError as error:
        pytest.skip(f"cannot mount a small file system: {error}")


def files(folder):
    return sorted(one.name for one in folder.iterdir() if one.name != ".ballast")


def impact(page):
    return CliRunner().invoke(main, ["impact", "lotlevelholdings217", "--log", SLOW, "--html", str(page)])


def test_a_page_for_which_there_is_no_room_is_not_half_written(disk):
    page = disk.folder / "page.html"
    told = impact(page)
    assert told.exit_code == 1
    assert f"no room in {disk.folder}: The disk is full" in told.stderr
    assert files(disk.folder) == []
    disk.free()
    assert impact(page).exit_code == 0
    assert page.read_text().endswith("</html>")


def test_the_page_that_was_there_stays(disk):
    page = disk.folder / "page.html"
    disk.free()
    page.write_text("before")
    disk.fill(0)
    assert impact(page).exit_code == 1
    assert (files(disk.folder), page.read_text()) == (["page.html"], "before")


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_no_half_of_a_picture(disk, suffix):
    figure = figures.blank(5, 5)
    figure.add_subplot().plot(range(100))
    with pytest.raises(Exception, match="The disk is full"):
        figures.write(figure, disk.folder / f"picture.{suffix}")
    assert files(disk.folder) == []


def test_a_link_leads_to_what_is_written_and_a_device_is_written_to(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "page.html"
    link.symlink_to(tmp_path / "elsewhere" / "page.html")
    assert impact(link).exit_code == 0
    assert link.is_symlink()
    assert link.read_text().endswith("</html>")
    null = Path(os.devnull)
    assert impact(null).exit_code == 0
    assert null.is_char_device()


def test_commands_write_files_in_no_other_way():
    found = [
        f"{path.name}:{node.lineno}"
        for path in (*(PACKAGE / "cli").rglob("*.py"), PACKAGE / "figures.py", PACKAGE / "warehouse" / "otava.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (node.func.attr in ("write_text", "write_bytes") or _opens_to_write(node))
    ]
    assert found == []


def _opens_to_write(call):
    modes = [*call.args, *(one.value for one in call.keywords if one.arg == "mode")]
    return call.func.attr == "open" and any(
        isinstance(one, ast.Constant) and str(one.value)[:1] in ("w", "x") for one in modes
    )
