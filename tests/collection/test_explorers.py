"""Explorers other than monkey in a whole session, each by a small program that writes what the real one writes."""

import time
from datetime import UTC, datetime, timedelta

import adbutils
import pytest

from perfreg_assets.collection import collect
from perfreg_assets.collection.exploration import hash_state
from perfreg_assets.reasons import Reason

pytestmark = pytest.mark.device


@pytest.fixture(autouse=True)
def told_while_it_ran(monkeypatch):
    """What each explorer says of its steps so far is what it leaves in the end."""
    made, pairs = collect.make_explorer, []

    def watched(context):
        explorer = made(context)
        stop = explorer.stop

        def stopped():
            left = stop()
            pairs.append((tuple(explorer.steps()), left.steps))
            return left

        explorer.stop = stopped
        return explorer

    monkeypatch.setattr(collect, "make_explorer", watched)
    yield
    for so_far, left in pairs:
        assert so_far == left


@pytest.fixture
def second_of_two_equal_hours(monkeypatch):
    """Clocks here were set back by an hour half an hour ago."""
    was_to_be = datetime.now(UTC) + timedelta(minutes=30)  # in summer time
    day = was_to_be.timetuple().tm_yday - 1
    monkeypatch.setenv("TZ", f"AAA0BBB-1,{(day - 100) % 365},{day}/{was_to_be:%H:%M}")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_droidbots_files_become_the_path(bench, second_of_two_equal_hours):
    command = bench.script("""
        root = os.environ["PERFREG_OUTPUT"]
        for name in ("events", "states"):
            os.makedirs(os.path.join(root, name))
        for number, state in enumerate("abc"):
            tag = time.strftime("%Y-%m-%d_%H%M%S")
            facts = {"state_str": state, "state_str_content_free": state.upper(), "foreground_activity": "x/.Home"}
            json.dump(facts, open(os.path.join(root, "states", f"state_{tag}.json"), "w"))
            time.sleep(1.05)
            event = {"tag": tag, "start_state": chr(ord(state) - 1), "stop_state": state}
            event["event_str"] = f"touch {number}"
            json.dump(event, open(os.path.join(root, "events", f"event_{tag}.json"), "w"))
    """)
    result = bench.collect(explorer="droidbot", explorer_command=command, time_limit_s=20.0, explorer_silence_s=10.0)
    assert result.stop_reason == "exhausted"
    document = bench.document(result)
    assert [step["state_hash"] for step in document["path"]] == [hash_state(state) for state in ("`", "A", "B")]
    assert [step["action"] for step in document["path"]] == ["touch 0", "touch 1", "touch 2"]
    last = document["path"][-1]
    assert (last["state_hash_after"], last["screen_after"]) == (hash_state("C"), "x/.Home")
    bench.assert_clean()


