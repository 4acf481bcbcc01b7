#!/bin/bash
# On the controller: switches on tokens, starts the REST server, and writes into the participant's own account how the
# scheduler is reached: the address as a parameter, the key as a secret. Run again, it keeps the key that is there.
set -euo pipefail
cluster=$1 region=$2 address=$3 here=$4
conf=/opt/slurm/etc/slurm.conf
key=/opt/slurm/etc/jwt_hs256.key
port=6820
export PATH=/opt/slurm/bin:/opt/slurm/sbin:$PATH

if [[ ! -s $key ]]; then
  (umask 077; head -c 32 /dev/urandom > "$key")
  chown slurm: "$key"
fi
if ! grep -q '^AuthAltTypes=auth/jwt' "$conf"; then
  printf 'AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key=%s\n' "$key" >> "$conf"
fi
systemctl enable slurmctld
systemctl restart slurmctld

id slurmrest > /dev/null 2>&1 || useradd --system --no-create-home --shell /usr/sbin/nologin slurmrest
cat > /etc/systemd/system/cohort-slurmrestd.service <<UNIT
[Unit]
Description=Slurm REST server for Cohort
After=slurmctld.service
[Service]
User=slurmrest
Environment=SLURM_CONF=$conf SLURM_JWT=daemon
ExecStart=$(command -v slurmrestd) -a rest_auth/jwt $address:$port
Restart=always
RestartSec=5
[Install]
WantedBy=multi-user.target
UNIT
cat > /etc/systemd/system/cohort-job-logs.service <<UNIT
[Unit]
Description=Ships the output of Slurm jobs to CloudWatch Logs
[Service]
User=cohort
ExecStart=/usr/bin/python3 /opt/cohort/ship_job_logs.py /fsx/cohort/logs /cohort/clusters/$cluster/jobs $region
Restart=always
RestartSec=10
[Install]
WantedBy=multi-user.target
UNIT
install -D -m 0755 "$here/ship_job_logs.py" /opt/cohort/ship_job_logs.py
systemctl daemon-reload
systemctl enable --now cohort-slurmrestd cohort-job-logs

for attempt in $(seq 30); do
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
