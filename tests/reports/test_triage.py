"""Reviews and ω on the pages: only a form of an own page changes anything, and it is said before what it changes."""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from html import unescape
from urllib.parse import urlencode

import pytest

from perfreg_assets.cli import servers
from perfreg_assets.model.freshness import told_now
from perfreg_assets.model.review_effects import effect_of
from perfreg_assets.process_life import is_alive
from perfreg_assets.reports import review_wording, triage
from perfreg_assets.reports.serve import serve
from perfreg_assets.reports.settling import Settling
from perfreg_assets.reports.triage import Triage
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import reviews, settings_table
from perfreg_assets.warehouse.lock import file_lock
from tests.reports.triage_server import QUICK, Answer, Desk, desk_of

FOREIGN = "https://evil.example"
FORM = "application/x-www-form-urlencoded"
OPEN = (
    "SELECT run_id FROM marts.runs WHERE run_verdict = 'anomalous' AND review_status IS NULL "
    "ORDER BY started_at DESC, run_id DESC"
)
STATE = (
    "SELECT (SELECT list((run_id, status, note, reviewer) ORDER BY reviewed_at, run_id) FROM core.reviews), "
    "(SELECT list((name, value) ORDER BY changed_at, name) FROM core.settings)"
)
NAUGHTY = "</textarea><script>alert(1)</script>\"'&\u202e"


@pytest.fixture
def desk(own_sample) -> Iterator[Desk]:
    with desk_of(own_sample) as found:
        yield found


