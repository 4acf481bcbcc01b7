#!/bin/bash
# On a controller: switches on tokens, starts the REST server, and writes into the participant's own account how the
# scheduler is reached: the address as a parameter, the key as a secret. Run again, it keeps the key that is there.
# Where two controllers share a folder they share the key; the second one speaks up when it takes over.
set -euo pipefail
cluster=$1 region=$2 address=$3 here=$4
conf=/opt/slurm/etc/slurm.conf
key=${shared_folder:+$shared_folder/slurm/jwt_hs256.key}
key=${key:-/opt/slurm/etc/jwt_hs256.key}
port=6820
export PATH=/opt/slurm/bin:/opt/slurm/sbin:$PATH

if [[ ! -s $key ]]; then
  # A link is made whole or not at all, so that two controllers at once end with one key.
  (umask 077; head -c 32 /dev/urandom > "$key.$address")
  chown slurm: "$key.$address"
  ln "$key.$address" "$key" 2> /dev/null || true
  rm -f "$key.$address"
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

install -D -m 0755 "$here/say_how_slurm_is_reached.sh" /opt/cohort/say_how_slurm_is_reached.sh
if [[ -z ${controllers:-} || ${controllers%%,*} == "$address" ]]; then
  /opt/cohort/say_how_slurm_is_reached.sh "$cluster" "$region" "$address" "$key"
else
  echo "cohort: $address stands by; it speaks up when it takes over"
fi
