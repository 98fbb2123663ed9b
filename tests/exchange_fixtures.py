"""Places that machines exchange files through: a folder, and a bucket of an S3 server of our own on loopback."""

from __future__ import annotations

import logging
import uuid

import pytest


@pytest.fixture
def bucket(monkeypatch):
    """URL of an empty place in an object store; this process and its children speak to it."""
    # Only tests that ask for it pay for the import.
    from moto.server import ThreadedMotoServer  # noqa: PLC0415

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line per request
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
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
    server.stop()


@pytest.fixture(params=["folder", "bucket"])
def place(request, tmp_path):
    """URL of an empty place, of either kind."""
    return str(tmp_path / "exchange") if request.param == "folder" else request.getfixturevalue("bucket")
