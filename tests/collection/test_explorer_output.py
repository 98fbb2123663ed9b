"""Reading what explorers write."""

import json
import os
import sys
import time
from datetime import datetime
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.collection import explorer_command, explorer_process
from perfreg_assets.collection.exploration import State, hash_state
from perfreg_assets.collection.explorer_command import CommandExplorer, PathLines
from perfreg_assets.collection.explorer_droidbot import read_droidbot
from perfreg_assets.collection.explorer_fastbot import read_step_names
from perfreg_assets.collection.screen_state import resumed_activity, screen_state
from perfreg_assets.reasons import Reason, Rejected


# ---- DroidBot ---------------------------------------------------------------------------------------
def write_droidbot(folder, events, states=()):
    for name in ("events", "states"):
        (folder / name).mkdir(parents=True)
    for tag, start, stop, action in events:
        event = {"tag": tag, "event": {}, "start_state": start, "stop_state": stop, "event_str": action}
        path = folder / "events" / f"event_{tag}.json"
        path.write_text(json.dumps(event))
        moment = datetime.strptime(tag, "%Y-%m-%d_%H%M%S").timestamp() + 1.5
        os.utime(path, (moment, moment))
    for number, (state, structure, activity) in enumerate(states):
        document = {"state_str": state, "state_str_content_free": structure, "foreground_activity": activity}
        (folder / "states" / f"state_2026-11-20_10000{number}.json").write_text(json.dumps(document))
    return folder


EVENTS = [
    ("2026-11-20_100000", "a", "b", "touch 1"),
    ("2026-11-20_100002", "b", "c", "touch 2"),
    ("2026-11-20_100004", "c", "b", "back"),
]
STATES = [("a", "A", "x/.Home"), ("b", "B", "x/.List"), ("c", "B", "x/.List")]


def test_droidbots_path_says_where_each_event_was_sent_and_what_the_last_one_led_to(tmp_path):
    exploration = read_droidbot(write_droidbot(tmp_path, EVENTS, STATES))
    assert [step.state.state_hash for step in exploration.steps] == [hash_state(text) for text in ("A", "B", "B")]
    assert [step.action for step in exploration.steps] == ["touch 1", "touch 2", "back"]
    assert [step.state.screen for step in exploration.steps] == ["x/.Home", "x/.List", "x/.List"]
    assert exploration.after == State(hash_state("B"), "x/.List")
    assert exploration.notes == ()


def test_with_texts_droidbots_own_state_tells_more_screens_apart(tmp_path):
    exploration = read_droidbot(write_droidbot(tmp_path, EVENTS, STATES), with_text=True)
    assert [step.state.state_hash for step in exploration.steps] == [hash_state(text) for text in "abc"]
    assert exploration.after == State(hash_state("b"), "x/.List")


def test_a_step_is_placed_when_its_event_was_set_about_not_when_its_outcome_was_written(tmp_path):
    steps = read_droidbot(write_droidbot(tmp_path, EVENTS, STATES)).steps
    began = [datetime.strptime(f"{tag}Z", "%Y-%m-%d_%H%M%S%z").timestamp() for tag, *_ in EVENTS]
    assert [step.stamp.value for step in steps] == began
    assert {step.stamp.clock for step in steps} == {"host_wall"}


def test_two_events_in_one_second_overwrite_each_other_and_that_is_said(tmp_path):
    # b → c was overwritten by c → d in the same second: the path jumps from b to d.
    events = [("2026-11-20_100000", "a", "b", "1"), ("2026-11-20_100001", "c", "d", "3")]
    exploration = read_droidbot(write_droidbot(tmp_path, events, STATES))
    assert len(exploration.steps) == 2
    assert "overwrite" in exploration.notes[0]


def test_droidbot_ended_inside_its_last_file_loses_that_event_only(tmp_path):
    folder = write_droidbot(tmp_path, EVENTS, STATES)
    (folder / "events" / "event_2026-11-20_100006.json").write_text('{"tag": "2026-')
    exploration = read_droidbot(folder)
    assert len(exploration.steps) == 3
    assert "left out" in exploration.notes[0]


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"tag": "x", "start_state": "a", "stop_state": "b"}'])
def test_a_file_that_is_not_droidbots_is_refused(tmp_path, content):
    folder = write_droidbot(tmp_path, EVENTS, STATES)
    (folder / "events" / "event_2026-11-20_095959.json").write_text(content)
    with pytest.raises(Rejected) as refusal:
        read_droidbot(folder)
    assert refusal.value.reason is Reason.EXPLORER_OUTPUT_INVALID


def test_droidbot_without_events_gives_no_steps(tmp_path):
    assert read_droidbot(tmp_path).steps == ()