def text_of(answer: Answer) -> str:
    """What a reader of the page reads."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", answer[2].decode())))


def desk_triage(desk: Desk, *, may_change: bool) -> Triage:
    return Triage(desk.settings, lambda *_: pytest.fail("nobody asks"), desk.settling if may_change else None)


def open_runs(desk: Desk) -> list[str]:
    return [run_id for (run_id,) in desk.rows(OPEN)]


def settled(desk: Desk) -> None:
    deadline = time.monotonic() + 60
    while desk.settling.state.is_running:
        assert time.monotonic() < deadline
        time.sleep(0.02)


CHANGES = {
    "confirmed": ("/review", {"status": "confirmed"}),
    "rejected": ("/review", {"status": "rejected"}),
    "accepted": ("/review", {"status": "accepted"}),
    "withdrawn": ("/review", {"status": "withdrawn"}),
    "omega": ("/omega", {"omega": "0.25"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_no_change_gets_through_from_elsewhere(desk, change):
    path, fields = CHANGES[change]
    run_id = open_runs(desk)[0]
    if change == "withdrawn":
        with desk.warehouse.writing() as writer:
            reviews.add(writer, run_id, "rejected")
    if path == "/review":
        fields = {"run": run_id, **fields}
    before, query = desk.rows(STATE), urlencode(fields)
    body, token, cookie = query.encode(), {"x_perfreg_token": desk.token}, {"cookie": desk.cookie}
    form, chunked = {"content_type": FORM}, f"{len(body):x}\r\n{query}\r\n0\r\n\r\n".encode()
    refused = [
        desk.send(path, fields, origin=FOREIGN),
        desk.send(path, fields, origin="null"),  # a frame in a sandbox, a page from a file
        desk.send(path, fields, origin=f"http://127.0.0.1:{desk.port + 1}"),  # the same site to a browser
        desk.send(path, fields, origin=f"https://127.0.0.1:{desk.port}"),
        desk.send(path, fields, origin=f"http://localhost:{desk.port}"),  # Perfetto's UI
        desk.send(path, fields, origin=f"http://localhost:{desk.port}", host=f"localhost:{desk.port}"),
        desk.send(path, fields, origin=FOREIGN, **token),
        desk.send(path, fields, host=f"evil.example:{desk.port}"),  # rebound
        desk.send(path, fields, host=f"evil.example:{desk.port}", origin=f"http://evil.example:{desk.port}", **token),
        desk.send(path, fields, origin=""),  # the cookie without saying from where
        desk.send(path, fields, cookie=""),
        desk.send(path, fields, cookie=f"perfreg_token_{desk.port}=wrong"),
        desk.send(path, fields, cookie=f"perfreg_token_{desk.port + 1}={desk.token}"),
        desk.send(path, fields, cookie="", x_perfreg_token="wrong"),
        desk.ask("POST", path, body, **form),
        desk.ask("POST", f"{path}?{query}", b"", **form),
        desk.ask("POST", f"{path}?{query}", b"", origin=FOREIGN, **cookie, **form),
        *(
            desk.send(path, fields, content_type=kind)
            for kind in ("text/plain", "multipart/form-data; boundary=x", "application/json", "")
        ),
        desk.send(path, fields, content_type="text/plain", origin=FOREIGN),  # a form that needs no script
        desk.ask("POST", path, json.dumps(fields).encode(), content_type="application/json", **token),
        desk.ask("POST", path, body + b"&more=" + b"x" * (64 << 10), origin=desk.own, **cookie, **form),
        desk.ask(
            "POST", path, chunked, content_length="", transfer_encoding="chunked", origin=desk.own, **cookie, **form
        ),
        *(desk.ask(method, path, body, origin=desk.own, **cookie, **form) for method in ("PUT", "PATCH", "DELETE")),
        *(
            desk.ask("POST", other, body, origin=desk.own, **cookie, **form)
            for other in ("/inbox", "/upkeep", "/", "/lists/runs")
        ),
    ]
    assert {status for status, _, _ in refused} <= {403, 405, 413, 415}
    # Reading, whatever it asks for, changes nothing.
    for method in ("GET", "HEAD", "OPTIONS"):
        desk.ask(method, f"{path}?{query}", **cookie, origin=desk.own, x_http_method_override="POST")
        desk.ask(method, path, body, **cookie, **form)
    assert desk.rows(STATE) == before
    assert desk.settling.state.asked == 0
    assert desk.send(path, fields)[0] == 303
    assert desk.rows(STATE) != before
    assert desk.settling.state.asked == 1


def test_the_cookie_is_given_at_the_printed_address_alone(desk):
    entrance = desk.entrance.removeprefix(desk.own)
    status, headers, body = desk.ask("GET", entrance)
    assert (status, headers["location"], body) == (303, "/", b"")
    assert headers["set-cookie"].startswith(f"{desk.cookie}; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(headers["set-cookie"].split("; "))
    assert (headers["cache-control"], headers["referrer-policy"]) == ("no-store", "no-referrer")
    run_id, before = open_runs(desk)[0], desk.rows(STATE)
    elsewhere = ["/", "/inbox", f"/review?run={run_id}&status=rejected", "/omega?omega=0.25", "/upkeep", "/lists/runs"]
    assert "set-cookie" not in desk.ask("GET", entrance, host=f"localhost:{desk.port}")[1], "Perfetto's name"
    wrong = ["/?token=", "/?token=wrong", f"/?token={desk.token}", f"/inbox?{entrance[2:]}", f"{entrance}x"]
    for method, paths in (("GET", elsewhere + wrong), ("HEAD", [entrance]), ("POST", [entrance])):
        for path in paths:
            _, headers, body = desk.ask(method, path, b"" if method == "POST" else None)
            assert "set-cookie" not in headers, (method, path)
            assert desk.token.encode() not in body
    assert desk.ask("GET", "/?token=wrong")[0] == 403
    assert desk.ask("GET", entrance, host=f"evil.example:{desk.port}")[0] == 403
    # What it brings: the cookie, without which no form is shown and none is taken.
    for path in ("/inbox", f"/review?run={run_id}&status=rejected", "/omega?omega=0.25"):
        page = desk.ask("GET", path)
        assert "open the address that perfreg serve printed" in text_of(page)
        assert b"<form class" not in page[2]
        assert b"data-review" not in page[2]
    assert json.loads(desk.ask("GET", "/upkeep")[2])["may_change"] is False
    assert json.loads(desk.ask("GET", "/upkeep", cookie=desk.cookie)[2])["may_change"] is True
    assert desk.send("/review", {"run": run_id, "status": "rejected"}, cookie="")[0] == 403
    assert desk.rows(STATE) == before


def test_the_command_prints_the_way_in_only_where_there_is_one(desk, own_sample, monkeypatch):
    told = []
    monkeypatch.setattr("perfreg_assets.reports.serve.uvicorn.Server.run", lambda *_, **__: None)
    triage_of = {True: desk_triage(desk, may_change=True), False: desk_triage(desk, may_change=False)}
    for may_change in (True, True, False):
        serve(desk.settings, 0, on_ready=told.append, triage=triage_of[may_change])
    first, second, reading = told
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{40,}", first)
    assert first.partition("=")[2] != second.partition("=")[2], "another one at each start"
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", reading)


def test_a_program_of_the_user_needs_the_token_alone(desk):
    run_id = open_runs(desk)[0]
    body = urlencode({"run": run_id, "status": "rejected"}).encode()
    status, _, told = desk.ask(
        "POST", "/review", body, content_type=FORM, x_perfreg_token=desk.token, accept="application/json"
    )
    assert (status, json.loads(told)) == (200, {"run": run_id, "status": "rejected", "asked": 1})


def test_a_review_is_given_and_withdrawn_by_forms_alone(desk):
    run_id = open_runs(desk)[1]
    cookie = {"cookie": desk.cookie}
    status, headers, _ = page = desk.ask("GET", f"/review?run={run_id}&status=confirmed&back=inbox", **cookie)
    assert status == 200
    assert headers["referrer-policy"] == "same-origin"
    with desk.warehouse.reading() as reader:
        effect = effect_of(reader, desk.settings, run_id, "confirmed")
    for sentence in (review_wording.MEANINGS["confirmed"], *review_wording.effects(effect)):
        assert sentence in text_of(page)
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page[2].decode()))
    assert fields == {"run": run_id, "status": "confirmed", "seen": "none", "back": "inbox"}
    assert 'name="name" maxlength="200" autocomplete="name" value="ada"' in page[2].decode()
    status, headers, _ = desk.send("/review", {**fields, "name": "bob", "note": NAUGHTY})
    assert (status, headers["location"]) == (303, f"/inbox?said={run_id}")
    told = "SELECT review_status, review_note, reviewer FROM marts.runs WHERE run_id = "
    assert desk.rows(f"{told}'{run_id}'") == [("confirmed", NAUGHTY.replace("\u202e", ""), "bob")]
    inbox = desk.ask("GET", headers["location"], **cookie)
    assert "<script>alert" not in inbox[2].decode()
    assert f"{run_id}: Confirmed regression, said " in text_of(inbox)
    assert run_id not in re.findall(r'<tr data-run="([^"]+)"', inbox[2].decode())
    undo = re.search(rf'href="(/review\?run={run_id}[^"]*withdrawn[^"]*)"', inbox[2].decode())
    page = desk.ask("GET", unescape(undo[1]), **cookie)
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page[2].decode()))
    assert fields["seen"] != "none"
    assert desk.send("/review", {**fields, "name": "bob", "note": "wrong run"})[0] == 303
    assert run_id in open_runs(desk)
    assert desk.rows(f"SELECT status FROM marts.reviews WHERE run_id = '{run_id}' ORDER BY reviewed_at") == [
        ("confirmed",),
        ("withdrawn",),
    ]
    settled(desk)
    assert desk.settling.state.done == 2


def shown(answer: Answer) -> list[str]:
    return re.findall(r'<tr data-run="([^"]+)"', answer[2].decode())


def leads(answer: Answer, word: str) -> str:
    """Where the inbox's pager leads to; "" where it does not."""
    found = re.search(rf'href="(/inbox[^"]*)"[^>]*>[^<]*{word}', answer[2].decode())
    return unescape(found[1]) if found else ""


