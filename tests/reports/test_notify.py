"""The message of a regression, and its way to a webhook on this machine: retried, never twice."""

from __future__ import annotations

import errno
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.reports.in_flight import InFlight
from perfreg_assets.reports.notify import Outcome, Regression, build_message, notify, settle
from perfreg_assets.reports.webhook import post
from perfreg_assets.warehouse import notifications

REGRESSION = Regression(
    "shop-004/default", "shop-004", "com.rig.shop", "1.5.0", "Memory grows 0.6 MB/s from second 12.", ("memory", "io")
)


class Webhook:
    """Answers by a script of statuses; 'hang' never answers, 'cut' closes without an answer, 'drip' answers 200 and
    goes on with it slowly, 'drip headers' with its headers, 'drip status' with the status already."""

    def __init__(self) -> None:
        self.script: list[int | str] = []
        self.received: list[dict] = []
        self.headers: dict[str, str] = {}
        self.on_message: Callable[[], object] = lambda: None
        hook = self
        self.release = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.received.append(json.loads(body))
                hook.on_message()
                step = hook.script.pop(0) if hook.script else 200
                if step == "hang":
                    hook.release.wait(10)
                    self.close_connection = True
                    return
                if step == "drip":
                    self.send_response(200)
                    self.send_header("Content-Length", "100")
                    self.end_headers()
                    with suppress(OSError):
                        while not hook.release.wait(0.1):
                            self.wfile.write(b"x")
                    self.close_connection = True
                    return
                if step in ("drip headers", "drip status"):
                    with suppress(OSError):
                        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: " if step == "drip headers" else b"HTTP/1.1 20")
                        while not hook.release.wait(0.1):
                            self.wfile.write(b" ")
                    self.close_connection = True
                    return
                if step == "cut":
                    self.close_connection = True
                    return
                self.send_response(int(step))
                for name, value in hook.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/services/T0/SECRET"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self) -> None:
        if self.release.is_set():
            return
        self.release.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    hook = Webhook()
    yield hook
    hook.close()


@pytest.fixture
def pauses() -> list[float]:
    return []


def test_the_message_has_summary_blocks_and_the_link():
    message = build_message(REGRESSION, reports_url="https://perf.example/site/")
    assert message["text"] == (
        "Performance regression (Memory, I/O): com.rig.shop 1.5.0: Memory grows 0.6 MB/s from second 12. "
        "https://perf.example/site/runs/shop-004.html"
    )
    assert [block["type"] for block in message["blocks"]] == ["section", "section", "context"]
    assert "<https://perf.example/site/runs/shop-004.html|open the report>" in json.dumps(message["blocks"])


def test_what_grew_is_told_and_its_names_forge_nothing():
    told = replace(REGRESSION, causes=("in 3 runs of 1.5.0, cpu_app: a · <!here>: +0.3 cores", "x" * 5000))
    message = build_message(told, reports_url="https://perf.example")
    text = message["blocks"][2]["text"]["text"]
    assert text.startswith("What grew\n• in 3 runs of 1.5.0, cpu_app: a · &lt;!here&gt;: +0.3 cores\n• xxx")
    assert len(text) <= 3000
    assert "What grew: in 3 runs of 1.5.0" in message["text"]
    assert "What grew" not in json.dumps(build_message(REGRESSION, reports_url="https://perf.example"))


@pytest.mark.parametrize("is_anomalous", [True, False])
def test_the_version_leads_where_it_is_why_there_is_a_message(is_anomalous):
    told = replace(REGRESSION, version_verdict="The version is so.", is_version_anomalous=is_anomalous)
    text = build_message(told, reports_url="https://perf.example")["text"]
    places = [text.index("The version is so."), text.index("This run: ")]
    assert (places == sorted(places)) == is_anomalous


def test_an_image_is_optional():
    message = build_message(REGRESSION, reports_url="https://perf.example", image_url="https://perf.example/a.png")
    assert message["blocks"][2]["image_url"] == "https://perf.example/a.png"


def test_a_name_cannot_mention_people_or_forge_a_link():
    evil = Regression("k", "<!channel>", "<!everyone> *x*", "<https://evil.example|click>", "&<@U123> `code`")
    message = build_message(evil, reports_url="http://127.0.0.1:9001")
    text = json.dumps(message, ensure_ascii=False)
    assert text.count("<") == 1, "only our own link"
    assert "<http://127.0.0.1:9001/runs/run-" in text


def test_long_explanations_stay_within_slacks_limit():
    message = build_message(Regression("k", "r", "a", "1", "x" * 10_000), reports_url="http://127.0.0.1:9001")
    assert all(len(block["text"]["text"]) <= 3000 for block in message["blocks"] if "text" in block)


def test_a_delivered_message_arrives_whole_and_once(webhook, pauses):
    message = build_message(REGRESSION, reports_url="http://127.0.0.1:9001")
    assert post(webhook.url, message, attempts=3, timeout_s=5, sleep=pauses.append) == 1
    assert webhook.received == [message]
    assert pauses == []


