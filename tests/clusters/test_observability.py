"""Dashboards ask a real Prometheus for what nodes really tell, and alerts come when they should."""

import http.server
import json
import re
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
import yaml

from clusters import architectures

FOLDER = architectures.FOLDER / "observability"
DASHBOARDS = {path.stem: json.loads(path.read_text()) for path in sorted((FOLDER / "dashboards").glob("*.json"))}
QUERIES = [
    pytest.param(target["expr"], id=f"{name}: {panel['title']} {target['refId']}")
    for name, dashboard in DASHBOARDS.items()
    for panel in dashboard["panels"]
    for target in panel["targets"]
]
PATIENCE = 60


def told(seconds: float) -> str:
    """What node_metrics.py serves, with counters that grow; tests/clusters/test_node_scripts.py holds it to these names."""
    grown = int(seconds * 1000)
    lines = [
        *(f'{name}{{gpu="{gpu}"}} {value}' for gpu in range(2) for name, value in {
            "DCGM_FI_DEV_GPU_UTIL": 90, "DCGM_FI_DEV_FB_USED": 70000, "DCGM_FI_DEV_GPU_TEMP": 60,
            "DCGM_FI_DEV_POWER_USAGE": 600, "DCGM_FI_DEV_XID_ERRORS": 79 * gpu, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": 0,
            "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.5,
        }.items()),
        *(f'node_amazonefa_{name}{{device="rdmap0",port="1"}} {grown}'
          for name in ("tx_bytes", "rx_bytes", "rdma_read_bytes", "rdma_write_bytes", "rx_drops")),
        *(f'lustre_{way}_bytes_total{{target="fsx"}} {grown}' for way in ("read", "write")),
        f'lustre_stats_total{{target="fsx",operation="open"}} {grown}',
        'neuroncore_utilization_ratio{neuroncore="0"} 0.8',
        'cohort_node_source_up{source="gpu"} 1',
        'cohort_node_source_up{source="neuron"} 0',
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


class Node(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = told(time.time()).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        """Nobody reads it."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    """A real one that reads two nodes, ours and one that is silent."""
    folder: Path = tmp_path_factory.mktemp("prometheus")
    node = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Node)
    threading.Thread(target=node.serve_forever, daemon=True).start()
    targets = [f"127.0.0.1:{node.server_port}", f"127.0.0.1:{free_port()}"]
    jobs = [{"job_name": "nodes", "static_configs": [{"targets": targets, "labels": {"cluster": "train"}}]}]
    told_to = {"global": {"scrape_interval": "1s"}, "scrape_configs": jobs, "rule_files": [str(FOLDER / "alerts.yaml")]}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(told_to))
    port = free_port()
    words = [
        "prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}", "--log.level=error",
    ]  # fmt: skip
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=(folder / "log").open("w"))
    where = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + PATIENCE
        while not _ready(where):
            assert time.monotonic() < until and process.poll() is None, (folder / "log").read_text()
            time.sleep(0.3)
        yield where
    finally:
        process.terminate()
        process.wait()
        node.shutdown()
        node.server_close()


def ask(where: str, query: str) -> list:
    address = f"{where}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    with urllib.request.urlopen(address, timeout=10) as answer:
        found = json.loads(answer.read())
    assert found["status"] == "success", found
    return found["data"]["result"]


def _ready(where: str) -> bool:
    try:
        return bool(ask(where, "rate(node_amazonefa_tx_bytes[20s])"))
    except OSError:
        return False


@pytest.mark.prometheus
@pytest.mark.parametrize("query", QUERIES)
def test_each_panel_has_something_to_show(prometheus, query):
    asked = query.replace("$cluster", "train").replace("$__rate_interval", "20s")
    assert "$" not in asked
    assert ask(prometheus, asked), query


@pytest.mark.prometheus
def test_a_silent_node_and_a_lost_gpu_are_shown(prometheus):
    queries = [query.values[0].replace("$cluster", "train") for query in QUERIES]
    [silent] = [query for query in queries if query.startswith("count(up")]
    assert ask(prometheus, silent)[0]["value"][1] == "1"
    [xid] = [query for query in queries if "XID" in query]
    assert [(row["metric"]["gpu"], row["value"][1]) for row in ask(prometheus, xid)] == [("1", "79")]


@pytest.mark.prometheus
def test_alerts_come_when_they_should(tmp_path):
    rules = FOLDER / "alerts.yaml"
    checked = subprocess.run(["promtool", "check", "rules", rules], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    file = tmp_path / "test.yaml"
    file.write_text(Path(__file__).with_name("alerts_test.yaml").read_text().replace("RULES", str(rules)))
    done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_played_by_the_test():
    named = {
        rule["alert"]
        for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
        for rule in group["rules"]
    }
    assert named == set(re.findall(r"alertname: (\w+)", Path(__file__).with_name("alerts_test.yaml").read_text()))


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_keeps_to_one_cluster_and_can_be_imported(name):
    dashboard = DASHBOARDS[name]
    assert dashboard["uid"] == f"cohort-{name}" and dashboard["title"]
    places = [tuple(panel["gridPos"][key] for key in "xy") for panel in dashboard["panels"]]
    assert len(set(places)) == len(places)
    for panel in dashboard["panels"]:
        assert panel["datasource"]["uid"] == "${datasource}"
        for target in panel["targets"]:
            metrics = re.findall(r"\b(?:DCGM|node|lustre|neuron\w*|cohort|up)\w*\{([^}]*)\}", target["expr"])
            assert metrics and all('cluster="$cluster"' in each for each in metrics)


def test_the_metrics_of_panels_and_alerts_are_ones_that_nodes_serve():
    script = (architectures.FOLDER / "node/lifecycle/node_metrics.py").read_text()
    asked = " ".join(query.values[0] for query in QUERIES) + (FOLDER / "alerts.yaml").read_text()
    for name in set(re.findall(r"\b(?:DCGM_FI_\w+|neuroncore_\w+|hardware_\w+|cohort_\w+|lustre_stats_total)", asked)):
        assert name in script, name
