"""Reviews and ω in a real browser: with the keyboard, without scripts, from a foreign page; and axe-core's rules."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from perfreg_assets.model.review_effects import effect_of
from perfreg_assets.reports import review_wording
from perfreg_assets.reports.links import version_page
from perfreg_assets.reports.site import build_site
from perfreg_assets.warehouse import runs, settings_table, verdicts
from tests.reports.axe_rules import broken_rules
from tests.reports.triage_server import Desk, desk_of

pytestmark = pytest.mark.browser

OPEN = (
    "SELECT run_id FROM marts.runs WHERE run_verdict = 'anomalous' AND review_status IS NULL "
    "ORDER BY started_at DESC, run_id DESC"
)
TOLD = "SELECT status, note, reviewer FROM marts.reviews WHERE run_id = '{}' ORDER BY reviewed_at"


@pytest.fixture
def desk(own_sample, sample_site) -> Iterator[Desk]:
    with desk_of(own_sample, reports=sample_site[1]) as found:
        yield found


@pytest.fixture
def page(watched, desk) -> Iterator[Any]:
    with watched() as found:
        found.goto(desk.entrance)
        yield found


# The list shows these runs and no others: what its address asks for has been done.
LISTED = "runs => Array.from(document.querySelectorAll('[data-runs] tbody tr'), one => one.dataset.run).join() == runs"


def open_runs(desk: Desk) -> list[str]:
    return [run_id for (run_id,) in desk.rows(OPEN)]


def effects(desk: Desk, run_id: str, status: str) -> list[str]:
    with desk.warehouse.reading() as reader:
        return review_wording.effects(effect_of(reader, desk.settings, run_id, status))


def test_a_run_is_reviewed_and_undone_on_its_page(page, desk):
    run_id = open_runs(desk)[0]
    expected = effects(desk, run_id, "rejected")
    page.goto(f"{desk.own}/runs/{run_id}.html")
    page.wait_for_selector("body[data-reviews=yes]")
    page.get_by_text("Say what you found").click()
    assert page.locator(".triage code").count() == 0, "no commands where there are buttons"
    page.get_by_role("link", name="It is a false alarm").click()
    dialog = page.get_by_role("dialog", name=f"{run_id}: Call it a false alarm?")
    dialog.wait_for()
    assert dialog.locator("li").all_inner_texts() == expected
    assert dialog.get_by_label("Your name").input_value() == "ada"
    dialog.get_by_label("Why").fill("battery saver")
    assert desk.rows(TOLD.format(run_id)) == [], "nothing before it is sent"
    dialog.get_by_role("button", name="It is a false alarm").click()
    page.get_by_text("All that it changed is computed.").wait_for()
    assert desk.rows(TOLD.format(run_id)) == [("rejected", "battery saver", "ada")]
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Withdraw the review").click()
    page.get_by_text(f"{run_id}: Withdrawn.").wait_for()
    assert desk.rows(TOLD.format(run_id))[1][0] == "withdrawn"


def test_a_page_goes_on_telling_how_far_it_is_when_the_server_is_started_again(browser, desk):
    """It stayed at `does not answer`, or waited for a number that the next server never counted to."""
    run_id = open_runs(desk)[0]
    for status in ("rejected", "confirmed"):
        assert desk.send("/review", {"run": open_runs(desk)[-1], "status": status})[0] == 303
    page = browser.new_page()
    page.goto(desk.entrance)
    page.goto(f"{desk.own}/runs/{run_id}.html")
    page.wait_for_selector("body[data-reviews=yes]")
    state = {"asked": 3, "done": 2, "told": "step 1 of 2", "problem": None, "may_change": True}
    page.route("**/upkeep", lambda route: route.fulfill(json=state) if state else route.abort())
    page.get_by_text("Say what you found").click()
    page.get_by_role("link", name="It is a false alarm").click()
    page.get_by_role("dialog").get_by_role("button", name="It is a false alarm").click()
    progress = page.locator("[data-said] .progress")
    progress.get_by_text("what it changes is being computed: step 1 of 2").wait_for()
    before = dict(state)
    state.clear()
    progress.get_by_text("perfreg serve does not answer: this goes on when it is started again").wait_for()
    state.update(before, asked=1, done=0)  # what a new one has that found something to go on with
    progress.get_by_text("what it changes is being computed: step 1 of 2").wait_for()
    page.reload()
    progress.get_by_text("what it changes is being computed: step 1 of 2").wait_for()
    state.update(done=1)
    progress.get_by_text("All that it changed is computed.").wait_for()
    page.close()


def test_a_page_that_was_written_for_another_omega_says_so(page, desk):
    """As pages are after a change of ω until they are written anew: they contradicted the marts without a word."""
    run_id = open_runs(desk)[0]
    pages = ("", f"runs/{run_id}.html", "versions/com.example.notes@1.2.0.html")
    stale = page.get_by_role("status").get_by_text("in force are those of default at ω 0.25")
    for path in pages:
        with page.expect_response("**/in-force"):
            page.goto(f"{desk.own}/{path}")
        assert stale.count() == 0
    with desk.warehouse.writing() as writer:
        settings_table.change(writer, "omega", "0.25")
    for path in pages:
        page.goto(f"{desk.own}/{path}")
        stale.wait_for()
        assert "of detector default at ω 1.5" in stale.inner_text()


def test_the_inbox_is_worked_through_with_the_keyboard_alone(page, desk):
    first, second = open_runs(desk)[:2]
    page.goto(f"{desk.own}/inbox")
    page.wait_for_selector("body[data-ready=yes]")
    for key in ("j", "j", "k", "j", "c"):
        page.keyboard.press(key)
    page.get_by_role("dialog", name=f"{second}: Confirm it as a regression?").wait_for()
    page.keyboard.type("leak in the list, c r a")  # letters are no keys here
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    row = page.locator(f'tr[data-run="{second}"]')
    row.locator(".is-said", has_text="Confirmed regression").wait_for()
    assert desk.rows(TOLD.format(second)) == [("confirmed", "leak in the list, c r a", "ada")]
    page.keyboard.press("u")
    page.get_by_role("dialog", name=f"{second}: Withdraw what was said of it?").wait_for()
    page.keyboard.press("Escape")
    assert len(desk.rows(TOLD.format(second))) == 1, "it was not sent"
    page.keyboard.press("u")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    row.get_by_role("link", name=f"False alarm: {second}").wait_for()
    page.keyboard.press("?")
    page.get_by_label("Single keys are on").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("r")
    assert page.get_by_role("dialog").count() == 0, "they are off"
    assert desk.rows(TOLD.format(first)) == []


def test_the_index_says_it_by_key_and_a_second_opinion_is_told(browser, desk):
    run_id = open_runs(desk)[0]
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(desk.entrance)
    page.goto(f"{desk.own}/#open=1")
    page.wait_for_selector("body[data-reviews=yes]")
    page.wait_for_function(LISTED, arg=",".join(open_runs(desk)))
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("a")
    dialog = page.get_by_role("dialog", name=f"{run_id}: Accept it as the new normal?")
    dialog.wait_for()
    assert dialog.locator("li").all_inner_texts() == effects(desk, run_id, "accepted")
    assert desk.send("/review", {"run": run_id, "status": "confirmed"})[0] == 303  # somebody else
    with page.expect_response(lambda answer: answer.request.method == "POST") as sent:
        dialog.get_by_role("button", name="Accept as the new normal").click()
    assert sent.value.status == 409
    dialog.get_by_role("alert").get_by_text("meanwhile").wait_for()
    assert [status for status, _, _ in desk.rows(TOLD.format(run_id))] == ["confirmed"]
    context.close()


def test_a_row_says_after_an_undo_what_it_said_before(watched, own_sample, tmp_path):
    """Of an excluded run, that it is; and why a run was not judged."""
    with own_sample.writing() as writer:
        (excluded,) = writer.rows(f"{OPEN} LIMIT 1")[0]
        (incomplete,) = writer.rows("SELECT run_id FROM marts.runs WHERE state = 'incomplete_trace' LIMIT 1")[0]
        runs.exclude(writer, excluded, "the wrong device")
        writer.execute("UPDATE core.runs SET functional_problem_count = 2 WHERE run_id = ?", [excluded])
    with own_sample.reading() as reader:
        build_site(reader, tmp_path / "site")
    with desk_of(own_sample, reports=tmp_path / "site") as desk, watched() as page:
        page.goto(desk.entrance)
        for run_id in (excluded, incomplete):
            page.goto("about:blank")
            page.goto(f"{desk.own}/#q={run_id}")
            page.wait_for_selector("body[data-reviews=yes]")
            page.wait_for_function(LISTED, arg=run_id)
            notes = page.locator(f"tr[data-run='{run_id}'] .notes")
            before = notes.inner_text()
            assert before.startswith("Excluded; 2 functional problems" if run_id == excluded else "trace_")
            rest = before.removeprefix("Excluded; ")
            for key, button, told in (
                ("c", "Confirm the regression", f"Confirmed regression; {rest}"),
                ("u", "Withdraw the review", before),
            ):
                page.locator(f"tr[data-run='{run_id}'] a").first.focus()
                page.keyboard.press(key)
                page.get_by_role("dialog").get_by_role("button", name=button).click()
                page.wait_for_function(
                    "([run, told]) => document.querySelector(`tr[data-run='${run}'] .notes`).innerText === told",
                    arg=[run_id, told],
                )


def test_who_goes_through_the_list_by_keys_stays_on_their_run_when_it_is_filtered(browser, desk):
    run_ids = open_runs(desk)
    page = browser.new_page()
    page.goto(f"{desk.own}/")
    row = page.locator(f'[data-runs] tr[data-run="{run_ids[-1]}"]')
    row.get_by_role("link").first.focus()
    page.evaluate("location.hash = '#open=1'")
    page.wait_for_function(LISTED, arg=",".join(run_ids))
    assert page.evaluate("document.activeElement.closest('[data-run]')?.dataset.run") == run_ids[-1]
    page.close()


def test_it_works_without_scripts(browser, desk):
    run_id = open_runs(desk)[0]
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(desk.entrance)
    page.goto(f"{desk.own}/runs/{run_id}.html")
    page.locator("summary", has_text="Say what you found").click()
    page.get_by_role("link", name="say it here").click()
    page.get_by_role("link", name="To review").first.click()
    page.get_by_role("link", name=f"False alarm: {run_id}").click()
    assert page.locator("ul.told").first.locator("li").all_inner_texts() == effects(desk, run_id, "rejected")
    page.get_by_label("Why").fill("battery saver")
    page.get_by_role("button", name="It is a false alarm").click()
    page.wait_for_url(f"**/inbox?said={run_id}")
    assert desk.rows(TOLD.format(run_id)) == [("rejected", "battery saver", "ada")]
    page.get_by_role("link", name="Undo").click()
    page.get_by_role("button", name="Withdraw the review").click()
    page.wait_for_url(f"**/inbox?said={run_id}")
    assert run_id in open_runs(desk)
    page.goto(f"{desk.own}/omega.html")
    page.get_by_role("link", name="0.5", exact=True).click()
    page.get_by_role("button", name="Make ω = 0.5 the current one").click()
    page.get_by_role("heading", name="ω = 0.5 is the current one").wait_for()
    assert desk.rows("SELECT value FROM marts.settings WHERE is_current AND name = 'omega'") == [("0.5",)]
    context.close()


def test_a_browser_that_came_in_another_way_reads_and_is_told_how_to_do_more(browser, desk):
    run_id = open_runs(desk)[0]
    context = browser.new_context()
    page = context.new_page()
    told = "open the address that perfreg serve printed"
    page.goto(f"{desk.own}/runs/{run_id}.html")
    page.get_by_text("Say what you found").click()
    page.locator(".triage [data-commands]", has_text=told).wait_for()
    assert page.locator(".triage code").first.inner_text().startswith("perfreg review ")
    (of_run,) = desk.rows(f"SELECT app, version_name FROM marts.runs WHERE run_id = '{run_id}'")
    page.goto(f"{desk.own}/{version_page(*of_run)}")
    step = page.locator("ol.next li", has_text=told)
    step.wait_for()
    assert re.search(rf"accepted\)\. To change something here, {told} [^.]*\.$", step.inner_text())
    page.goto(f"{desk.own}/omega.html")
    page.locator("[data-make-current]", has_text=told).wait_for()
    for path in ("inbox", f"review?run={run_id}&status=rejected", "omega?omega=0.25"):
        page.goto(f"{desk.own}/{path}")
        page.get_by_text(told).wait_for()
        assert page.locator("form[method=post], [data-review]").count() == 0, path
    assert context.cookies() == []
    page.goto(desk.entrance)
    assert page.url == f"{desk.own}/", "the secret does not stay in the address"
    assert "token" not in page.evaluate("document.referrer")
    page.goto(f"{desk.own}/runs/{run_id}.html")
    page.wait_for_selector("body[data-reviews=yes]")
    page.goto(f"{desk.own}/?token=of-an-earlier-start")
    assert page.url == f"{desk.own}/", "who has the cookie needs no secret"
    context.close()


def test_the_sliders_change_nothing_and_lead_to_the_page_that_does(page, desk):
    before = desk.warehouse.path.read_bytes()
    page.goto(f"{desk.own}/omega.html")
    page.locator('[data-omega="b"]').fill("0.25")
    page.get_by_role("link", name="Make ω = 0.25 the current one").click()
    page.get_by_role("heading", name="Make ω = 0.25 the current one?").wait_for()
    assert page.locator("ul.told li").count() == 3
    assert desk.warehouse.path.read_bytes() == before


@pytest.mark.parametrize("omega", [1.234, 7.0])
def test_the_omega_in_force_and_any_other_is_compared(page, own_sample, tmp_path, omega):
    """Sliders had steps of 0.05 up to 5: another ω in force was shown as the step beside it, with that one's counts.
    Runs that are excluded were counted by them, and by no other figure of the page."""
    first, second = 0.25, 6.125
    counted = "SELECT count(*) FROM marts.runs JOIN marts.run_verdicts USING (run_id) WHERE run_verdicts.is_current"
    anomalous = "SELECT flagged_count FROM marts.false_alarm_rates_at({}) WHERE series = '*'"
    with own_sample.writing() as writer:
        verdicts.make_current(writer, omega=omega)
        run_id, critical = writer.rows(
            "SELECT run_id, critical_omega FROM marts.run_verdicts WHERE is_current "
            "ORDER BY critical_omega DESC NULLS LAST LIMIT 1"
        )[0]
        assert critical > second
        runs.exclude(writer, run_id, "the wrong device")
        expected = {at: writer.value(anomalous.format(at)) for at in (omega, first, second)}
        measured = writer.value(f"{counted} AND NOT runs.is_excluded AND critical_omega IS NOT NULL")
        everyone = writer.value(f"{counted} AND critical_omega IS NOT NULL")
    assert measured == everyone - 1
    with own_sample.reading() as reader:
        build_site(reader, tmp_path / "site")
    page.goto((tmp_path / "site" / "omega.html").as_uri())
    page.wait_for_selector("body[data-ready=yes]")
    field, told = page.get_by_label("To ω", exact=True), page.locator("[data-text]")
    assert page.get_by_label("From ω", exact=True).input_value() == f"{omega:g}"
    assert told.first.inner_text() == f"{expected[omega]} of {measured} runs anomalous · in force"
    for at in (first, second):
        field.fill(f"{at:g}")
        told.nth(1).get_by_text(f"{expected[at]} of {measured} runs anomalous", exact=True).wait_for()
        flips = abs(expected[at] - expected[omega])
        page.wait_for_function("(n) => document.querySelectorAll('[data-flip-table] tbody tr').length === n", arg=flips)
    field.fill("101")
    assert told.nth(1).inner_text().startswith(f"{expected[second]} of "), "there is no such ω"
    page.locator('[data-omega="b"]').fill("1.5")
    assert field.input_value() == "1.5"
    field.fill(f"{omega:g}")
    page.get_by_text("Move a slider to see which verdicts change.").wait_for()


def test_a_run_that_is_excluded_is_none_that_another_omega_makes_an_alarm(desk):
    with desk.warehouse.writing() as writer:
        current = settings_table.in_force(writer, desk.settings)
        sides = (current.detector, 100.0), (current.detector, current.omega)
        before = verdicts.flips(writer, *sides)
        runs.exclude(writer, open_runs(desk)[0], "the wrong device")
        after = verdicts.flips(writer, *sides)
    its = before["series_appeared"] - after["series_appeared"]
    assert its > 0
    assert after == {
        **before, "appeared": before["appeared"] - 1, "series_appeared": before["series_appeared"] - its,
    }  # fmt: skip


ATTACK = """<!doctype html>
<form id=f target=i method=post action="{own}/review"><input name=run value="{run}">
<input name=status value=rejected></form>
<form id=g target=j method=post enctype="text/plain" action="{own}/review"><input name=run value="{run}"></form>
<iframe name=i></iframe><iframe name=j></iframe><script>
const body = "run={run}&status=rejected", headers = {{ "content-type": "application/x-www-form-urlencoded" }};
const post = {{ method: "POST", credentials: "include", headers }};
Promise.allSettled([
  fetch("{own}/review", {{ ...post, mode: "no-cors", body }}),
  fetch("{own}/review", {{ ...post, body, headers: {{ ...headers, "x-perfreg-token": "x" }} }}),
  fetch("{own}/review?" + body, {{ mode: "no-cors", credentials: "include" }}),
  fetch("{own}/omega", {{ ...post, mode: "no-cors", body: "omega=0.25" }}),
]).then(() => {{
  for (const id of ["g", "f"]) document.getElementById(id).submit();
  setTimeout(() => {{ document.title = "tried"; }}, 500);
}});
</script>"""


@pytest.mark.parametrize("policy", ["same-origin", "unsafe-url", "no-referrer"])
def test_a_foreign_page_in_the_same_browser_changes_nothing(browser, desk, policy):
    """Another port of this machine, to browsers the same site: the cookie is sent along."""
    run_id = open_runs(desk)[0]

    class Evil(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("referrer-policy", policy)
            self.end_headers()
            self.wfile.write(ATTACK.format(own=desk.own, run=run_id).encode())

        def log_message(self, *args: Any) -> None:
            pass

    context = browser.new_context()
    page = context.new_page()
    page.goto(desk.entrance)
    assert any(cookie["name"] == f"perfreg_token_{desk.port}" for cookie in context.cookies())
    with ThreadingHTTPServer(("127.0.0.1", 0), Evil) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        posts: list[int] = []
        page.on("response", lambda answer: posts.append(answer.status) if answer.request.method == "POST" else None)
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.wait_for_function("document.title === 'tried'")
        server.shutdown()
    context.close()
    assert posts
    assert set(posts) == {403}
    assert desk.rows(TOLD.format(run_id)) == []
    assert desk.settling is not None
    assert desk.settling.state.asked == 0


FROM_THE_UI = """async ([own, run]) => {
  const body = `run=${run}&status=rejected`, headers = { "content-type": "application/x-www-form-urlencoded" };
  const post = { method: "POST", credentials: "include", headers, body, referrer: "" };
  const tried = ["/review", `${own}/review`].map((to) =>
    fetch(to, post).then(({ status }) => status, (error) => String(error)));
  const reading = await fetch(`${own}/inbox`, { credentials: "include" }).then(() => "read", () => "kept");
  return [...(await Promise.all(tried)), reading];
}"""


def test_what_runs_in_perfettos_ui_changes_nothing(browser, desk):
    run_id, before = open_runs(desk)[0], desk.rows("SELECT count(*) FROM core.reviews")
    context = browser.new_context()
    page = context.new_page()
    page.goto(desk.entrance)
    page.goto(f"{desk.own}/perfetto/#!/viewer")
    assert page.url.startswith(f"http://localhost:{desk.port}/perfetto/#!")
    posted: list[int] = []
    page.on("response", lambda answer: posted.append(answer.status) if answer.request.method == "POST" else None)
    own, other, reading = page.evaluate(FROM_THE_UI, [desk.own, run_id])
    assert own == 403, "the same server by the UI's own name"
    assert isinstance(other, str), "the pages' name: refused, and the answer is not read"
    assert reading == "kept"
    assert set(posted) == {403}
    assert desk.rows("SELECT count(*) FROM core.reviews") == before
    context.close()


def test_no_rule_is_broken_in_any_mode(browser, desk):
    first, second = open_runs(desk)[:2]
    assert desk.send("/review", {"run": second, "status": "rejected", "note": "battery " * 30})[0] == 303
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    broken = []
    page.goto(f"{desk.own}/inbox")
    broken += broken_rules(page, "the inbox of a browser that came in another way")
    page.goto(desk.entrance)
    for path in (
        f"inbox?said={second}", f"review?run={first}", f"review?run={second}&status=withdrawn", "review?run=nobody",
        "omega?omega=0.25",
    ):  # fmt: skip
        page.goto(f"{desk.own}/{path}")
        broken += broken_rules(page, path)
    for path in (f"runs/{first}.html", "versions/com.example.notes@1.2.0.html", "omega.html"):
        page.goto(f"{desk.own}/{path}")
        if path != "omega.html":
            page.wait_for_selector("body[data-reviews=yes]")
        else:
            page.locator('[data-omega="b"]').fill("0.25")
            page.locator("[data-make-current]").wait_for()
        broken += broken_rules(page, path)
        if path.startswith("runs/"):
            page.get_by_text("Say what you found").click()
            page.get_by_role("link", name="It is a false alarm").click()
            page.get_by_role("dialog").wait_for()
            broken += broken_rules(page, "the dialog")
    context.close()
    assert not broken, "\n".join(broken)