def test_droidbot_without_an_apk_or_without_droidbot_says_so(bench, monkeypatch):
    assert bench.fail(explorer="droidbot").reason is Reason.COLLECTION_CONFIG_INVALID
    monkeypatch.setenv("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
    assert bench.fail(explorer="droidbot", apk=bench.apk()).reason is Reason.EXPLORER_NOT_STARTED
    bench.assert_clean()


def test_fastbots_files_on_the_device_become_the_path_and_are_removed(bench):
    command = (
        *bench.script(f"""
            import subprocess
            serial, folder = sys.argv[2:4]
            adb = [{adbutils.adb_path()!r}, "-s", serial, "shell"]
            subprocess.run([*adb, "mkdir", "-p", folder], check=True)
            for step in range(4):
                name = f"step-{{step}}-{{step % 2}}77-{{step}}-{{time.time() * 1000:.0f}}.xml"
                subprocess.run([*adb, "touch", folder + "/" + name], check=True)
                time.sleep(0.2)
        """),
        "{serial}",
        "{device_output}",
    )
    result = bench.collect(explorer="fastbot2", explorer_command=command, time_limit_s=20.0, explorer_silence_s=10.0)
    document = bench.document(result)
    assert [step["state_hash"] for step in document["path"]] == [hash_state(state) for state in ("077", "177") * 2]
    assert "one Fastbot2 build" in document["collection"]["explorer_notes"][0]
    start, end = document["exploration"]["start_ns"], document["exploration"]["end_ns"]
    assert all(start <= step["ts_ns"] <= end for step in document["path"])
    bench.assert_clean()


def test_any_program_gets_a_folder_on_the_device_that_is_removed(bench):
    command = bench.script(f"""
        import subprocess
        command = [{adbutils.adb_path()!r}, "-s", sys.argv[2], "shell", "ls", "-d", sys.argv[3]]
        listed = subprocess.run(command, capture_output=True, text=True).stdout.strip()
        path.write(json.dumps({{"at_ms": time.time() * 1000, "state": "home", "screen": listed}}) + "\\n")
    """)
    result = bench.collect(explorer="command", explorer_command=(*command, "{serial}", "{device_output}"))
    (step,) = bench.document(result)["path"]
    assert step["screen"].startswith("/data/local/tmp/perfreg-")
    bench.assert_clean()


def test_an_explorers_own_findings_are_functional_problems(bench):
    command = bench.script("""
        path.write(json.dumps({"step": 0, "at_ms": time.time() * 1000, "state": "home"}) + "\\n")
        path.write(json.dumps({"problem": "hang", "message": "no answer", "at_ms": time.time() * 1000}) + "\\n")
        time.sleep(0.3)
    """)
    document = bench.document(bench.collect(explorer="command", explorer_command=command, time_limit_s=5.0))
    (problem,) = document["functional_problems"]
    assert (problem["kind"], problem["message"]) == ("hang", "no answer")
    assert document["exploration"]["start_ns"] < problem["ts_ns"]


def test_a_last_line_that_was_cut_off_is_left_out_and_said(bench):
    command = bench.script("""
        path.write(json.dumps({"step": 0, "at_ms": time.time() * 1000, "state": "home"}) + "\\n")
        path.write('{"step": 1, "at_')
        path.flush()
        time.sleep(60)
    """)
    document = bench.document(bench.collect(explorer="command", explorer_command=command, time_limit_s=1.5))
    assert len(document["path"]) == 1
    assert "last line" in document["collection"]["explorer_notes"][0]


def test_monkey_may_end_when_nothing_new_was_seen_for_a_while(bench):
    result = bench.collect(
        explorer_options={"exhausted_after_s": "1.0", "state": "structure"}, time_limit_s=60.0, action_interval_s=0.2
    )
    assert result.stop_reason == "exhausted"
    bench.assert_clean()


def test_monkey_ends_at_a_crash_when_told_not_to_ignore_it(bench):
    result = bench.collect(
        apk=bench.apk(crash_after=3), explorer_options={"ignore_crashes": "false"}, time_limit_s=30.0
    )
    assert result.stop_reason == "exhausted"
    assert [problem["kind"] for problem in bench.document(result)["functional_problems"]] == ["crash"]
    bench.assert_clean()


@pytest.mark.parametrize(
    "options", [{"colour": "red"}, {"exhausted_after_s": "soon"}, {"exhausted_after_s": "-1"}, {"state": "pixels"}]
)
def test_an_option_that_monkey_does_not_have_is_refused(bench, options):
    assert bench.fail(explorer_options=options).reason is Reason.COLLECTION_CONFIG_INVALID
    bench.assert_clean()


def test_files_of_ours_that_no_list_names_are_told_by_a_sweep(bench):
    bench.device.path("/data/misc/perfetto-traces/perfreg-lost.pftrace").write_bytes(b"x")
    bench.device.path("/data/local/tmp/somebody-elses").write_bytes(b"x")
    swept = bench.sweep()
    assert swept.unlisted == (f"/data/misc/perfetto-traces/perfreg-lost.pftrace on {bench.device.serial}",)
    assert (swept.cleaned, swept.remaining) == ((), ())


def test_a_program_and_an_apk_that_are_named_from_where_one_is_are_found(bench, monkeypatch):
    program = bench.folder / "my-explorer"
    step = '{\\"state\\": \\"a\\", \\"at_ms\\": $(date +%s000)}'
    program.write_text(f'#!/bin/sh\ntest -f "$1" && sleep 1 && echo "{step}" > "$2"\n', encoding="utf-8")
    program.chmod(0o755)
    bench.apk("shop.apk")
    monkeypatch.chdir(bench.folder)
    command = ("./my-explorer", "{apk}", "{path}")
    result = bench.collect(apk="shop.apk", explorer="command", explorer_command=command, time_limit_s=20.0)
    assert (result.stop_reason, result.step_count) == ("exhausted", 1)
