#!/bin/bash
# Runs once on every new node before it joins Kubernetes: checks our files and the hardware, puts images and pods on the
# fast local disk where there is one (training images are larger than the root volume likes), and starts the metrics.
set -euo pipefail
exec > >(tee -a /var/log/cohort-lifecycle.log) 2>&1

here=$(cd "$(dirname "$0")" && pwd)
fail() { echo "cohort: $*" >&2; exit 1; }
(cd "$here" && sha256sum --check --quiet CHECKSUMS.sha256) || fail "a script is not the one that was sent"

disk=/opt/dlami/nvme
if mountpoint -q "$disk"; then
  for folder in containerd kubelet; do
    install -d -m 0711 "$disk/$folder" "/var/lib/$folder"
    mountpoint -q "/var/lib/$folder" || mount --bind "$disk/$folder" "/var/lib/$folder"
    grep -qs " /var/lib/$folder " /etc/fstab || echo "$disk/$folder /var/lib/$folder none bind,nofail 0 0" >> /etc/fstab
  done
else
  echo "cohort: no local disk at $disk; images stay on the root volume"
fi

# Lustre comes to pods by a volume claim, so only the hardware is looked at.
type=$(python3 - "$(hostname -I | cut -d' ' -f1)" <<'PY'
import json, sys
with open("/opt/ml/config/resource_config.json") as file:
    groups = json.load(file)["InstanceGroups"]
print(next((g.get("InstanceType", "") for g in groups for i in g["Instances"] if i["CustomerIpAddress"] == sys.argv[1]), ""))
PY
)
python3 "$here/node_check.py" "$type" "$here/expected.json" --without-mounts
bash "$here/watch_node.sh" "$here"
echo "cohort: done"