def test_the_inbox_has_every_open_alarm_a_page_at_a_time(desk, monkeypatch):
    monkeypatch.setattr("perfreg_assets.reports.triage_pages.SHOWN_ALARMS", 2)
    expected, pages, path = open_runs(desk), [], "/inbox"
    while path:
        answer = desk.ask("GET", path)
        assert answer[0] == 200
        pages.append(shown(answer))
        first = sum(map(len, pages[:-1])) + 1
        assert f"{first} to {first + len(pages[-1]) - 1} of {len(expected)}" in text_of(answer)
        path = leads(answer, "Next")
    assert [run_id for page in pages for run_id in page] == expected
    assert len(pages) > 2
    back, path = [], leads(answer, "Previous")
    while path:
        answer = desk.ask("GET", path)
        back.insert(0, shown(answer))
        path = leads(answer, "Previous")
    assert back[0] == expected[:2], "a whole page, also where fewer stand before"
    assert {run_id for page in back for run_id in page} >= {run_id for page in pages[:-1] for run_id in page}
    assert desk.ask("GET", "/inbox?said=nobody")[0] == 200


def test_next_follows_what_was_shown_however_many_of_it_were_reviewed(desk, monkeypatch):
    """Pages were counted: one skipped as many as were reviewed on the page before, and one beyond the end was empty."""
    monkeypatch.setattr("perfreg_assets.reports.triage_pages.SHOWN_ALARMS", 2)
    expected = open_runs(desk)
    first = desk.ask("GET", "/inbox")
    assert shown(first) == expected[:2]
    for run_id in expected[:2]:
        assert desk.send("/review", {"run": run_id, "status": "rejected"})[0] == 303
    second = desk.ask("GET", leads(first, "Next"))
    assert shown(second) == expected[2:4]
    assert leads(second, "Previous") == "", "all before were reviewed"
    for run_id in expected[3:]:
        assert desk.send("/review", {"run": run_id, "status": "rejected"})[0] == 303
    last = desk.ask("GET", leads(second, "Next"))
    assert shown(last) == [expected[2]], "nothing is left after it: the last page"
    assert desk.send("/review", {"run": expected[2], "status": "rejected"})[0] == 303
    assert "There is none." in text_of(desk.ask("GET", leads(second, "Next")))


