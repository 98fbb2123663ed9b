"""Which build an APK is, and which of a folder are ready."""

import json
import os
import time

import pytest
import standin_apk

from perfreg_assets.collection.builds import check_build, read_build, scan_builds
from perfreg_assets.reasons import Reason, Rejected


def apk(folder, name="shop.apk", **facts):
    return standin_apk.write_apk(folder / name, **{"package": "com.rig.shop", "version_code": 150, **facts})


def refused(call):
    with pytest.raises(Rejected) as refusal:
        call()
    return refusal.value.reason


def test_the_manifest_says_which_build_it_is(tmp_path):
    build = read_build(apk(tmp_path, version_name="1.5.0"))
    assert (build.app, build.version_name, build.version_code) == ("com.rig.shop", "1.5.0", 150)
    assert len(build.content_hash) == 64


def test_the_same_content_under_two_names_is_one_build(tmp_path):
    first = read_build(apk(tmp_path))
    (tmp_path / "copy.apk").write_bytes((tmp_path / "shop.apk").read_bytes())
    assert read_build(tmp_path / "copy.apk").content_hash == first.content_hash


def test_a_side_car_says_it_instead_of_a_manifest(tmp_path):
    path = tmp_path / "shop.apk"
    path.write_bytes(b"not even a zip")
    side_car = {"package": "com.rig.shop", "version_name": "1.5.0-rc1"}
    (tmp_path / "shop.apk.json").write_text(json.dumps(side_car))
    build = read_build(path)
    assert (build.version_name, build.version_code) == ("1.5.0-rc1", None)


@pytest.mark.parametrize(
    "side_car",
    [
        b"{",
        b"[]",
        b'{"package": "com.rig.shop"}',
        b'{"package": 1, "version_name": "1"}',
        b'{"package": "com.rig.shop", "version_name": "1", "version_code": -1}',
        b'{"package": "com.rig.shop", "version_name": "  "}',
        b'{"package": "com.rig.shop", "version_name": "1", "version_name": "2"}',
        b" " * 100_000,
        b"\xff",
    ],
)
def test_a_side_car_that_does_not_say_it_is_refused(tmp_path, side_car):
    path = apk(tmp_path)
    (tmp_path / "shop.apk.json").write_bytes(side_car)
    assert refused(lambda: read_build(path)) is Reason.BUILD_UNREADABLE


