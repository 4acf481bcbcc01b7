#!/bin/bash
# Runs once on every node after ParallelCluster has set it up: fetches our files from the bucket and checks them, makes
# the user that jobs run as, looks whether the hardware is whole, and starts the node's metrics.
set -euo pipefail
exec > >(tee -a /var/log/cohort-lifecycle.log) 2>&1
region=$1 folder=$2 role=${3:-compute}

fail() { echo "cohort: $*" >&2; exit 1; }
here=/opt/cohort/lifecycle
mkdir -p "$here"
for attempt in 1 2 3 4 5; do
  aws s3 cp --recursive --only-show-errors --region "$region" "$folder" "$here" && break
  [[ $attempt -lt 5 ]] || fail "$folder cannot be read"
  sleep $((attempt * 5))
done
(cd "$here" && sha256sum --check --quiet CHECKSUMS.sha256) || fail "a file in $folder is not the one that was sent"

# The same user with the same number everywhere, since files on /fsx belong to a number.
getent group cohort > /dev/null || groupadd --gid 7400 cohort
id cohort > /dev/null 2>&1 || useradd --uid 7400 --gid 7400 --no-create-home --home-dir /fsx/cohort --shell /bin/bash cohort
mountpoint -q /fsx || fail "/fsx is not mounted"
install -d -o cohort -g cohort -m 0750 /fsx/cohort /fsx/cohort/logs

# The machine says itself what it is: were it told, a queue would be drained when only its type changes.
machine=http://169.254.169.254/latest
token=$(curl --silent --fail --max-time 5 -X PUT -H "X-aws-ec2-metadata-token-ttl-seconds: 60" "$machine/api/token")
type=$(curl --silent --fail --max-time 5 -H "X-aws-ec2-metadata-token: $token" "$machine/meta-data/instance-type")
python3 "$here/node_check.py" "$type" "$here/expected.json"
bash "$here/watch_node.sh" "$here"
bash "$here/containers.sh" "$here" "$role"
bash "$here/install_reporter.sh" "$here"
# The head node has more to do first.
[[ $role == controller ]] || bash "$here/participant_setup.sh" "$here" "$role"
echo "cohort: done"
