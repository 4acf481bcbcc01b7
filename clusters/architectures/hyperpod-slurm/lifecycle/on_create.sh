#!/bin/bash
# Runs once on every new node: mounts the file systems, starts the node's part of Slurm, and on the controller tells
# Cohort how the scheduler is reached. Nothing is fetched from the internet; what is missing stops the node with a reason.
# shellcheck disable=SC2154 # node_facts.py prints the assignments
set -euo pipefail
exec > >(tee -a /var/log/cohort-lifecycle.log) 2>&1

here=$(cd "$(dirname "$0")" && pwd)
resources=/opt/ml/config/resource_config.json
provisioning=$here/provisioning_parameters.json

fail() { echo "cohort: $*" >&2; exit 1; }
[[ -s $resources ]] || fail "HyperPod left no $resources"
[[ -s $provisioning ]] || fail "the lifecycle folder has no provisioning_parameters.json"
(cd "$here" && sha256sum --check --quiet CHECKSUMS.sha256) || fail "a script is not the one that was sent"

address=$(ip -4 route get 1.1.1.1 | awk '{for (i = 1; i < NF; i++) if ($i == "src") print $(i + 1)}')
eval "$(python3 "$here/node_facts.py" "$resources" "$provisioning" "$address")"
echo "cohort: $cluster_name, group $group, role $role, controllers $controllers"

mount_at() {
  local what=$1 where=$2 kind=$3 options=$4
  mkdir -p "$where"
  mountpoint -q "$where" && return
  for attempt in 1 2 3 4 5; do
    if mount -t "$kind" -o "$options" "$what" "$where"; then
      grep -qs " $where " /etc/fstab || echo "$what $where $kind $options,_netdev 0 0" >> /etc/fstab
      return
    fi
    echo "cohort: $what does not mount at $where yet (attempt $attempt)"
    sleep $((attempt * 10))
  done
  fail "$what cannot be mounted at $where"
}

mount_at "$lustre_dns@tcp:/$lustre_mount" /fsx lustre noatime,flock
if [[ -n $openzfs_dns ]]; then
  mount_at "$openzfs_dns:/fsx" /home nfs nfsvers=4.1,rsize=1048576,wsize=1048576,timeo=600
fi

# The same user with the same number everywhere, since files on /fsx belong to a number.
getent group cohort > /dev/null || groupadd --gid 7400 cohort
id cohort > /dev/null 2>&1 || useradd --uid 7400 --gid 7400 --create-home --home-dir /fsx/cohort --shell /bin/bash cohort
install -d -o cohort -g cohort -m 0750 /fsx/cohort /fsx/cohort/logs

if [[ $role == compute ]]; then
  python3 "$here/node_check.py" "$instance_type" "$here/expected.json"
fi
bash "$here/watch_node.sh" "$here"

if [[ $role == controller ]]; then
  for attempt in $(seq 60); do [[ -s /opt/slurm/etc/slurm.conf ]] && break; sleep 5; done
  [[ -s /opt/slurm/etc/slurm.conf ]] || fail "HyperPod left no slurm.conf within five minutes"
  export controllers database_host database_user database_secret shared_folder
  bash "$here/containers.sh" "$here" "$role"
  bash "$here/slurm_controller.sh" "$cluster_name" "$region" "$address" "$here"
  bash "$here/slurm_access.sh" "$cluster_name" "$region" "$address" "$here"
  bash "$here/install_agent.sh" "$cluster_name" "$region" "$here"
  systemctl disable --now slurmd 2> /dev/null || true
  # One controller brings them, also where there are two.
  if [[ ${controllers%%,*} == "$address" ]]; then bash "$here/import_images.sh" "$here" "$region"; fi
else
  bash "$here/containers.sh" "$here" "$role"
  mkdir -p /etc/sysconfig
  echo "SLURMD_OPTIONS=--conf-server $controllers" > /etc/sysconfig/slurmd
  systemctl disable --now slurmctld 2> /dev/null || true
  if [[ $role == compute ]]; then
    systemctl enable --now slurmd
  fi
fi
bash "$here/install_reporter.sh" "$here"
bash "$here/participant_setup.sh" "$here" "$role"
echo "cohort: done"
