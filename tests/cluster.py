"""Starts deploy/kubernetes.yaml and deploy/values.yaml in a Kubernetes cluster: `python -m tests.cluster CONTEXT`.

CONTEXT is kubectl's, of a cluster to try things in: one of its nodes is labelled. Everything else happens in a
namespace of its own, by the commands that docs/deploy.md prints. Where Dagster's chart is at hand (REHEARSAL_CHART, see
tests/test_chart.py), `helm install` is one of them; otherwise what the chart makes of the values is applied
(tests/chart.py). PostgreSQL is a pod, the object store a server of this process, which the pods must be able to reach.
Recorded runs are uploaded; pods of both locations' runs and the warehouse's server are killed meanwhile; in the end the
verdicts are those of a plain `perfreg ingest`.

The nodes need the images that values.yaml and compose.yaml name (with the chart also its own: postgres, busybox), and
the claim of kubernetes.yaml a storage class or a volume that fits it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import fsspec
import yaml

from tests import chart
from tests.containers import PAGE, ROOT, RUNS, expected, printed, states, wait_for
from tests.object_store import object_store

VARIABLE = "REHEARSAL_CONTEXT"
NAMESPACE = "perfreg-rehearsal"
BUCKET = "perfreg-exchange"
WAREHOUSE = f"deployment/{chart.LOCATIONS}-warehouse"


def missing(context: str | None) -> str | None:
    """What this machine lacks, in words; None if nothing. A cluster that nobody named is left alone."""
    if not context:
        return f"{VARIABLE} names no context of kubectl"
    command = ["kubectl", "--context", context, "--request-timeout=5s", "get", "nodes"]
    if shutil.which("kubectl") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        return f"`{shlex.join(command)}` does not answer"
    return None


class Kubectl:
    """kubectl in the namespace of the rehearsal."""

    def __init__(self, context: str, folder: Path) -> None:
        view = ["kubectl", "--context", context, "config", "view", "--raw", "--flatten", "--minify"]
        config = subprocess.run(view, check=True, stdout=subprocess.PIPE).stdout
        own = folder / "kubeconfig"
        own.touch(mode=0o600)
        own.write_bytes(config)
        self._environment = {**os.environ, "KUBECONFIG": str(own)}
        self("config", "set-context", "--current", f"--namespace={NAMESPACE}")

    def __call__(self, *words: str, given: object = None) -> str:
        """What the command printed. Raises subprocess.CalledProcessError."""
        text = None if given is None else json.dumps(given)
        command = ["kubectl", *words]
        return subprocess.run(
            command, env=self._environment, check=True, stdout=subprocess.PIPE, text=True, input=text
        ).stdout

    def shell(self, line: str) -> None:
        """A command of the page, which may be helm's."""
        subprocess.run(line, shell=True, env=self._environment, cwd=ROOT, check=True)

    def apply(self, *documents: chart.Document) -> None:
        self("apply", "--filename", "-", given={"apiVersion": "v1", "kind": "List", "items": documents})

    def pods(self, *selector: str) -> list[chart.Document]:
        found: list[chart.Document] = json.loads(self("get", "pods", "--output", "json", *selector))["items"]
        return found

    def kill(self, pod: chart.Document) -> None:
        name = pod["metadata"]["name"]
        self("delete", "pod", name, "--grace-period=0", "--force")
        print(f"killed pod {name}", flush=True)


def own_address() -> str:
    """The address of this machine that others reach it by; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        address: str = probe.getsockname()[0]
        return address


def set_up(kubectl: Kubectl, endpoint: str, values: chart.Document) -> None:
    """What the page prints, and what stands in for services outside the cluster."""
    node = json.loads(kubectl("get", "nodes", "--output", "json"))["items"][0]["metadata"]["name"]
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("kubectl "):
            kubectl.shell(line.replace(" NODE ", f" {node} --overwrite ").replace("=…", "=rehearsal"))
    config = {"PERFREG_EXCHANGE": f"s3://{BUCKET}/perfreg", "AWS_ENDPOINT_URL": endpoint}
    kubectl("patch", "configmap", "perfreg", "--patch", json.dumps({"data": config}))
    database = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text("utf-8"))["services"]["postgres"]
    values["postgresql"]["postgresqlHost"] = "postgres"
    user = values["postgresql"]
    environment = {
        "POSTGRES_USER": user["postgresqlUsername"],
        "POSTGRES_PASSWORD": "rehearsal",
        "POSTGRES_DB": user["postgresqlDatabase"],
    }
    kubectl.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "postgres", "labels": {"app": "postgres"}},
            "spec": {
                "containers": [
                    {
                        "name": "postgres",
                        "image": database["image"],
                        "imagePullPolicy": "IfNotPresent",
                        "env": [{"name": name, "value": value} for name, value in environment.items()],
                    }
                ]
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "postgres"},
            "spec": {"selector": {"app": "postgres"}, "ports": [{"port": 5432}]},
        },
    )


def install(kubectl: Kubectl, values: chart.Document, folder: Path) -> None:
    """By the page's command where the chart is at hand; waits until all of it is ready."""
    if chart.AT_HAND:
        file = folder / "values.yaml"
        file.write_text(json.dumps(values), "utf-8")
        given = {"helm": str(chart.HELM), "dagster/dagster": chart.AT_HAND, "deploy/values.yaml": str(file)}
        kubectl.shell(shlex.join(given.get(word, word) for word in printed("helm install ")))
    else:
        kubectl.apply(*chart.manifests(values, NAMESPACE))
    for deployment in kubectl("get", "deployments", "--output", "name").split():
        kubectl("rollout", "status", "--timeout=600s", deployment)


