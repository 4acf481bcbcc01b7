#!/bin/bash
# Runs once on every new node before it joins Kubernetes: images and pods go to the fast local disk where there is one,
# since training images are larger than the root volume likes.
set -euo pipefail
exec > >(tee -a /var/log/cohort-lifecycle.log) 2>&1

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
echo "cohort: done"
