#!/bin/bash
# Runs once on the head node after ParallelCluster has set it up: what every node runs, and then tells Cohort how the
# scheduler is reached. Nothing is fetched from the internet; the other scripts lie beside this one in the bucket.
set -euo pipefail
exec > >(tee -a /var/log/cohort-lifecycle.log) 2>&1
cluster=$1 region=$2 folder=$3

first=$(mktemp)
aws s3 cp --only-show-errors --region "$region" "$folder/every_node.sh" "$first"
bash "$first" "$region" "$folder" controller
here=/opt/cohort/lifecycle
address=$(ip -4 route get 1.1.1.1 | awk '{for (i = 1; i < NF; i++) if ($i == "src") print $(i + 1)}')
bash "$here/slurm_access.sh" "$cluster" "$region" "$address" "$here"
bash "$here/install_agent.sh" "$cluster" "$region" "$here"
# Large images take longer than ParallelCluster waits for a head node, so this goes on by itself.
[[ ! -s $here/images.json ]] || systemd-run --unit=cohort-import-images --collect --property=Restart=on-failure \
  --property=RestartSec=60 bash "$here/import_images.sh" "$here" "$region"
bash "$here/participant_setup.sh" "$here" controller
echo "cohort: head node of $cluster is done"
