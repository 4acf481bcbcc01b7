#!/bin/bash
# On a controller: installs the agent that asks Cohort what is to be done, for clusters into which no route leads. Its
# address and token lie in the account's Secrets Manager when the cluster is reached so; until then it only waits.
set -euo pipefail
cluster=$1 region=$2 here=$3
export PATH=/opt/slurm/bin:$PATH
conf=$(scontrol show config 2> /dev/null | awk '$1 == "SLURM_CONF" {print $3}') || true
install -D -m 0755 "$here/cohort_agent.py" /opt/cohort/cohort_agent.py
install -d -m 0755 /etc/cohort
cat > /etc/cohort/agent.json << 'JSON'
{"token_file": "/run/cohort-agent/token.json", "user": "cohort"}
JSON
cat > /opt/cohort/fetch_agent_token.sh << 'FETCH'
#!/bin/bash
# Brings the newest token before each start; the agent ends itself when its own opens no more.
set -euo pipefail
umask 077
file=/run/cohort-agent/token.json
aws secretsmanager get-secret-value --region "$2" --secret-id "cohort/clusters/$1/agent" --query SecretString \
  --output text > "$file.new" 2> /dev/null || { echo "cohort: there is no token for an agent yet" >&2; exit 1; }
mv "$file.new" "$file"
FETCH
chmod 0755 /opt/cohort/fetch_agent_token.sh
cat > /etc/systemd/system/cohort-agent.service << UNIT
[Unit]
Description=Asks Cohort what is to be done on this cluster
After=network-online.target slurmctld.service
StartLimitIntervalSec=0
[Service]
Environment=SLURM_CONF=${conf:-/opt/slurm/etc/slurm.conf}
RuntimeDirectory=cohort-agent
RuntimeDirectoryMode=0700
StateDirectory=cohort-agent
StateDirectoryMode=0700
ExecStartPre=/opt/cohort/fetch_agent_token.sh $cluster $region
ExecStart=/usr/bin/python3 /opt/cohort/cohort_agent.py /etc/cohort/agent.json
Restart=always
RestartSec=30
KillMode=mixed
MemoryMax=500M
[Install]
WantedBy=multi-user.target
UNIT
systemctl daemon-reload
# It may wait for its token for as long as it likes; the node does not wait for it.
systemctl enable cohort-agent
systemctl restart --no-block cohort-agent