@pytest.mark.parametrize("key", ["after", "before"])
def test_a_page_beside_a_run_that_is_not_there_is_the_first(desk, key):
    answer = desk.ask("GET", f"/inbox?{key}=nobody")
    assert answer[0] == 200
    assert shown(answer) == open_runs(desk)


BROKEN = {
    "no run": ({"status": "rejected"}, 404),
    "an unknown run": ({"run": "nobody", "status": "rejected"}, 404),
    "an unknown status": ({"run": "notes-0010", "status": "fine"}, 400),
    "no status": ({"run": "notes-0010"}, 400),
    "nothing to withdraw": ({"run": "notes-0000", "status": "withdrawn"}, 409),
    "a long note": ({"run": "notes-0010", "status": "rejected", "note": "x" * 2001}, 400),
    "a long name": ({"run": "notes-0010", "status": "rejected", "name": "x" * 201}, 400),
    "seen before": ({"run": "notes-0010", "status": "rejected", "seen": "2020-01-01T00:00:00+00:00"}, 409),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_does_not_fit_changes_nothing_and_is_told(desk, case):
    fields, expected = BROKEN[case]
    before = desk.rows(STATE)
    status, _, body = desk.send("/review", fields, accept="application/json")
    assert (status, set(json.loads(body))) == (expected, {"problem"})
    status, headers, body = desk.send("/review", fields)
    assert status == expected
    assert headers["content-type"].startswith("text/html")
    assert b"Nothing was changed" in body
    assert desk.rows(STATE) == before
    assert desk.settling.state.asked == 0


@pytest.mark.parametrize(
    "body", [b"", b"x", b"run=%ff&status=rejected", b"run=a&run=b", b"\xff=1", b"status=rejected&run=\x00"]
)
def test_no_body_breaks_it(desk, body):
    before = desk.rows(STATE)
    status, _, _ = desk.ask("POST", "/review", body, origin=desk.own, cookie=desk.cookie, content_type=FORM)
    assert status in (400, 404)
    assert desk.rows(STATE) == before


def test_a_second_opinion_does_not_pass_over_the_first(desk):
    run_id = open_runs(desk)[0]
    fields = {"run": run_id, "seen": "none"}
    assert desk.send("/review", {**fields, "status": "confirmed"})[0] == 303
    status, _, body = desk.send("/review", {**fields, "status": "rejected"}, accept="application/json")
    assert status == 409
    assert "meanwhile" in json.loads(body)["problem"]
    assert desk.rows(f"SELECT review_status FROM marts.runs WHERE run_id = '{run_id}'") == [("confirmed",)]


def test_while_somebody_writes_a_form_waits_then_says_so_and_keeps_what_was_typed(own_sample, monkeypatch):
    monkeypatch.setattr(triage, "PATIENCE_S", 0.3)
    with desk_of(own_sample) as desk:
        run_id = open_runs(desk)[0]
        fields = {"run": run_id, "status": "rejected", "name": "bob", "note": "battery saver"}
        before = desk.rows(STATE)
        with file_lock(own_sample.lock_file, timeout_s=5, what="the warehouse"):
            status, headers, body = desk.send("/review", fields, accept="application/json")
            assert (status, headers["retry-after"]) == (503, "5")
            assert "nothing was recorded, try again" in json.loads(body)["problem"]
            status, _, body = desk.send("/review", fields)
            assert status == 503
            assert b"try again" in body
            assert b"battery saver</textarea>" in body
            assert b'value="bob"' in body
            assert desk.send("/omega", {"omega": "0.25"})[0] == 503
            assert desk.ask("GET", "/inbox")[0] == 200, "no reader waits"
        assert desk.rows(STATE) == before
        assert desk.settling.state.asked == 0
        monkeypatch.setattr(triage, "PATIENCE_S", 30)
    with desk_of(own_sample) as desk:
        held = threading.Event()

        def hold() -> None:
            with file_lock(own_sample.lock_file, timeout_s=5, what="the warehouse"):
                held.set()
                time.sleep(0.5)

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait()
        assert desk.send("/review", fields)[0] == 303, "it waits its turn"
        holder.join()


def test_while_somebody_writes_a_form_of_what_cannot_be_is_told_that(own_sample, monkeypatch):
    """The form that is shown again can be of a run that is not there, or was not reviewed: a bare 500."""
    monkeypatch.setattr(triage, "PATIENCE_S", 0.3)
    with desk_of(own_sample) as desk, file_lock(own_sample.lock_file, timeout_s=5, what="the warehouse"):
        answer = desk.send("/review", {"run": "gone", "status": "rejected"})
        assert (answer[0], "There is no run with this id" in text_of(answer)) == (404, True)
        answer = desk.send("/review", {"run": open_runs(desk)[0], "status": "withdrawn"})
        assert (answer[0], "none to withdraw" in text_of(answer)) == (409, True)


def test_another_omega_is_looked_at_without_a_trace_and_made_current_on_request(desk):
    before, content = desk.rows(STATE), desk.warehouse.path.read_bytes()
    (current,) = desk.rows("SELECT value::DOUBLE FROM marts.settings WHERE is_current AND name = 'omega'")[0]
    other = 0.25
    assert current != other
    alarms = "SELECT count(*) FROM marts.verdicts_at({}) WHERE is_latest AND is_anomalous AND series = '*'"
    ((now,), (then,)) = (desk.rows(alarms.format(omega))[0] for omega in (current, other))
    page = desk.ask("GET", f"/omega?omega={other}", cookie=desk.cookie)
    assert page[0] == 200
    assert then > now
    assert f"{then - now} run{'s become' if then - now > 1 else ' becomes'} anomalous." in text_of(page)
    assert "0 runs are anomalous no longer." in text_of(page)
    assert desk.rows(STATE) == before
    assert desk.warehouse.path.read_bytes() == content
    for bad in ("", "-1", "nan", "inf", "1e999", "x"):
        assert desk.ask("GET", f"/omega?omega={bad}")[0] == 400
        assert desk.send("/omega", {"omega": bad})[0] == 400
    assert desk.send("/omega", {"omega": str(other), "seen": "9.0"})[0] == 409
    assert desk.rows(STATE) == before
    status, headers, _ = desk.send(
        "/omega", {"omega": str(other), "seen": repr(current), "name": "bob", "note": "misses"}
    )
    assert (status, headers["location"]) == (303, "/omega?omega=0.25")
    assert desk.rows("SELECT value, changed_by, note FROM marts.settings WHERE is_current AND name = 'omega'") == [
        ("0.25", "bob", "misses")
    ]
    assert "ω = 0.25 is the current one" in text_of(desk.ask("GET", headers["location"]))
    assert desk.settling.state.asked == 1


def test_an_omega_is_not_made_current_for_another_detector_than_its_page_was_made_for(desk):
    """What the page said would change was of the other one."""
    page = desk.ask("GET", "/omega?omega=0.25", cookie=desk.cookie)
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page[2].decode()))
    with desk.warehouse.writing() as writer:
        settings_table.change(writer, "detector", "iqr")
    before = desk.rows(STATE)
    status, _, body = desk.send("/omega", fields, accept="application/json")
    assert status == 409
    assert "Another ω or detector was made the current one meanwhile" in json.loads(body)["problem"]
    assert desk.rows(STATE) == before
    again = desk.ask("GET", "/omega?omega=0.25", cookie=desk.cookie)
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', again[2].decode()))
    assert desk.send("/omega", fields)[0] == 303