def test_a_busy_receiver_is_tried_again_with_growing_pauses(webhook, pauses):
    webhook.script = [500, 503, 429, 200]
    assert post(webhook.url, {"text": "x"}, attempts=4, timeout_s=5, sleep=pauses.append) == 4
    assert pauses == [1.0, 2.0, 4.0]


def test_retry_after_is_obeyed_within_reason(webhook, pauses):
    webhook.script, webhook.headers = [429, 429, 200], {"Retry-After": "7"}
    post(webhook.url, {"text": "x"}, attempts=3, timeout_s=5, sleep=pauses.append)
    assert pauses == [7.0, 7.0]
    webhook.script, webhook.headers = [429, 200], {"Retry-After": "86400"}
    post(webhook.url, {"text": "x"}, attempts=3, timeout_s=5, sleep=pauses.append)
    assert pauses[2] == 60.0
    webhook.script, webhook.headers = [429, 200], {"Retry-After": "Fri, 20 Nov 2026 10:00:00 GMT"}
    post(webhook.url, {"text": "x"}, attempts=3, timeout_s=5, sleep=pauses.append)
    assert pauses[3] == 1.0


@pytest.mark.parametrize("status", [400, 403, 404, 410, 302])
def test_a_wrong_address_is_not_tried_again_and_its_secret_is_not_told(webhook, pauses, status):
    webhook.script = [status]
    with pytest.raises(Rejected) as caught:
        post(webhook.url, {"text": "x"}, attempts=4, timeout_s=5, sleep=pauses.append)
    assert caught.value.reason is Reason.NOTIFICATION_REFUSED
    assert str(status) in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert len(webhook.received) == 1


def test_nobody_listening_is_tried_again_then_refused(webhook, pauses):
    webhook.close()
    with pytest.raises(Rejected) as caught:
        post(webhook.url, {"text": "x"}, attempts=3, timeout_s=5, sleep=pauses.append)
    assert caught.value.reason is Reason.NOTIFICATION_REFUSED
    assert pauses == [1.0, 2.0]


def test_an_answer_is_its_status_however_slowly_the_rest_comes(webhook):
    webhook.script = ["drip"]
    began = time.monotonic()
    assert post(webhook.url, {"text": "x"}, attempts=1, timeout_s=5) == 1
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("loss", ["hang", "cut"])
def test_a_lost_answer_is_uncertain_and_never_sent_again(webhook, pauses, loss):
    webhook.script = [loss]
    with pytest.raises(Rejected) as caught:
        post(webhook.url, {"text": "x"}, attempts=4, timeout_s=0.3, sleep=pauses.append)
    assert caught.value.reason is Reason.NOTIFICATION_UNCERTAIN
    assert len(webhook.received) == 1


def test_a_receiver_that_drips_holds_nobody_for_longer_than_the_timeout(webhook, pauses):
    """Each byte of a header was waited for as long again."""
    webhook.script = ["drip headers", "drip status"]
    begin = time.monotonic()
    assert post(webhook.url, {}, attempts=3, timeout_s=1, sleep=pauses.append) == 1  # by its status
    with pytest.raises(Rejected) as caught:
        post(webhook.url, {}, attempts=3, timeout_s=1, sleep=pauses.append)
    assert time.monotonic() - begin < 10
    assert caught.value.reason is Reason.NOTIFICATION_UNCERTAIN
    assert "did not answer within 1 s" in str(caught.value)
    assert (len(webhook.received), pauses) == (2, [])


def test_a_receiver_that_shows_no_certificate_got_nothing(webhook, pauses):
    with pytest.raises(Rejected) as caught:
        post(webhook.url.replace("http:", "https:"), {"text": "x"}, attempts=2, timeout_s=5, sleep=pauses.append)
    assert caught.value.reason is Reason.NOTIFICATION_REFUSED
    assert (webhook.received, pauses) == ([], [1.0])


@pytest.mark.parametrize("url", ["not a url", "ftp://127.0.0.1/x", "http://", "http://[abc/h", "http://a:b/h"])
def test_an_address_that_is_none_is_refused(url, pauses):
    with pytest.raises(Rejected) as caught:
        post(url, {"text": "x"}, attempts=3, timeout_s=1, sleep=pauses.append)
    assert caught.value.reason is Reason.NOTIFICATION_REFUSED


class Told:
    """What the warehouse would be told, and the note of what is in flight beside it."""

    def __init__(self, folder: Path) -> None:
        self.keys: list[str] = []
        self.in_flight = InFlight(folder / "perfreg.duckdb")

    def record(self, key: str, run_id: str) -> None:
        self.keys.append(key)


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path)


