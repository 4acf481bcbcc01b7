#!/bin/bash
# Writes how this controller's Slurm is reached, once its REST server answers: first the key as a secret, then the
# address as a parameter. A controller that takes over from another runs it as well.
set -euo pipefail
cluster=$1 region=$2 address=$3 key=$4
port=6820
export PATH=/opt/slurm/bin:/opt/slurm/sbin:$PATH

for _ in $(seq 30); do
  token=$(scontrol token username=cohort lifespan=60 | cut -d= -f2) || true
  paths=$(curl --silent --fail --max-time 5 -H "X-SLURM-USER-NAME: cohort" -H "X-SLURM-USER-TOKEN: ${token:-}" \
    "http://$address:$port/openapi/v3") && break
  sleep 2
done
versions=$(grep -o '"/slurm/v0\.0\.[0-9]*/' <<< "${paths:-}" | cut -d/ -f3 | sort -u | paste -sd' ')
[[ -n $versions ]] || { echo "cohort: the Slurm REST server does not answer" >&2; exit 1; }

secret=cohort/clusters/$cluster/slurm-jwt
file=$(mktemp)
base64 -w0 "$key" > "$file"
aws secretsmanager create-secret --region "$region" --name "$secret" --secret-string "file://$file" > /dev/null 2>&1 ||
  aws secretsmanager put-secret-value --region "$region" --secret-id "$secret" --secret-string "file://$file" > /dev/null
rm -f "$file"
# Last, since whoever reads the parameter will ask for the secret next.
told=$(python3 - "$address" "$port" "$cluster" "$versions" <<'PY'
import json, sys
address, port, cluster, versions = sys.argv[1:]
told = {"url": f"http://{address}:{port}", "versions": versions.split(), "user": "cohort",
        "log_group": f"/cohort/clusters/{cluster}/jobs"}
print(json.dumps(told))
PY
)
aws ssm put-parameter --region "$region" --name "/cohort/clusters/$cluster/slurm" --type String --overwrite --value "$told"
