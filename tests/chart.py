"""What Dagster's Helm chart makes of deploy/values.yaml, as far as pods of perfreg depend on it.

The chart is in no package that pip installs; this follows its templates deployment-user, configmap-instance,
configmap-workspace, deployment-daemon, role and service-user (dagster-io/dagster, helm/dagster).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]

HOME = "/opt/dagster/dagster_home"
MAIN, LOCATIONS = "perfreg-dagster", "perfreg-dagster-user-deployments"
"""Full names of chart and subchart, of a release that is called perfreg."""
CONTEXT = "DAGSTER_CLI_API_GRPC_CONTAINER_CONTEXT"
"""What a code server tells the launcher about the pods of its runs."""
_HANDED_ON = {
    "volumeMounts": "volume_mounts",
    "volumes": "volumes",
    "labels": "labels",
    "resources": "resources",
    "schedulerName": "scheduler_name",
}


def deployments(values: Document) -> list[Document]:
    """The code locations."""
    found: list[Document] = values["dagster-user-deployments"]["deployments"]
    return found


def container_context(deployment: Document) -> Document:
    """What launched runs are given of their location's deployment."""
    env = deployment.get("env", [])
    if not deployment["includeConfigInLaunchedRuns"]["enabled"]:
        found: Document = json.loads(next((one["value"] for one in env if one["name"] == CONTEXT), "{}"))
        return found
    own = {name: deployment[key] for key, name in _HANDED_ON.items() if deployment.get(key)}
    return {
        "k8s": {
            **own,
            "image_pull_policy": deployment["image"]["pullPolicy"],
            "env_config_maps": [
                f"{LOCATIONS}-{deployment['name']}-user-env",
                *(one["name"] for one in deployment.get("envConfigMaps", ())),
            ],
            "env_secrets": [one["name"] for one in deployment.get("envSecrets", ())],
            "service_account_name": MAIN,
            **({"env": env} if isinstance(env, list) and env else {}),
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
            "module": "dagster._core.run_coordinator",
            "class": "QueuedRunCoordinator",
            "config": {
                "max_concurrent_runs": queue["maxConcurrentRuns"],
                "tag_concurrency_limits": queue["tagConcurrencyLimits"],
            },
        },
        "compute_logs": {
            "module": "dagster._core.storage.noop_compute_log_manager",
            "class": "NoOpComputeLogManager",
        },
        "run_monitoring": {
            "enabled": monitoring["enabled"],
            "start_timeout_seconds": monitoring["startTimeoutSeconds"],
            "max_resume_run_attempts": monitoring["maxResumeRunAttempts"],
            "poll_interval_seconds": monitoring["pollIntervalSeconds"],
            "free_slots_after_run_end_seconds": 0,
        },
        "sensors": {
            "use_threads": daemon["sensors"]["useThreads"],
            "num_workers": daemon["sensors"]["numWorkers"],
        },
        "telemetry": values["telemetry"],
        "retention": {
            name: {"purge_after_days": values["retention"][name]["purgeAfterDays"]} for name in ("schedule", "sensor")
        },
    }


def manifests(values: Document, namespace: str) -> Iterator[Document]:
    """What is applied to the cluster; the webserver, which runs nothing of perfreg's, is left out."""
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": MAIN}}
    yield {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": MAIN},
        "rules": [
            {"apiGroups": ["batch"], "resources": ["jobs", "jobs/status"], "verbs": ["*"]},
            {"apiGroups": [""], "resources": ["pods", "pods/log", "pods/status", "events"], "verbs": ["*"]},
        ],
    }
    yield {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": MAIN},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": MAIN},
        "subjects": [{"kind": "ServiceAccount", "name": MAIN, "namespace": namespace}],
    }
    yield _config(f"{MAIN}-instance", {"dagster.yaml": json.dumps(instance(values, namespace))})
    servers = [
        {"grpc_server": {"host": one["name"], "port": one["port"], "location_name": one["name"]}}
        for one in deployments(values)
    ]
    yield _config(f"{MAIN}-workspace-yaml", {"workspace.yaml": json.dumps({"load_from": servers})})
    for one in deployments(values):
        yield from _location(values, one)
    yield _daemon(values)


def _location(values: Document, one: Document) -> Iterator[Document]:
    name, env = one["name"], one.get("env", [])
    yield _config(f"{LOCATIONS}-{name}-user-env", env if isinstance(env, dict) else {})
    labels = {"app": LOCATIONS, "deployment": name}
    image = f"{one['image']['repository']}:{one['image']['tag']}"
    told = one["includeConfigInLaunchedRuns"]["enabled"]
    container = {
        "name": "dagster-user-deployments",
        "image": image,
        "imagePullPolicy": one["image"]["pullPolicy"],
        "args": ["dagster", "api", "grpc", "-h", "0.0.0.0", "-p", str(one["port"]), *one["dagsterApiGrpcArgs"]],
        "env": [
            {"name": "DAGSTER_HOME", "value": HOME},
            {"name": "DAGSTER_CURRENT_IMAGE", "value": image},
            _password(values),
            *([{"name": CONTEXT, "value": json.dumps(container_context(one))}] if told else []),
            *(env if isinstance(env, list) else []),
        ],
        "envFrom": [
            {"configMapRef": {"name": f"{LOCATIONS}-{name}-user-env"}},
            *({"configMapRef": config} for config in one.get("envConfigMaps", ())),
            *({"secretRef": secret} for secret in one.get("envSecrets", ())),
        ],
        "resources": one["resources"],
        "volumeMounts": one.get("volumeMounts", []),
        "readinessProbe": {
            "exec": {"command": ["dagster", "api", "grpc-health-check", "-p", str(one["port"])]},
            "periodSeconds": 20,
            "timeoutSeconds": 10,
            "failureThreshold": 15,
        },
    }
    spec = {
        "serviceAccountName": MAIN,
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
        "spec": {"selector": labels, "ports": [{"port": one["port"]}]},
    }


def _daemon(values: Document) -> Document:
    image = values["dagsterDaemon"]["image"]
    container = {
        "name": "dagster",
        "image": f"{image['repository']}:{image['tag']}",
        "imagePullPolicy": image["pullPolicy"],
        "command": ["/bin/bash", "-c", "dagster-daemon run -w /dagster-workspace/workspace.yaml"],
        "env": [{"name": "DAGSTER_HOME", "value": HOME}, _password(values)],
        "volumeMounts": [
            {"name": "instance", "mountPath": f"{HOME}/dagster.yaml", "subPath": "dagster.yaml"},
            {"name": "workspace", "mountPath": "/dagster-workspace/"},
        ],
    }
    spec = {
        "serviceAccountName": MAIN,
        "containers": [container],
        "volumes": [
            {"name": "instance", "configMap": {"name": f"{MAIN}-instance"}},
            {"name": "workspace", "configMap": {"name": f"{MAIN}-workspace-yaml"}},
        ],
    }
    return _deployment(f"{MAIN}-daemon", {"app": MAIN, "deployment": "daemon"}, spec)


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