# ---- Fastbot2 ---------------------------------------------------------------------------------------
def test_fastbots_path_is_in_order_of_its_numbers_not_of_its_names():
    names = [
        "step-10-777-3-1795170010000.xml",
        "step-2-555--1-1795170002000.png",
        "step-2-555--1-1795170002000.xml",
        "step-9--666-2-1795170009000.xml",
        "max.config",
        "step-x-1-1-1795170009000.xml",
    ]
    steps = read_step_names(names)
    assert [step.state.state_hash for step in steps] == [hash_state(state) for state in ("555", "-666", "777")]
    assert [step.stamp.value for step in steps] == [1795170002.0, 1795170009.0, 1795170010.0]
    assert {step.stamp.clock for step in steps} == {"device_wall"}


# ---- any command ------------------------------------------------------------------------------------
def taken(*items):
    lines = PathLines()
    lines.take(item if isinstance(item, bytes) else json.dumps(item).encode() for item in items)
    return lines


def test_a_command_gives_its_steps_by_either_clock_and_by_text_or_hash():
    lines = taken(
        {"step": 0, "at_ms": 1795170000500, "state": "home\nlist", "screen": "home", "action": "tap 1,2"},
        {"step": 3, "ts_ns": 123456789, "state_hash": "ee57"},
        {"problem": "crash", "message": "it fell over", "at_ms": 1795170001000},
        {"problem": "hang"},
        b"",
    )
    first, second = lines.steps
    assert (first.state, first.action) == (State(hash_state("home\nlist"), "home"), "tap 1,2")
    assert (first.stamp.clock, first.stamp.value) == ("host_wall", 1795170000.5)
    assert (second.state.state_hash, second.stamp.clock, second.stamp.value) == ("ee57", "trace", 123456789)
    assert [(problem.kind, problem.message) for problem in lines.problems] == [("crash", "it fell over"), ("hang", "")]


@pytest.mark.parametrize(
    ("last", "after"),
    [
        ({"state_after": "list", "screen_after": "list"}, State(hash_state("list"), "list")),
        ({"state_hash_after": "ee58"}, State("ee58")),
        ({"screen_after": "list"}, None),  # a screen without its state says nothing of the path
        ({}, None),
    ],
)
def test_a_command_may_say_what_its_last_action_led_to(last, after):
    first = {"at_ms": 5, "state": "home", "state_hash_after": "long gone"}
    assert taken(first, {"at_ms": 9, "state": "home", **last}).after == after


@pytest.mark.parametrize(
    "bad",
    [
        b"\xff\xfe",
        b"{",
        b"[" * 100_000,
        b"NaN",
        [],
        {"at_ms": 5},
        {"at_ms": 5, "state_hash": ""},
        {"at_ms": 5, "state_hash": 7},
        {"at_ms": -1, "state": "x"},
        {"at_ms": True, "state": "x"},
        {"at_ms": "now", "state": "x"},
        {"state": "x"},
        b'{"at_ms": 1e400, "state": "x"}',
        b'{"at_ms": NaN, "state": "x"}',
        {"at_ms": 5, "state": "x", "step": 0},
        {"at_ms": 5, "state": "x", "step": 1.5},
        {"at_ms": 5, "state": "x", "screen": ["home"]},
        {"at_ms": 5, "state": "x", "state_hash_after": 7},
        {"at_ms": 5, "state": "x", "state_after": ["y"]},
        {"problem": 4, "at_ms": 5},
    ],
)
def test_a_line_that_breaks_the_contract_is_refused_with_its_number(bad):
    with pytest.raises(Rejected) as refusal:
        taken({"at_ms": 5, "state": "first"}, bad)
    assert refusal.value.reason is Reason.EXPLORER_OUTPUT_INVALID
    assert refusal.value.detail.startswith("line 2 ")


def command_that(tmp_path, body):
    """An explorer whose program runs these lines of Python, in a folder without any device."""
    config = SimpleNamespace(
        explorer="command", explorer_options={}, explorer_command=(sys.executable, "-c", body), apk=None,
        time_limit_s=60.0, action_interval_s=1.0, hung_after_s=60.0,
    )  # fmt: skip
    return CommandExplorer(
        SimpleNamespace(
            device=SimpleNamespace(serial="none"), journal=SimpleNamespace(owe=lambda *_: None), config=config,
            app="com.rig.shop", seed=0, work_dir=tmp_path, scratch_dir="/data/local/tmp/none",
        )
    )  # fmt: skip


def polled(explorer, limit_s=60.0):
    """Polls until the explorer ends."""
    explorer.start()
    deadline = time.monotonic() + limit_s
    try:
        while not explorer.poll():
            assert time.monotonic() < deadline, "nothing came of it"
            time.sleep(0.02)
    finally:
        explorer._process.stop()


_PATH = "import os, time\npath = open(os.environ['PERFREG_PATH_FILE'], 'ab', 0)\n"


