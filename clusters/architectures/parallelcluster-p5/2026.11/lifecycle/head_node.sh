#!/bin/bash
# Runs once on the head node after ParallelCluster has set it up: tells Cohort how the scheduler is reached. Nothing is
# fetched from the internet; the other scripts lie beside this one in the bucket.
set -euo pipefail
exec > >(tee -a /var/log/cohort-lifecycle.log) 2>&1
cluster=$1 region=$2 folder=$3

here=$(mktemp -d)
for name in every_node.sh slurm_access.sh ship_job_logs.py; do
  aws s3 cp --region "$region" "$folder/$name" "$here/$name"
done
bash "$here/every_node.sh"
address=$(ip -4 route get 1.1.1.1 | awk '{for (i = 1; i < NF; i++) if ($i == "src") print $(i + 1)}')
bash "$here/slurm_access.sh" "$cluster" "$region" "$address" "$here"
echo "cohort: head node of $cluster is done"
