"""Pages are the same from templates that another process compiled; where these cannot be kept, they are compiled."""

from __future__ import annotations

import jinja2
import pytest

from perfreg_assets.reports import templating


@pytest.fixture(autouse=True)
def anew(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    templating._environment.cache_clear()
    yield
    templating._environment.cache_clear()


def _rendered() -> str:
    templating._environment.cache_clear()
    environment = templating._environment()
    environment.loader = jinja2.DictLoader({"page.html": "{% for one in ones %}<p>{{ one | number }}</p>{% endfor %}"})
    return templating.render("page.html", {"ones": [1, 2]})


def test_a_second_process_compiles_nothing(monkeypatch, tmp_path):
    first = _rendered()
    assert list((tmp_path / "cache" / "templates").glob("*.cache"))

    def refused(*_args, **_named):
        raise AssertionError("compiled again")

    monkeypatch.setattr(jinja2.Environment, "compile", refused)
    assert _rendered() == first


def test_another_source_is_another_template(tmp_path):
    _rendered()
    templating._environment.cache_clear()
    environment = templating._environment()
    environment.loader = jinja2.DictLoader({"page.html": "other"})
    assert templating.render("page.html", {}) == "other"


def test_what_cannot_be_kept_is_compiled_each_time(monkeypatch, tmp_path, caplog):
    def full(*_args, **_named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(jinja2.FileSystemBytecodeCache, "dump_bytecode", full)
    assert _rendered() == _rendered()
    assert "No space left" in caplog.text


def test_no_folder_is_no_cache(tmp_path, caplog):
    (tmp_path / "cache").rmdir()
    (tmp_path / "cache").write_text("a file")
    assert "<p>" in _rendered()
    assert "cannot be kept" in caplog.text