@pytest.mark.parametrize(
    ("limit", "size", "written", "told"),
    [
        ("_LINE_MAX_BYTES", 1 << 16, "b'x' * 4096", "line 2 of the explorer's path is longer than"),
        ("_PATH_MAX_BYTES", 1 << 16, 'b\'{"at_ms": 5, "state": "x"}\\n\'', "the explorer's path is larger than"),
        ("_LINES_MAX", 100, 'b\'{"at_ms": 5, "state": "x"}\\n\'', "line 101 of the explorer's path is one too many"),
    ],
)
def test_a_path_that_never_ends_is_refused_as_soon_as_it_is_too_long(tmp_path, monkeypatch, limit, size, written, told):
    monkeypatch.setattr(explorer_command, limit, size)
    first = 'path.write(b\'{"at_ms": 5, "state": "x"}\\n\')\n'
    explorer = command_that(tmp_path, f"{_PATH}{first}for _ in range(3000):\n path.write({written})\ntime.sleep(60)\n")
    with pytest.raises(Rejected) as refusal:
        polled(explorer)
    assert refusal.value.reason is Reason.EXPLORER_OUTPUT_INVALID
    assert refusal.value.detail.startswith(told)


def test_of_a_talkative_program_the_last_messages_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(explorer_process, "_MESSAGES_MAX_BYTES", 1 << 16)
    monkeypatch.setattr(explorer_process, "_MESSAGES_KEPT_BYTES", 1 << 12)
    log = tmp_path / "explorer.log"
    explorer = command_that(
        tmp_path,
        "import os, pathlib, sys, time\n"
        "for number in range(3000):\n os.write(1, b'message %d ' % number + b'.' * 100 + b'\\n')\n"
        f"while pathlib.Path({str(log)!r}).stat().st_size > {1 << 16}:\n time.sleep(0.01)\n"
        "print('the end', flush=True)\nsys.exit(3)\n",
    )
    with pytest.raises(Rejected, match=r"message 2999 \.+ the end:") as refusal:
        polled(explorer)
    assert refusal.value.reason is Reason.EXPLORER_CRASHED
    assert log.stat().st_size <= 1 << 16


@given(st.binary(max_size=200))
def test_whatever_a_command_writes_it_is_taken_or_refused_by_its_reason(line):
    reason = None
    try:
        taken(line.replace(b"\n", b""))
    except Rejected as refusal:
        reason = refusal.reason
    assert reason in (None, Reason.EXPLORER_OUTPUT_INVALID)


# ---- the screen -------------------------------------------------------------------------------------
def hierarchy(*rows):
    nodes = "".join(
        f'<node class="android.widget.Button" resource-id="{name}" text="{text}" clickable="true" '
        f'bounds="[0,{index}][9,9]" package="x"/>'
        for index, (name, text) in enumerate(rows)
    )
    return f"<?xml version='1.0' encoding='UTF-8' ?><hierarchy rotation=\"0\">{nodes}</hierarchy>"


def test_a_longer_list_or_another_text_is_the_same_screen_and_another_button_is_not():
    short = screen_state(hierarchy(("row", "a")), with_text=False)
    assert short == screen_state(hierarchy(("row", "b"), ("row", "c")), with_text=False)
    assert short != screen_state(hierarchy(("row", "a"), ("save", "")), with_text=False)
    assert screen_state(hierarchy(("row", "a")), with_text=True) != screen_state(
        hierarchy(("row", "b")), with_text=True
    )


def test_status_bar_icons_are_not_part_of_the_apps_screen():
    bar = '<node class="Icon" resource-id="wifi" package="com.android.systemui"/></hierarchy>'
    dump = hierarchy(("row", "a"))
    assert screen_state(dump.replace("</hierarchy>", bar), with_text=False) == screen_state(dump, with_text=False)


@pytest.mark.parametrize(
    "dump",
    [
        "",
        "ERROR: could not get idle state.",
        "<hierarchy><node></hierarchy>",
        '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><hierarchy><node text="&b;"/></hierarchy>',
    ],
)
def test_what_is_no_hierarchy_is_no_screen(dump):
    assert screen_state(dump, with_text=True) is None


def test_the_foreground_activity_is_read_from_the_spellings_of_several_androids():
    for line in (
        "  mResumedActivity: ActivityRecord{8c2f u0 com.rig.shop/.ui.Home t33}",
        "    topResumedActivity=ActivityRecord{1f2e u0 com.rig.shop/com.rig.shop.ui.Home t12}",
        "  ResumedActivity: ActivityRecord{1f2e u10 com.rig.shop/.ui.Home} t12}",
    ):
        assert resumed_activity(line) == ("com.rig.shop", ".ui.Home")
    assert resumed_activity("mResumedActivity: null") is None
