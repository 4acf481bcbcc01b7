#!/bin/bash
# Runs once on every compute node after ParallelCluster has set it up: the user that jobs run as. The same number
# everywhere, since files on /fsx belong to a number.
set -euo pipefail
exec > >(tee -a /var/log/cohort-lifecycle.log) 2>&1

getent group cohort > /dev/null || groupadd --gid 7400 cohort
id cohort > /dev/null 2>&1 || useradd --uid 7400 --gid 7400 --no-create-home --home-dir /fsx/cohort --shell /bin/bash cohort
mountpoint -q /fsx || { echo "cohort: /fsx is not mounted" >&2; exit 1; }
install -d -o cohort -g cohort -m 0750 /fsx/cohort /fsx/cohort/logs
echo "cohort: done"
