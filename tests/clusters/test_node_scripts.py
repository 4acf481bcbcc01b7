"""What runs on nodes: hardware that is not whole keeps a node out, and metrics tell what the node's own tools say."""

import hashlib
import json
import runpy
import stat
import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from clusters import architectures
from clusters.architectures.parts import node_scripts
from clusters.facts import load

SCRIPTS = architectures.FOLDER / "node" / "lifecycle"
SHELF = architectures.architectures()
SMI = """#!/bin/bash
[[ $1 == -L ]] && { for n in 0 1 2 3 4 5 6 7; do echo "GPU $n: NVIDIA H100 80GB HBM3 (UUID: GPU-$n)"; done; exit; }
echo "0, 00000000:53:00.0, 97, 71234, 10325, 61, 642.13, 1980, 0"
echo "1, 00000000:64:00.0, 12, 100, 81459, 40, [N/A], 1980, 2"
"""
# As the kernel writes them; the code is the number after the bracket.
KERNEL = """#!/bin/bash
echo "NVRM: Xid (PCI:0000:64:00): 31, pid=123, name=python3, Ch 00000008"
echo "something else"
echo "NVRM: Xid (PCI:0000:64:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
"""
DCGMI = """#!/bin/bash
echo "#Entity   SMACT        TENSO        DRAMA"
echo "ID"
echo "GPU 0     0.981        0.512        0.433"
echo "GPU 1     N/A          N/A          N/A"
"""
LCTL = """#!/bin/bash
cat <<'TEXT'
llite.abcdefgh-ffff9f8e.stats=
snapshot_time             1700000000.123456789 secs.nsecs
read_bytes                120 samples [bytes] 4096 1048576 125829120
write_bytes               7 samples [bytes] 1 1048576 5000000
open                      33 samples [usec] 1 2 3
TEXT
"""
NEURON = """#!/bin/bash
echo '{"neuron_runtime_data": [{"pid": 77, "report": {"neuroncore_counters": {"neuroncores_in_use": {"0": {"neuroncore_utilization": 88.5}}}, "memory_used": {"neuron_runtime_used_bytes": {"host": 1, "neuron_device": 4096}}}}], "system_data": {"neuron_hw_counters": {"neuron_devices": [{"neuron_device_index": 3, "mem_ecc_corrected": 1, "mem_ecc_uncorrected": 0, "sram_ecc_uncorrected": 0}]}}}'
sleep 100
"""


@pytest.fixture
def node(tmp_path, monkeypatch):
    """A machine of our own making: tools on the path, devices below a folder."""

    class Node:
        root = tmp_path / "root"

        def tool(self, name: str, text: str) -> None:
            path = tmp_path / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)

        def efa(self, count: int) -> None:
            for number in range(count):
                folder = self.root / f"sys/class/infiniband/rdmap{number}/ports/1/hw_counters"
                folder.mkdir(parents=True)
                (folder / "tx_bytes").write_text(f"{1000 + number}\n")

        def neuron(self, count: int) -> None:
            (self.root / "dev").mkdir(parents=True)
            for number in range(count):
                (self.root / f"dev/neuron{number}").touch()

    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return Node()


def loaded(name: str, node) -> dict:
    """The script's names, looking below the node's root."""
    names = runpy.run_path(str(SCRIPTS / name))
    for each in names.values():
        if hasattr(each, "__globals__"):
            each.__globals__["ROOT"] = str(node.root)
    return names


def expected() -> dict:
    return json.loads(node_scripts(architectures.architecture("parallelcluster-p5"))["expected.json"])


def test_a_whole_p5_may_join(node):
    node.tool("nvidia-smi", SMI)
    node.efa(32)  # from the fact sheet: a p5.48xlarge has 8 GPUs and 32 EFA devices
    assert loaded("node_check.py", node)["wrong"]("p5.48xlarge", expected(), lambda _: True) == []
    assert loaded("node_check.py", node)["wrong"]("ml.p5.48xlarge", expected(), lambda _: True) == []


@pytest.mark.parametrize(
    ("gpus", "efa", "mounted", "told"),
    [
        (True, 31, True, "31 of 32 EFA devices"),
        (False, 32, True, "0 of 8 accelerators"),
        (True, 32, False, "/fsx is not mounted"),
    ],
)
def test_a_node_that_is_not_whole_says_what_is_missing(node, gpus, efa, mounted, told):
    if gpus:
        node.tool("nvidia-smi", SMI)
    node.efa(efa)
    [sentence] = loaded("node_check.py", node)["wrong"]("p5.48xlarge", expected(), lambda _: mounted)
    assert told in sentence


def test_trainium_is_counted_by_its_devices(node):
    node.neuron(15)
    node.efa(8)
    check = loaded("node_check.py", node)["wrong"]
    assert check("trn1.32xlarge", expected(), lambda _: True) == ["this trn1.32xlarge shows 15 of 16 accelerators"]


def test_a_controller_has_nothing_to_be_missing(node):
    assert loaded("node_check.py", node)["wrong"]("m5.8xlarge", expected(), lambda _: False) == []


