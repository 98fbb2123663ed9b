"""README, docs/ and CHANGELOG.md say what is there: links, commands, queries, variables and the table of series."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from perfreg_assets.catalogue import SERIES
from perfreg_assets.cli import main
from perfreg_assets.collection import run_json
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import dictionary
from perfreg_assets.warehouse.connection import Warehouse

sys.path.insert(0, str(Path(__file__).parent / "warehouse"))

import sample_warehouse

ROOT = Path(__file__).parents[1]
PAGES = {
    page.relative_to(ROOT).as_posix(): page.read_text("utf-8")
    for page in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")))
}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def fences(text: str, *languages: str) -> list[str]:
    return [body for language, body in FENCE.findall(text) if language in languages]


def inline(text: str) -> list[str]:
    """What stands in single backticks, line breaks as blanks."""
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", FENCE.sub("", text))]


def anchors(text: str) -> set[str]:
    """Of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(text: str) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", text))


def broken(page: Path, text: str) -> list[str]:
    """Relative links that lead nowhere."""
    found = []
    for link in links(text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        is_there = target.exists() and target.is_relative_to(ROOT)
        if not is_there or (anchor and anchor not in anchors(target.read_text("utf-8"))):
            found.append(link)
    return found


def simple_commands(script: str) -> Iterator[list[str]]:
    """The words of each command of a shell script, without what is set before it and where its output goes."""
    script = re.sub(r"(?m)(^|\s)#\s.*$", "", script).replace("\\\n", " ")
    lexer = shlex.shlex(script, posix=True, punctuation_chars=";&|<>\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    words: list[str] = []
    is_target = False
    for token in [*lexer, "\n"]:
        if token and set(token) <= set(";&|<>\n"):
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0], re.DOTALL):
                del words[0]
            if words and not is_target:
                yield words
            words, is_target = [], ">" in token
        else:
            words.append(token)


def commands(script: str) -> Iterator[list[str]]:
    """The arguments of each `perfreg …` of a shell script."""
    yield from (words[1:] for words in simple_commands(script) if Path(words[0]).name == "perfreg")


def problem(arguments: list[str]) -> str | None:
    """Why the command line refuses these arguments; files that they name need not be there."""
    one: click.Command = main
    while isinstance(one, click.Group):
        if arguments and any(arguments[0] in parameter.opts for parameter in one.params):  # --version
            return None
        if not arguments or arguments[0] not in one.commands:
            return f"there is no command {arguments[0] if arguments else ''!r}"
        one, arguments = one.commands[arguments[0]], arguments[1:]
    for parameter in one.params:
        if isinstance(parameter.type, click.Path):
            parameter.type.exists = False
    try:
        one.make_context(one.name, list(arguments))
    except click.UsageError as error:
        return error.format_message()
    return None


@pytest.fixture(autouse=True)
def _paths_are_checked_again():
    """`problem` does without the check that files are there; other tests get it back."""
    kept = [
        (parameter.type, parameter.type.exists)
        for one in every_command(main)
        for parameter in one.params
        if isinstance(parameter.type, click.Path)
    ]
    yield
    for kind, exists in kept:
        kind.exists = exists


def every_command(group: click.Group) -> Iterator[click.Command]:
    for one in group.commands.values():
        if isinstance(one, click.Group):
            yield from every_command(one)
        else:
            yield one


SCRIPTS = [
    (page, arguments) for page, text in PAGES.items() for body in fences(text, "sh") for arguments in commands(body)
]


@pytest.mark.parametrize("page", PAGES)
def test_relative_links_lead_somewhere(page):
    assert broken(ROOT / page, PAGES[page]) == []


def test_every_page_can_be_reached_from_readme():
    linked = {link.partition("#")[0] for link in links(PAGES["README.md"])}
    assert set(PAGES) - {"README.md"} <= linked


@pytest.mark.parametrize(("page", "arguments"), SCRIPTS, ids=lambda part: part if isinstance(part, str) else part[0])
def test_commands_are_taken_as_they_are_shown(page, arguments):
    assert problem(arguments) is None, f"{page}: perfreg {shlex.join(arguments)}"


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_options_that_the_text_names_exist(page):
    """Within the text a command may lack its arguments, and `…` stands for some."""
    known = {name for one in every_command(main) for parameter in one.params for name in parameter.opts}
    wrong = []
    for code in inline(PAGES[page]):
        words = [word for word in code.split() if word != "…"]
        if code.startswith("perfreg "):
            refusal = problem(shlex.split(" ".join(words[1:]))) if len(words) > 1 else None
            if refusal and not refusal.startswith(("Missing", "Option '--")):
                wrong.append(f"{code}: {refusal}")
        elif code.startswith("--") and words[0].partition("=")[0] not in known:
            wrong.append(code)
    assert wrong == []


