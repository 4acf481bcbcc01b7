"""Which kinds the API knows: under which path, in a namespace or not, and which of them run pods."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One kind as its path names it."""

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool = True
    runs: bool = False  # a job: a controller makes pods for it

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def status_name(self) -> str:
        """How the API server calls it in a sentence."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


KINDS = (
    Kind("", "v1", "namespaces", "Namespace", namespaced=False),
    Kind("", "v1", "nodes", "Node", namespaced=False),
    Kind("", "v1", "pods", "Pod"),
    Kind("", "v1", "secrets", "Secret"),
    Kind("", "v1", "events", "Event"),
    Kind("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob", runs=True),
    Kind("sagemaker.amazonaws.com", "v1", "hyperpodpytorchjobs", "HyperPodPyTorchJob", runs=True),
    Kind("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob", runs=True),
    Kind("trainer.kubeflow.org", "v1alpha1", "clustertrainingruntimes", "ClusterTrainingRuntime", namespaced=False),
    Kind("kueue.x-k8s.io", "v1beta1", "workloads", "Workload"),
    Kind("kueue.x-k8s.io", "v1beta1", "localqueues", "LocalQueue"),
    Kind("kueue.x-k8s.io", "v1beta1", "clusterqueues", "ClusterQueue", namespaced=False),
)
BY_PATH = {(kind.group, kind.version, kind.plural): kind for kind in KINDS}
BY_PLURAL = {kind.plural: kind for kind in KINDS}
