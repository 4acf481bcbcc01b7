"""Declared software beside measured: what is the same component, what is the same version."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from tenants.software import NAMES, agree, component_key, proper_name, side_by_side


@pytest.mark.parametrize(
    ("declared", "measured", "same"),
    [
        ("3.10", "3.1", False),
        ("3.10", "3.10.14", True),
        ("2.23.4", "2.23.4+cuda12.4", True),
        ("2.5.1 (torch-neuronx)", "2.5.1", True),
        ("v1.13.2", "1.13.2-aws", True),
        ("12.4.1", "12.6", False),
        ("12.4.1", "12.4.10", False),
        ("", "1", False),
        ("Ubuntu 22.04", "ubuntu 22.04", True),
    ],
)
def test_versions_agree_as_far_as_the_less_exact_one_tells(declared: str, measured: str, same: bool) -> None:
    assert agree(declared, measured) is agree(measured, declared) is same


def test_every_way_to_write_a_component_is_one_row() -> None:
    assert len({component_key(name) for name in ("aws-ofi-nccl", "AWS OFI NCCL", "aws_ofi_nccl")}) == 1
    assert component_key("PyTorch") == component_key("torch") != component_key("JAX")

    def row(component: str, version: str, source: str) -> SimpleNamespace:
        return SimpleNamespace(component=component, software_version=version, source=source)

    pairs = side_by_side(
        [
            row("PyTorch", "2.5.1", "declared"),
            row("torch", "2.6.0", "measured"),
            row("CUDA", "12.4", "declared"),
            row("slurm", "24.11.5", "measured"),
        ]
    )
    assert [(pair.component, pair.drifts) for pair in pairs] == [("CUDA", False), ("PyTorch", True), ("slurm", False)]


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("cuda_driver", "NVIDIA driver"),
        ("nvidia_driver", "NVIDIA driver"),
        ("aws_ofi_nccl", "AWS OFI NCCL"),
        ("torch", "PyTorch"),
        ("pytorch", "PyTorch"),
        ("our_fork", "our_fork"),
    ],
)
def test_people_read_the_proper_name_of_a_component(told: str, name: str) -> None:
    assert proper_name(told) == name


def test_every_component_of_the_demo_has_its_proper_name() -> None:
    programme = yaml.safe_load((Path(__file__).parents[2] / "program" / "demo" / "programme.yaml").read_text())
    told = {key for one in programme["participants"] for key in one.get("software", {})}
    assert told and {component_key(key) for key in told} <= set(NAMES)