def test_torn_and_foreign_files_are_refused(tmp_path):
    whole = apk(tmp_path).read_bytes()
    for content in (b"", b"PK\x03\x04", whole[:100], whole[: len(whole) // 2], b"\0" * 1000):
        path = tmp_path / "torn.apk"
        path.write_bytes(content)
        assert refused(lambda: read_build(path)) is Reason.BUILD_UNREADABLE  # noqa: B023
    assert refused(lambda: read_build(tmp_path / "missing.apk")) is Reason.BUILD_UNREADABLE


def test_every_byte_of_the_manifest_may_be_damaged_without_another_error(tmp_path):
    manifest = standin_apk.binary_manifest("com.rig.shop", "1.0", 1)
    import zipfile  # noqa: PLC0415

    for position in range(0, len(manifest), 7):
        damaged = bytearray(manifest)
        damaged[position] ^= 0xFF
        path = tmp_path / "damaged.apk"
        with zipfile.ZipFile(path, "w") as out:
            out.writestr("AndroidManifest.xml", bytes(damaged))
        reason = None
        try:
            read_build(path)
        except Rejected as refusal:
            reason = refusal.reason
        assert reason in (None, Reason.BUILD_UNREADABLE, Reason.APP_ID_INVALID)


def test_a_build_of_another_app_or_version_is_not_the_one_asked_for(tmp_path):
    build = read_build(apk(tmp_path, version_name="1.5.0"))
    check_build(build, app="com.rig.shop", version_name=None)
    check_build(build, app="com.rig.shop", version_name="1.5.0")
    assert refused(lambda: check_build(build, app="com.rig.other", version_name=None)) is Reason.BUILD_MISMATCH
    assert refused(lambda: check_build(build, app="com.rig.shop", version_name="1.6")) is Reason.BUILD_MISMATCH


# ---- the watched folder -------------------------------------------------------------------------------
def age(path, seconds):
    moment = time.time() - seconds
    os.utime(path, (moment, moment))


def test_a_build_counts_when_nothing_writes_to_it_any_more(tmp_path):
    path = apk(tmp_path)
    first = scan_builds(tmp_path, settle_s=60)
    assert (first.builds, first.growing) == ((), ("shop.apk",))
    second = scan_builds(tmp_path, first.seen, settle_s=60)
    assert [build.version_code for build in second.builds] == [150]
    age(path, 100)
    assert len(scan_builds(tmp_path, settle_s=60).builds) == 1


def test_a_file_that_grows_between_two_looks_waits_again(tmp_path):
    path = apk(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:50])
    first = scan_builds(tmp_path, settle_s=60)
    path.write_bytes(whole)
    second = scan_builds(tmp_path, json.loads(json.dumps(first.seen)), settle_s=60)
    assert second.growing == ("shop.apk",)
    assert len(scan_builds(tmp_path, second.seen, settle_s=60).builds) == 1


def test_hidden_and_other_files_are_not_builds_and_bad_ones_are_named_with_their_reason(tmp_path):
    apk(tmp_path, name=".shop.apk")
    apk(tmp_path, name="good.apk")
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "bad.apk").write_text("x")
    for path in tmp_path.iterdir():
        age(path, 100)
    scan = scan_builds(tmp_path)
    assert [build.path.rsplit("/", 1)[-1] for build in scan.builds] == ["good.apk"]
    assert [(name, refusal.reason) for name, refusal in scan.refused] == [("bad.apk", Reason.BUILD_UNREADABLE)]


def test_unchanged_builds_are_read_once_and_changed_ones_again(tmp_path):
    path = apk(tmp_path)
    age(path, 100)
    first = scan_builds(tmp_path, skip_unchanged=True)
    assert len(first.builds) == 1
    assert scan_builds(tmp_path, first.seen, skip_unchanged=True).builds == ()
    apk(tmp_path, version_name="2.0")
    age(path, 50)
    assert [build.version_name for build in scan_builds(tmp_path, first.seen, skip_unchanged=True).builds] == ["2.0"]


def test_a_folder_that_is_not_there_holds_nothing(tmp_path):
    assert scan_builds(tmp_path / "none").builds == ()


@pytest.mark.parametrize("first", ["refused", "read"])
def test_a_side_car_that_is_put_there_or_changed_has_its_apk_read_again(tmp_path, first):
    apk = tmp_path / "shop.apk"
    apk.write_bytes(b"PK\x05\x06" + bytes(18))  # no manifest
    side_car = tmp_path / "shop.apk.json"
    if first == "read":
        side_car.write_text(json.dumps({"package": "com.rig.shop", "version_name": "1.0"}))
    scan = scan_builds(tmp_path, settle_s=0, skip_unchanged=True)
    assert (len(scan.builds), len(scan.refused)) == ((0, 1) if first == "refused" else (1, 0))
    side_car.write_text(json.dumps({"package": "com.rig.shop", "version_name": "1.0.1"}))
    scan = scan_builds(tmp_path, scan.seen, settle_s=60, skip_unchanged=True)
    assert scan.growing == ("shop.apk",)
    scan = scan_builds(tmp_path, scan.seen, settle_s=60, skip_unchanged=True)
    assert [build.version_name for build in scan.builds] == ["1.0.1"]
    scan = scan_builds(tmp_path, scan.seen, settle_s=60, skip_unchanged=True)
    assert (scan.builds, scan.refused) == ((), ())


def test_what_an_earlier_release_saw_is_not_read_again(tmp_path):
    apk = tmp_path / "shop.apk"
    apk.write_bytes(b"PK\x05\x06" + bytes(18))
    seen = {"shop.apk": [apk.stat().st_size, apk.stat().st_mtime_ns, 1]}
    assert scan_builds(tmp_path, seen, settle_s=0, skip_unchanged=True).refused == ()