@pytest.mark.parametrize("page", PAGES)
def test_variables_are_parameters(page):
    variables = {row["variable"] for row in Settings.describe()}
    assert set(re.findall(r"PERFREG_[A-Z_]+", PAGES[page])) <= variables


@pytest.mark.parametrize("page", [page for page in PAGES if fences(PAGES[page], "sh")])
def test_shell_blocks_are_shell_and_name_files_that_are_there(page):
    """Of all commands, also those that are not perfreg's: pip, docker, helm, python."""
    for body in fences(PAGES[page], "sh"):
        done = subprocess.run(["bash", "-n"], input=body, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), body
        named = re.findall(r"(?<![\w./~-])(?:deploy|tests|sql|docs|\.ci)/[\w./-]+\w", body)
        assert [one for one in named if not (ROOT / one).exists()] == []


def test_json_blocks_are_json_and_that_of_a_run_is_one():
    bodies = [body for text in PAGES.values() for body in fences(text, "json")]
    blocks = [json.loads(body if body[0] in "{[" else f"{{{body}}}") for body in bodies]  # some show one key
    runs = [one for one in blocks if "trace" in one and "app" in one]
    assert runs
    for one in runs:
        run_json.read(one, "run.json", path_max_steps=10)


def test_queries_run(tmp_path):
    warehouse = tmp_path / "perfreg.duckdb"
    sample_warehouse.build(warehouse, runs=8, samples=20)
    queries = {
        (ROOT / arguments[2]).read_text("utf-8") if arguments[1] == "--file" else arguments[1]
        for _, arguments in SCRIPTS
        if arguments[0] == "sql"
    }
    assert len(queries) >= 5
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        for query in queries:
            reader.rows(query)


def test_all_examples_are_listed():
    shown = set(re.findall(r"\.\./sql/examples/([\w.]+)", PAGES["docs/sql.md"]))
    there = {path.name for path in (ROOT / "sql" / "examples").glob("*.sql")}
    assert shown == there
    assert len(there) == 23  # README and docs/sql.md say twenty-three


def test_readme_holds_the_two_one_line_commands():
    lines = [line for line in PAGES["README.md"].splitlines() if re.match(r"python3 -m venv \.venv && ", line)]
    assert [line.rpartition(" && ")[2] for line in lines] == [".venv/bin/perfreg demo", ".venv/bin/pytest"]


def test_the_dictionary_is_that_of_this_release(tmp_path):
    warehouse = tmp_path / "perfreg.duckdb"
    sample_warehouse.build(warehouse, runs=1, samples=5)
    with Warehouse(warehouse, lock_timeout_s=5).reading() as reader:
        assert dictionary.markdown(reader) == PAGES["docs/dictionary.md"], "perfreg dictionary > docs/dictionary.md"


def test_what_doctor_is_shown_to_say_of_the_schema_is_what_it_says_now():
    last = max(int(path.name[:4]) for path in (ROOT / "sql" / "migrations").glob("*.sql"))
    assert re.findall(r"schema version (\d+)", PAGES["docs/operating.md"]) == [str(last)]


def judged(one):
    return "yes" if one.is_judged else "where recorded" if one.is_judged_where_recorded else ""


def test_what_the_table_of_series_says_is_what_the_catalogue_says():
    """A series that is new is in marts.series_catalogue at once; the page may follow, but says nothing else of it."""
    told = {
        f"| `{one.name}` | {one.unit} | {one.axis} | {one.kind} | {one.worse} | "
        f"{' '.join(f'`{source}`' for source in one.sources)} | {judged(one)} | {one.description} |"
        for one in SERIES
    }
    shown = [line for line in PAGES["docs/series.md"].splitlines() if line.startswith("| `")]
    assert len(shown) > 20
    assert [line for line in shown if line not in told] == []


@pytest.mark.parametrize(
    ("script", "word"),
    [
        ("perfreg verdict", "no command 'verdict'"),
        ("A=1 perfreg verdicts --omegas 1", "--omegas"),
        ("ls && perfreg verdicts --format xml > out", "xml"),
        ("perfreg exclude notes-015", "--reason"),
        ("perfreg settings set speed 3", "speed"),
    ],
)
def test_this_test_sees_a_wrong_command(script, word):
    (arguments,) = commands(script)
    assert word in str(problem(arguments))


def test_this_test_sees_a_broken_link():
    text = "[a](docs/series.md) [b](docs/none.md) [c](docs/series.md#none) [d](#none) [e](https://perfetto.dev)"
    assert broken(ROOT / "README.md", text) == ["docs/none.md", "docs/series.md#none", "#none"]
