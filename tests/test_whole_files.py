"""Files that are there as a whole, or as they were."""

import errno
import os
import stat
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from perfreg_assets.model.places_health import _SCRATCH
from perfreg_assets.whole_files import whole_file, write_whole


@pytest.mark.parametrize("is_durable", [True, False])
def test_takes_the_place_when_the_block_ends(tmp_path: Path, is_durable: bool) -> None:
    path = tmp_path / "page"
    path.write_bytes(b"before")
    with whole_file(path, is_durable=is_durable) as file:
        file.write(b"half, ")
        file.flush()
        assert path.read_bytes() == b"before"
        file.write(b"whole")
    assert path.read_bytes() == b"half, whole"
    assert os.listdir(tmp_path) == ["page"]


def test_nothing_happened_where_the_block_raises(tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_bytes(b"before")

    def interrupted() -> None:
        with whole_file(path, is_durable=True) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["page"]


def test_a_disk_that_is_full_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "page"
    path.write_bytes(b"before")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"after", is_durable=True)
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["page"]


def test_what_a_killed_process_leaves_tells_whose_it_was(tmp_path: Path) -> None:
    program = """
        import os, signal, sys
        from pathlib import Path
        from perfreg_assets.whole_files import whole_file
        with whole_file(Path(sys.argv[1]), is_durable=True) as file:
            file.write(b"half")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    path = tmp_path / "page"
    path.write_bytes(b"before")
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program), str(path)])
    assert process.wait() == -9
    assert path.read_bytes() == b"before"
    (left,) = set(os.listdir(tmp_path)) - {"page"}
    found = _SCRATCH.search(left)
    assert left.startswith(".page.")
    assert found is not None
    assert str(process.pid) in found.groups()


def test_a_missing_folder_is_an_error_and_stays_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "missing" / "page", b"", is_durable=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["n" * 255, "ж" * 127, "😀" * 63])
def test_names_as_long_as_a_file_system_allows(tmp_path: Path, name: str) -> None:
    write_whole(tmp_path / name, b"x", is_durable=False)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_permissions_are_as_said_whatever_the_umask(tmp_path: Path, mode: int) -> None:
    before = os.umask(0o077)
    try:
        write_whole(tmp_path / "page", b"", is_durable=False, mode=mode)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "page").stat().st_mode) == mode


def test_writers_at_once_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "page"
    contents = [bytes([number]) * 200_000 for number in range(16)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda content: write_whole(path, content, is_durable=False), contents))
    assert path.read_bytes() in contents
    assert os.listdir(tmp_path) == ["page"]
