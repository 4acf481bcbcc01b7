"""Serves what a node measures, for Prometheus to read: GPUs, Neuron cores, EFA, Lustre. Standard library only.

The names are those of NVIDIA's, AWS's and the Lustre exporters, so that dashboards written for them work. Nothing is
installed for it: it asks the tools that come with the node's image, and says of each source whether it answered.
"""

import glob
import http.server
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator

PORT = 9400
PATIENCE = 8.0
# Column of nvidia-smi -> (name, how it is counted)
GPU = {
    "utilization.gpu": "DCGM_FI_DEV_GPU_UTIL",
    "memory.used": "DCGM_FI_DEV_FB_USED",
    "memory.free": "DCGM_FI_DEV_FB_FREE",
    "temperature.gpu": "DCGM_FI_DEV_GPU_TEMP",
    "power.draw": "DCGM_FI_DEV_POWER_USAGE",
    "clocks.sm": "DCGM_FI_DEV_SM_CLOCK",
    "ecc.errors.uncorrected.volatile.total": "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
}
# Field of dcgmi -> name: shares of time between 0 and 1
PROFILE = {
    "1002": "DCGM_FI_PROF_SM_ACTIVE",
    "1004": "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
    "1005": "DCGM_FI_PROF_DRAM_ACTIVE",
}
XID = re.compile(r"NVRM: Xid \(PCI:(?:[0-9a-f]+:)?([0-9a-f]+:[0-9a-f]+)[^)]*\): (\d+)", re.IGNORECASE)


def run(*words: str) -> str:
    """What a program prints; raises OSError or subprocess errors when it is not there or does not end."""
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout


def line(name: str, value: float, **labels: str) -> str:
    told = ",".join(f'{key}="{text}"' for key, text in labels.items())
    return f"{name}{{{told}}} {value}"


def number(text: str) -> float | None:
    """The number in a cell, or None: `[N/A]` and the like are no measurement."""
    try:
        return float(text)
    except ValueError:
        return None


def gpus() -> Iterator[str]:
    told = run("nvidia-smi", "--query-gpu=" + ",".join(["index", "pci.bus_id", *GPU]), "--format=csv,noheader,nounits")
    places = {}
    for row in told.splitlines():
        index, bus, *cells = [cell.strip() for cell in row.split(",")]
        places[bus.lower().split(":", 1)[1].split(".")[0]] = index
        for name, cell in zip(GPU.values(), cells, strict=False):
            if number(cell) is not None:
                yield line(name, number(cell), gpu=index)
    # The last Xid of each GPU since the node started; 0 says that there was none.
    last = dict.fromkeys(places.values(), 0)
    for bus, code in XID.findall(run("journalctl", "--dmesg", "--output=cat", "--no-pager")):
        if bus.lower() in places:
            last[places[bus.lower()]] = int(code)
    for index, code in last.items():
        yield line("DCGM_FI_DEV_XID_ERRORS", code, gpu=index)


def profile() -> Iterator[str]:
    told = run("dcgmi", "dmon", "-e", ",".join(PROFILE), "-c", "1")
    for row in told.splitlines():
        words = row.split()
        if len(words) == 2 + len(PROFILE) and words[0] == "GPU":
            for name, cell in zip(PROFILE.values(), words[2:], strict=False):
                if number(cell) is not None:
                    yield line(name, number(cell), gpu=words[1])


def neuron() -> Iterator[str]:
    """One report of neuron-monitor, which would go on for ever."""
    with subprocess.Popen(["neuron-monitor"], stdout=subprocess.PIPE, text=True) as monitor:
        report = json.loads(monitor.stdout.readline())
        monitor.kill()
    for runtime in report.get("neuron_runtime_data", []):
        cores = runtime["report"].get("neuroncore_counters", {}).get("neuroncores_in_use", {})
        for core, counted in cores.items():
            yield line("neuroncore_utilization_ratio", counted["neuroncore_utilization"] / 100, neuroncore=core)
        memory = runtime["report"].get("memory_used", {}).get("neuron_runtime_used_bytes", {})
        if "neuron_device" in memory:
            yield line("neuron_runtime_memory_used_bytes", memory["neuron_device"], pid=runtime.get("pid", ""))
    for device in report.get("system_data", {}).get("neuron_hw_counters", {}).get("neuron_devices") or []:
        for kind in ("mem_ecc_corrected", "mem_ecc_uncorrected", "sram_ecc_uncorrected"):
            if kind in device:
                labels = {"neuron_device": device["neuron_device_index"], "event_type": kind}
                yield line("hardware_ecc_events_total", device[kind], **labels)


def efa() -> Iterator[str]:
    found = sorted(glob.glob(os.path.join(ROOT, "sys/class/infiniband/*/ports/*/hw_counters/*")))
    if not found:
        raise OSError("no EFA device")
    for path in found:
        device, _ports, port, _counters, name = path.split(os.sep)[-5:]
        with open(path) as counter:
            yield line(f"node_amazonefa_{name}", int(counter.read()), device=device, port=port)


def lustre() -> Iterator[str]:
    for path, text in re.findall(
        r"^llite\.(\S+)\.stats=\n((?:(?!llite\.).*\n)*)", run("lctl", "get_param", "llite.*.stats"), re.M
    ):
        for row in text.splitlines():
            words = row.split()
            if words and words[0] in ("read_bytes", "write_bytes") and len(words) >= 7:
                yield line(f"lustre_{words[0]}_total", int(words[6]), target=path)
            elif len(words) >= 2 and words[0] in ("open", "close", "getattr", "mkdir", "unlink"):
                yield line("lustre_stats_total", int(words[1]), target=path, operation=words[0])


SOURCES = {"gpu": gpus, "profile": profile, "neuron": neuron, "efa": efa, "lustre": lustre}
ROOT = "/"


def metrics() -> str:
    """All of it as text. A source that does not answer is told as 0 and never takes the others with it."""
    told = []
    for name, source in SOURCES.items():
        try:
            found = list(source())
        except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            found = None
        told += found or []
        told.append(line("cohort_node_source_up", 0 if found is None else 1, source=name))
    return "\n".join(told) + "\n"


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = metrics().encode() if self.path == "/metrics" else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Every quarter of a minute the same line would help nobody."""


if __name__ == "__main__":
    http.server.HTTPServer(("", PORT), Answer).serve_forever()