def test_the_check_ends_with_an_error_so_that_the_node_does_not_join(node, tmp_path):
    (tmp_path / "expected.json").write_text(json.dumps(expected()))
    words = ["python3", SCRIPTS / "node_check.py", "p5.48xlarge", tmp_path / "expected.json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "cohort: this p5.48xlarge shows" in done.stderr


def test_metrics_carry_the_names_and_values_that_dashboards_ask_for(node):
    for name, text in {
        "nvidia-smi": SMI,
        "journalctl": KERNEL,
        "dcgmi": DCGMI,
        "lctl": LCTL,
        "neuron-monitor": NEURON,
    }.items():
        node.tool(name, text)
    node.efa(2)
    told = loaded("node_metrics.py", node)["metrics"]().splitlines()
    assert {
        'DCGM_FI_DEV_GPU_UTIL{gpu="0"} 97.0',
        'DCGM_FI_DEV_FB_USED{gpu="0"} 71234.0',
        'DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu="1"} 2.0',
        'DCGM_FI_DEV_XID_ERRORS{gpu="0"} 0',
        'DCGM_FI_DEV_XID_ERRORS{gpu="1"} 79',
        'DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="0"} 0.512',
        'node_amazonefa_tx_bytes{device="rdmap1",port="1"} 1001',
        'lustre_read_bytes_total{target="abcdefgh-ffff9f8e"} 125829120',
        'lustre_write_bytes_total{target="abcdefgh-ffff9f8e"} 5000000',
        'lustre_stats_total{target="abcdefgh-ffff9f8e",operation="open"} 33',
        'neuroncore_utilization_ratio{neuroncore="0"} 0.885',
        'neuron_runtime_memory_used_bytes{pid="77"} 4096',
        'hardware_ecc_events_total{neuron_device="3",event_type="mem_ecc_corrected"} 1',
    } <= set(told)
    assert not any("N/A" in line for line in told)
    assert {
        f'cohort_node_source_up{{source="{name}"}} 1' for name in ("gpu", "profile", "neuron", "efa", "lustre")
    } <= set(told)


def test_a_source_that_is_not_there_takes_no_other_with_it(node):
    node.efa(1)
    told = loaded("node_metrics.py", node)["metrics"]().splitlines()
    assert 'cohort_node_source_up{source="efa"} 1' in told
    assert 'cohort_node_source_up{source="gpu"} 0' in told
    assert 'node_amazonefa_tx_bytes{device="rdmap0",port="1"} 1000' in told


def test_metrics_are_served_for_prometheus_to_read(node):
    import http.server

    node.efa(1)
    answer = loaded("node_metrics.py", node)["Answer"]
    server = http.server.HTTPServer(("127.0.0.1", 0), answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    where = f"http://127.0.0.1:{server.server_port}"
    with urllib.request.urlopen(f"{where}/metrics", timeout=10) as told:
        assert told.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert b"node_amazonefa_tx_bytes" in told.read()
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(f"{where}/etc/passwd", timeout=10)
    server.shutdown()
    server.server_close()


def test_nodes_of_slurm_bring_the_reporter_with_them(tmp_path: Path):
    for each in SHELF:
        assert ("cohort.py" in node_scripts(each)) == (each.orchestrator == "slurm"), each.slug
    for name, text in node_scripts(next(each for each in SHELF if each.orchestrator == "slurm")).items():
        (tmp_path / name).write_text(text)
    root = tmp_path / "root"
    (root / "etc/enroot").mkdir(parents=True)
    for _ in range(2):  # run again, it writes the same files again
        subprocess.run(["bash", tmp_path / "install_reporter.sh", tmp_path, root], check=True)
    assert (root / "etc/enroot/mounts.d/90-cohort.fstab").read_text().count("/opt/cohort/python") == 2
    train = 'import os; from cohort import run; run.log(1, loss=2.0); print(os.environ["PYTHONPATH"], run.on)'
    shell = f"set -u; . {root}/etc/profile.d/cohort.sh; PYTHONPATH={root}$PYTHONPATH python3 -c '{train}'"
    told = subprocess.run(
        ["bash", "-c", shell], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == [f"{root}/opt/cohort/python", "False"]


@pytest.mark.parametrize("each", SHELF, ids=lambda each: each.slug)
def test_a_script_that_was_changed_on_the_way_is_noticed(tmp_path: Path, each):
    for name, text in node_scripts(each).items():
        (tmp_path / name).write_text(text)
    words = ["sha256sum", "--check", "--quiet", "CHECKSUMS.sha256"]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    (tmp_path / "node_check.py").write_text("raise SystemExit(0)\n")
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    told = (tmp_path / "CHECKSUMS.sha256").read_text().splitlines()
    assert {line.split("  ")[1] for line in told} == set(node_scripts(each)) - {"CHECKSUMS.sha256"}
    assert all(len(line.split("  ")[0]) == len(hashlib.sha256().hexdigest()) for line in told)


def test_what_a_type_should_have_is_what_the_facts_say():
    for name, told in expected().items():
        known = load().instance(name)
        assert known and (told["accelerators"], told["efa"]) == (known.accelerators, known.efa or 0)
    assert expected()["p5.48xlarge"] == {"accelerator": "H100", "accelerators": 8, "efa": 32}


def test_scripts_have_no_carriage_returns():
    for each in SHELF:
        for name, text in node_scripts(each).items():
            assert "\r" not in text, name
