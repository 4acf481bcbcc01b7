#!/bin/bash
# On every node of Slurm: the file by which a job reports to Cohort by itself, where any Python finds it: in jobs that Cohort
# launches (it gives them the same path), in a shell of a person, and in containers. Without a job's token it does nothing.
set -euo pipefail
here=$1 root=${2:-}
install -D -m 0644 "$here/cohort.py" "$root/opt/cohort/python/cohort.py"
install -d "$root/etc/profile.d"
cat > "$root/etc/profile.d/cohort.sh" << 'PROFILE'
export PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}/opt/cohort/python"
PROFILE
if [[ -d $root/etc/enroot ]]; then
  install -d "$root/etc/enroot/mounts.d"
  echo "/opt/cohort/python /opt/cohort/python none x-create=dir,bind,ro,nosuid,nodev" > "$root/etc/enroot/mounts.d/90-cohort.fstab"
fi
