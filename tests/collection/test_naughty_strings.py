"""Names from a device or an operator are data on every path.

No shell, no file system and no log takes them for more.
"""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from perfreg_assets.collection.adb_server import AdbServer
from perfreg_assets.collection.config import CollectionConfig, check_app_id
from perfreg_assets.collection.device import Device
from perfreg_assets.collection.device_shell import quote_command
from perfreg_assets.collection.run_folder import read_run_folder
from perfreg_assets.reasons import Reason, Rejected

NAUGHTY = [
    "$(touch /data/rig/pwned)",
    "`touch /data/rig/pwned`",
    "; touch /data/rig/pwned",
    "&& touch /data/rig/pwned #",
    "| touch /data/rig/pwned",
    "> /data/rig/pwned",
    "'; touch /data/rig/pwned; '",
    '"; touch /data/rig/pwned; "',
    "a'b\"c\\d",
    "${HOME}",
    "~root",
    "*",
    "-rf",
    "--help",
    "../../../etc/passwd",
    "..",
    "a b\tc",
    "%s%n%x",
    "{serial}{path}",
    "\u202eabc",
    "日本語 Ω 🦊",
    "𝒳" * 40,
    "<script>alert(1)</script>",
    "'; DROP TABLE runs; --",
    "x" * 3000,
    "\x1b[31mred",
    "\x01\x7f",
    "null",
    "0",
]


@pytest.fixture
def device(standin):
    return Device(AdbServer(), standin.serial, token="naughty")


def untouched(standin):
    return not standin.path("/data/rig/pwned").exists()


@pytest.mark.device
@pytest.mark.parametrize("text", [*NAUGHTY, "two\nlines", ""])
def test_an_argument_arrives_as_it_is(device, standin, text):
    assert device.run(["printf", "%s", text]).stdout == text.encode()
    assert device.script('printf "%s" "$1"', text).stdout == text.encode()
    assert untouched(standin)


@pytest.mark.device
def test_any_text_arrives_as_it_is(device):
    @hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30), max_size=4)
    )
    def arrives(words):
        out = device.run(["sh", "-c", 'for word in "$@"; do printf "%s\\0" "$word"; done', "sh", *words]).stdout
        assert out == b"".join(word.encode() + b"\0" for word in words)

    arrives()


@pytest.mark.device
@pytest.mark.parametrize("text", NAUGHTY)
def test_a_file_name_is_one_file(device, standin, tmp_path, text):
    name = text.replace("/", "_")[:60]
    if name in ("..", "~root"):
        name = "_" + name
    source, back = tmp_path / "source", tmp_path / "back"
    source.write_bytes(b"content")
    remote = f"/data/local/tmp/{name}"
    device.push(source, remote, timeout_s=10)
    assert [path.name for path in standin.path("/data/local/tmp").iterdir()] == [name]
    assert device.file_bytes(remote) == 7
    assert device.pull(remote, back, timeout_s=10)[0] == 7
    assert device.remove(remote)
    assert list(standin.path("/data/local/tmp").iterdir()) == []
    assert untouched(standin)


@pytest.mark.parametrize("text", ["nul\0byte", "half \ud800 pair"])
def test_what_no_argument_can_hold_is_refused(text):
    with pytest.raises(Rejected) as refusal:
        quote_command(["echo", text])
    assert refusal.value.reason is Reason.COLLECTION_CONFIG_INVALID


@pytest.mark.parametrize(
    "text", [*NAUGHTY, "", "single", "com..double", ".com.x", "com.x.", "com.1x", "com.x\n", "ком.рус"]
)
def test_an_application_id_that_is_none_is_refused_before_anything_else(text):
    with pytest.raises(Rejected) as refusal:
        check_app_id(text)
    assert refusal.value.reason is Reason.APP_ID_INVALID
    with pytest.raises(Rejected):
        CollectionConfig(app=text)


ALL_SHELL = "$(touch /data/rig/pwned) `touch /data/rig/pwned`; touch /data/rig/pwned & '\" \\ ${HOME} * > x | y #"


@pytest.mark.device
@pytest.mark.parametrize("version", [ALL_SHELL, "../../--help", "日本語 Ω 🦊 <b>'; DROP TABLE runs; --", "x" * 3000])
def test_a_version_name_goes_all_the_way_from_the_apk_into_the_run_folder(bench, version):
    """Manifest → install → dumpsys → folder name and run.json; in a session that is as short as can be."""
    result = bench.collect(
        apk=bench.apk(version_name=version), strategy=version, time_limit_s=1.6, action_interval_s=0.2
    )
    run = read_run_folder(result.run_folder, bench.settings)
    assert run.version_name == version
    assert run.config.strategy == version
    assert result.run_folder.parent == bench.out
    assert json.loads((result.run_folder / "run.json").read_text(encoding="utf-8"))["version_name"] == version
    assert untouched(bench.device)
    bench.assert_clean()


@pytest.mark.device
def test_a_version_name_of_two_lines_is_refused_and_not_cut(bench):
    error = bench.fail(apk=bench.apk(version_name="1.0\nversionName=2.0"))
    assert error.reason is Reason.BUILD_MISMATCH
    bench.assert_clean()


@pytest.mark.device
def test_an_explorers_words_and_arguments_are_data(bench):
    command = (
        *bench.script("""
            text = sys.argv[2]
            for step in range(3):
                line = {"step": step, "at_ms": time.time() * 1000, "state": text, "screen": text, "action": text}
                path.write(json.dumps(line) + "\\n")
                time.sleep(0.1)
        """),
        "$(touch pwned) '\" \ud800 {unknown}".replace("\ud800", "ü"),
    )
    result = bench.collect(explorer="command", explorer_command=command, time_limit_s=5.0)
    document = bench.document(result)
    assert {step["screen"] for step in document["path"]} == {"$(touch pwned) '\" ü {unknown}"}
    assert not list(Path(bench.folder).rglob("pwned"))


@pytest.mark.device
def test_half_of_a_surrogate_pair_from_an_explorer_does_not_spoil_the_run_folder(bench):
    command = bench.script("""
        path.write('{"step": 0, "at_ms": %d, "state_hash": "x", "screen": "\\\\ud800"}\\n' % (time.time() * 1000))
        time.sleep(0.2)
    """)
    result = bench.collect(explorer="command", explorer_command=command, time_limit_s=5.0)
    assert read_run_folder(result.run_folder, bench.settings).path[0].screen == "?"