def _notify(webhook: Webhook, told: Told, sleep: Callable[[float], None], *regressions: Regression):
    return notify(
        regressions, webhook_url=webhook.url, reports_url="http://127.0.0.1:9001", attempts=2, timeout_s=0.5,
        in_flight=told.in_flight, record=told.record, sleep=sleep,
    )  # fmt: skip


def test_a_refused_one_is_not_recorded_a_lost_one_is_as_if_it_was_told(webhook, pauses, told):
    lost = Regression("shop-005/default", "shop-005", "com.rig.shop", "1.5.0", "CPU")
    last = Regression("shop-006/default", "shop-006", "com.rig.shop", "1.5.0", "CPU")
    webhook.script = [404, "hang"]
    outcome = _notify(webhook, told, pauses.append, REGRESSION, lost, last)
    assert [key for key, _ in outcome.refused] == ["shop-004/default"]
    assert [key for key, _ in outcome.uncertain] == ["shop-005/default"]
    assert outcome.sent == ("shop-006/default",)
    assert told.keys == ["shop-005/default", "shop-006/default"]
    assert told.in_flight.left() is None


def test_a_message_is_noted_before_anything_of_it_goes_out_and_not_in_the_pauses(webhook, told):
    noted: list[object] = []
    webhook.script = [503, 200]
    webhook.on_message = lambda: noted.append(told.in_flight.left())
    _notify(webhook, told, lambda _: noted.append(told.in_flight.left()), REGRESSION)
    first, pause, second = noted
    assert first.notification_key == second.notification_key == "shop-004/default"
    assert pause is None


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
def test_one_that_ends_in_a_pause_leaves_all_of_them_to_be_told(webhook, told, ending):
    def end(_: float) -> None:
        raise ending

    webhook.script = [503]
    with pytest.raises(ending):
        _notify(webhook, told, end, REGRESSION)
    assert told.in_flight.left() is None
    assert told.keys == []


def test_one_that_ends_while_it_waits_for_the_answer_is_not_sent_again(webhook, told, monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("http.client.HTTPConnection.getresponse", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _notify(webhook, told, time.sleep, REGRESSION)
    assert told.keys == []
    settled = settle(told.in_flight, told.record)
    assert [key for key, _ in settled.uncertain] == told.keys == ["shop-004/default"]
    assert settle(told.in_flight, told.record) == Outcome()


def test_one_that_was_delivered_and_could_not_be_recorded_is_recorded_later(webhook, told):
    def locked(*_: str) -> None:
        raise Rejected(Reason.WAREHOUSE_LOCKED, "somebody writes")

    with pytest.raises(Rejected, match="somebody writes"):
        notify(
            [REGRESSION], webhook_url=webhook.url, reports_url="http://x", attempts=1, timeout_s=2,
            in_flight=told.in_flight, record=locked,
        )  # fmt: skip
    assert len(webhook.received) == 1
    assert settle(told.in_flight, told.record).sent == ("shop-004/default",)
    assert told.keys == ["shop-004/default"]


def test_what_cannot_be_noted_does_not_go_out(webhook, told, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("perfreg_assets.reports.in_flight.write_whole", full)
    with pytest.raises(OSError, match="No space left"):
        _notify(webhook, told, time.sleep, REGRESSION)
    assert webhook.received == []


def test_a_note_that_is_none_is_refused_by_its_name(tmp_path, told):
    (tmp_path / "perfreg.duckdb.notice").write_text("{}")
    with pytest.raises(Rejected, match=r"perfreg\.duckdb\.notice does not say") as caught:
        settle(told.in_flight, told.record)
    assert caught.value.reason is Reason.NOTIFICATION_UNCERTAIN


def test_the_warehouse_table_makes_it_once_across_processes(webhook, own_sample, tmp_path):
    in_flight = InFlight(tmp_path / "perfreg.duckdb")

    def record(key: str, run_id: str) -> None:
        with own_sample.writing() as writer:
            notifications.record(writer, key, run_id)

    def pending() -> list[Regression]:
        with own_sample.reading() as reader:
            return [
                Regression(
                    **{name: row[name] for name in ("notification_key", "run_id", "app", "version_name")},
                    explanation=row["explanation"],
                    axes=tuple(row["axes"]),
                )
                for row in notifications.pending(reader)
            ]

    found = pending()
    assert found
    with own_sample.reading() as reader:
        worse = set(reader.rows("SELECT run_id, axis FROM marts.axis_verdicts WHERE is_current AND is_anomalous"))
    assert {(one.run_id, axis) for one in found for axis in one.axes} == {
        (run_id, axis) for run_id, axis in worse if run_id in {one.run_id for one in found}
    }
    for _ in range(2):
        notify(
            pending(), webhook_url=webhook.url, reports_url="http://127.0.0.1:9001", attempts=1, timeout_s=5,
            in_flight=in_flight, record=record,
        )  # fmt: skip
    assert len(webhook.received) == len(found)
    assert pending() == []
