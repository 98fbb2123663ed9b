"""Places that machines exchange files through: a folder, and a bucket of an S3 server of our own on loopback."""

from __future__ import annotations

import uuid

import pytest

from tests.object_store import object_store


@pytest.fixture
def bucket(monkeypatch):
    """URL of an empty place in an object store; this process and its children speak to it."""
    with object_store() as port:
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "rehearsal",
            "AWS_SECRET_ACCESS_KEY": "rehearsal",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }.items():
            monkeypatch.setenv(name, value)
        import fsspec  # noqa: PLC0415

        name = f"rehearsal-{uuid.uuid4().hex}"  # (buckets outlive their server within a process)
        fsspec.filesystem("s3", skip_instance_cache=True).mkdir(name)
        yield f"s3://{name}/perfreg"


@pytest.fixture(params=["folder", "bucket"])
def place(request, tmp_path):
    """URL of an empty place, of either kind."""
    if request.param == "bucket":
        return request.getfixturevalue("bucket")
    (tmp_path / "exchange").mkdir(exist_ok=True)
    return str(tmp_path / "exchange")