def test_a_server_that_only_reads_takes_nothing_and_gives_no_token(own_sample):
    with desk_of(own_sample, may_change=False) as desk:
        before, run_id = desk.rows(STATE), open_runs(desk)[0]
        assert not (desk.settings.home_dir / "token").exists()
        status, headers, body = desk.ask("GET", "/inbox")
        assert status == 200
        assert "set-cookie" not in headers
        assert "set-cookie" not in desk.ask("GET", desk.entrance.removeprefix(desk.own))[1]
        assert b"data-review" not in body
        status, _, body = desk.ask("GET", f"/review?run={run_id}")
        assert f"perfreg review {run_id} --status rejected".encode() in body
        assert b"<form" not in body
        assert b"<form" not in desk.ask("GET", "/omega?omega=0.25")[2]
        assert json.loads(desk.ask("GET", "/upkeep")[2])["may_change"] is False
        for path in ("/review", "/omega"):
            body = urlencode({"run": run_id, "status": "rejected", "omega": "0.25"}).encode()
            assert desk.ask("POST", path, body, origin=desk.own, content_type=FORM)[0] == 405
        assert desk.rows(STATE) == before


def test_the_command_line_serves_so_only_where_it_may_write(own_sample, tmp_path, capsys):
    settings = Settings(warehouse=own_sample.path)
    asked = servers._triage(settings, read_only=False)
    assert asked.may_change
    with own_sample.reading() as reader:
        assert asked.effect_of(reader, "notes-0010", "confirmed") == effect_of(
            reader, settings, "notes-0010", "confirmed"
        )
    assert not servers._triage(settings, read_only=True).may_change
    assert capsys.readouterr().err == ""
    published = Settings(warehouse=tmp_path / "elsewhere" / "perfreg.duckdb")
    assert not servers._triage(published, read_only=False).may_change
    assert "reviews cannot be given on the pages" in capsys.readouterr().err
    assert not published.warehouse.exists()


