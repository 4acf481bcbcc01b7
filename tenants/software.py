"""What the record declares of software beside what was measured: one row for each component, and whether both agree. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

MORE = re.compile(
    r"[\s+(.\-_]"
)  # what may follow a version that is told less exactly: 12.4 and 12.4.1, 2.23.4 and 2.23.4+cuda12
# Names that people and programs give the same thing.
SAME = {
    "pytorch": "torch",
    "driver": "nvidiadriver",
    "gpudriver": "nvidiadriver",
    "cudatoolkit": "cuda",
    "ofinccl": "awsofinccl",
    "efa": "efainstaller",
    "neuron": "neuronsdk",
    "k8s": "kubernetes",
    "cudadriver": "nvidiadriver",
}
# What the makers call it, by its key; files and programs write keys like cuda_driver.
NAMES = {
    "os": "OS", "nvidiadriver": "NVIDIA driver", "cuda": "CUDA", "cudnn": "cuDNN", "nccl": "NCCL",
    "awsofinccl": "AWS OFI NCCL", "efainstaller": "EFA installer", "libfabric": "libfabric", "gdrcopy": "GDRCopy",
    "python": "Python", "torch": "PyTorch", "torchvision": "torchvision", "flashattn": "FlashAttention",
    "transformerengine": "Transformer Engine", "transformers": "Transformers", "deepspeed": "DeepSpeed", "nemo": "NeMo",
    "lightning": "Lightning", "torchtitan": "TorchTitan", "jax": "JAX", "jaxlib": "jaxlib", "diffusers": "Diffusers",
    "trl": "TRL", "neuronsdk": "AWS Neuron SDK", "neuronxcc": "Neuron compiler", "torchneuronx": "PyTorch NeuronX",
    "kubernetes": "Kubernetes", "slurm": "Slurm", "enroot": "Enroot", "pyxis": "Pyxis", "docker": "Docker",
    "container": "Container", "megatroncore": "Megatron Core", "megatronlm": "Megatron-LM", "xformers": "xFormers",
    "triton": "Triton", "vllm": "vLLM", "numpy": "NumPy", "kernel": "Linux kernel", "mpi": "MPI", "openmpi": "Open MPI",
}  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """One component: the line that declares it and the one that was measured, either of which may be missing."""

    component: str
    declared: Any = None
    measured: Any = None

    @property
    def name(self) -> str:
        return proper_name(self.component)

    @property
    def drifts(self) -> bool:
        return (
            self.declared is not None
            and self.measured is not None
            and not agree(self.declared.software_version, self.measured.software_version)
        )


def component_key(name: str) -> str:
    """The same for every way to write a component: "aws-ofi-nccl" and "AWS OFI NCCL"."""
    plain = re.sub(r"[\W_]+", "", name.casefold())
    return SAME.get(plain, plain)


def proper_name(component: str) -> str:
    """What people call a component; one that is not known here keeps the name that it was given."""
    return NAMES.get(component_key(component), component)


def agree(declared: str, measured: str) -> bool:
    """Whether two versions are the same, as far as the less exact one tells; 3.10 and 3.1 are not."""
    one, other = (text.strip().casefold().removeprefix("v").strip() for text in (declared, measured))
    short, long = sorted((one, other), key=len)
    return bool(short) and long.startswith(short) and (len(long) == len(short) or bool(MORE.match(long[len(short)])))


def side_by_side(rows: Iterable[Any]) -> list[Pair]:
    """Lines of the record (component, software_version, source) as pairs, in the order of their names."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        found.setdefault(component_key(row.component), {})[row.source] = row
    pairs = [
        Pair((both.get("declared") or both["measured"]).component, both.get("declared"), both.get("measured"))
        for both in found.values()
    ]
    return sorted(pairs, key=lambda pair: pair.name.casefold())
