"""deploy/kubernetes.yaml and deploy/values.yaml in a cluster, where one is named."""

from __future__ import annotations

import os

import pytest

from tests import cluster

CONTEXT = os.environ.get(cluster.VARIABLE)
LACKING = cluster.missing(CONTEXT)


@pytest.mark.skipif(LACKING is not None, reason=f"needs a Kubernetes cluster: {LACKING}")
@pytest.mark.timeout(3600)  # five to ten minutes on two idle cores
def test_kubernetes_starts_and_judges_whatever_is_killed():
    assert cluster.main(CONTEXT) == 0