# ---- what becomes due ----------------------------------------------------------------------------
def _waited(settling: Settling, number: int) -> None:
    deadline = time.monotonic() + 60
    while settling.state.done < number:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_is_asked_for_meanwhile_is_done_by_one_more(tmp_path):
    gate = tmp_path / "gate"
    script = (
        "import pathlib, sys, time\n"
        f"log = pathlib.Path({str(tmp_path / 'log')!r}); log.open('a').write('x')\n"
        "print('step 1 of 2', flush=True)\n"
        f"while not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.02)\n"
    )
    settling = Settling([sys.executable, "-c", script], {})
    assert settling.state == type(settling.state)(0, 0, "", None)
    assert [settling.ask() for _ in range(3)] == [1, 2, 3]
    deadline = time.monotonic() + 60
    while settling.state.told != "step 1 of 2":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert settling.state.is_running
    assert settling.ask() == 4
    gate.touch()
    _waited(settling, 4)
    assert len((tmp_path / "log").read_text()) <= 3, "not one each"
    assert settling.ask() == 5
    _waited(settling, 5)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ((sys.executable, "-c", "import sys; print('disk is full'); sys.exit(1)"), "disk is full"),
        ((sys.executable, "-c", "import sys; sys.exit(2)"), "it ended with status 2"),
        (("/no/such/command",), "it could not be started (No such file or directory)"),
    ],
)
def test_a_failure_is_told_in_its_own_words_and_the_next_one_begins_anew(command, told):
    settling = Settling(command, {})
    for number in (1, 2):
        assert settling.ask() == number
        _waited(settling, number)
        assert settling.state.problem == told


