#!/bin/bash
# Starts the server of the node's metrics. Run again, it takes the newest of our files.
set -euo pipefail
here=$1
install -D -m 0644 "$here/node_metrics.py" /opt/cohort/node_metrics.py
cat > /etc/systemd/system/cohort-node-metrics.service << 'UNIT'
[Unit]
Description=Metrics of this node for Prometheus
[Service]
ExecStart=/usr/bin/python3 /opt/cohort/node_metrics.py
Restart=always
RestartSec=10
MemoryMax=200M
[Install]
WantedBy=multi-user.target
UNIT
systemctl daemon-reload
systemctl enable --now cohort-node-metrics