def at_work(kubectl: Kubectl, location: str) -> list[chart.Document]:
    """Pods of Dagster's runs of a code location that have begun a step and go on."""
    pods = kubectl.pods("--selector", f"dagster/code-location={location}", "--field-selector", "status.phase=Running")
    return [pod for pod in pods if "STEP_START" in kubectl("logs", pod["metadata"]["name"])]


def judged(kubectl: Kubectl) -> dict[str, str]:
    """The verdicts in the warehouse's pod."""
    try:
        return states(kubectl("exec", WAREHOUSE, "--", "sh", "-c", "perfreg verdicts --format json || true"))
    except (subprocess.CalledProcessError, ValueError):  # nothing is there yet, or the pod is just being made
        return {}


def rehearse(kubectl: Kubectl, wanted: dict[str, str], scratch: Path) -> int:
    # A server and its runs ask for cores that the one node of a small cluster does not have.
    text = re.sub(r'(cpu"?: )"\d+"', r'\1"50m"', (ROOT / "deploy" / "values.yaml").read_text("utf-8"))
    values = yaml.safe_load(text)
    with object_store("0.0.0.0") as port:
        endpoint = f"http://{own_address()}:{port}"
        store = fsspec.filesystem("s3", endpoint_url=endpoint, key="rehearsal", secret="rehearsal")
        store.mkdir(BUCKET)

        def arrive(folders: list[Path]) -> None:
            for folder in folders:
                for file in sorted(folder.iterdir(), key=lambda one: one.name == "run.json"):
                    store.put_file(str(file), f"{BUCKET}/perfreg/inbox/{folder.name}/{file.name}")

        set_up(kubectl, endpoint, values)
        install(kubectl, values, scratch)
        arrive(RUNS[:8])
        (reader, *_) = wait_for("a pod reads traces", lambda: at_work(kubectl, "workers"))
        kubectl.kill(reader)
        arrive(RUNS[8:])
        (writer, *_) = wait_for("a pod writes", lambda: at_work(kubectl, "warehouse"))
        kubectl.kill(writer)
        (server,) = kubectl.pods("--selector", "deployment=warehouse")
        kubectl.kill(server)
        wait_for("all are judged as by a plain ingest", lambda: judged(kubectl) == wanted)
        store.invalidate_cache()
        left = [file for part in ("inbox", "results") for file in store.find(f"{BUCKET}/perfreg/{part}")]
        print(f"left in the exchange: {left}", flush=True)
        return 1 if left else 0


def main(context: str | None) -> int:
    """All of it; 0 if the verdicts are the same."""
    lacking = missing(context)
    if lacking or context is None:
        print(f"not tried: {lacking}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        wanted = expected(Path(name))
        if not wanted:
            raise SystemExit("a plain ingest of the same folders judged nothing: there is nothing to compare with")
        kubectl = Kubectl(context, Path(name))
        kubectl("create", "namespace", NAMESPACE)
        try:
            return rehearse(kubectl, wanted, Path(name))
        except (subprocess.CalledProcessError, AssertionError):
            print(kubectl("get", "pods", "--output", "wide"), file=sys.stderr)
            print(kubectl("get", "events", "--sort-by=.lastTimestamp")[-6000:], file=sys.stderr)
            for pod in kubectl.pods():
                if pod["status"]["phase"] != "Pending":
                    print(kubectl("logs", "--tail=60", pod["metadata"]["name"]), file=sys.stderr)
            print(f"wanted {wanted}\nfound {judged(kubectl)}", file=sys.stderr)
            raise
        finally:
            kubectl("delete", "namespace", NAMESPACE)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1] if len(sys.argv) == 2 else os.environ.get(VARIABLE)))