def test_what_a_server_left_is_done_by_the_next(tmp_path):
    """After a restart nothing said that something is due, and nobody computed it."""
    owed, failing = tmp_path / "home" / "settling", (sys.executable, "-c", "import sys; sys.exit(2)")
    first = Settling([sys.executable, "-c", "import time; time.sleep(600)"], {}, owed)
    first.resume()
    assert first.state.asked == 0, "nothing was left"
    first.ask()
    first.end()
    _waited(first, 1)
    for command, is_left in ((failing, True), (QUICK, False)):
        assert owed.exists()
        following = Settling(command, {}, owed)
        following.resume()
        assert following.state.asked == 1
        _waited(following, 1)
        assert owed.exists() is is_left


def test_a_server_that_starts_says_on_the_pages_what_is_due(own_sample):
    settings = Settings(warehouse=own_sample.path)
    with own_sample.writing() as writer:
        run_id = writer.value("SELECT history_run_id FROM marts.history_sets ORDER BY run_id DESC LIMIT 1")
        reviews.add(writer, run_id, "rejected")
    with own_sample.reading() as reader:
        due = told_now(reader, settings)
    servers.write_pages(settings)
    told = {path.stem for path in (settings.reports_dir / "runs").glob("*.html") if "Out of date" in path.read_text()}
    assert told == {*due} != set()


def test_what_is_under_way_ends_with_the_server(own_sample, tmp_path):
    number = tmp_path / "number"
    script = f"import os, pathlib, time; pathlib.Path({str(number)!r}).write_text(str(os.getpid())); time.sleep(600)"
    with desk_of(own_sample, command=[sys.executable, "-c", script]) as desk:
        assert desk.send("/review", {"run": open_runs(desk)[0], "status": "rejected"})[0] == 303
        deadline = time.monotonic() + 60
        while not (number.exists() and number.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert is_alive(int(number.read_text()))
    _waited(desk.settling, 1)
    assert not is_alive(int(number.read_text()))
    desk.settling.ask()
    assert desk.settling.state.is_running, "it is due still, and nothing is begun any more"
