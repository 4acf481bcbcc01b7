#!/bin/bash
# Sets up the machine that watches a cluster: it finds the nodes, hands their metrics to Prometheus, and brings the
# dashboards to Grafana, its own with TLS and a password that nobody chose, or the managed one.
set -euo pipefail
exec > >(tee -a /var/log/cohort-monitor.log) 2>&1
cluster=$1 region=$2 prometheus=$3 group=$4 kind=$5 workspace=$6 secret=$7
here=$(cd "$(dirname "$0")" && pwd)

fail() { echo "cohort: $*" >&2; exit 1; }
(cd "$here" && sha256sum --check --quiet CHECKSUMS.sha256) || fail "a file of the collector is not the one that was sent"
work=$(mktemp -d)
export AWS_REGION=$region AWS_DEFAULT_REGION=$region

again() {
  local attempt
  for attempt in 1 2 3 4 5; do
    "$@" && return
    sleep $((attempt * 10))
  done
  fail "this did not work five times: $*"
}

# The distribution's own packages, signed by it.
again dnf install -y -q amazon-cloudwatch-agent jq openssl

# Nodes come and go, so they are looked up every minute and never written down once.
install -D -m 0755 "$here/find_nodes.sh" /opt/cohort/find_nodes.sh
install -d /etc/cohort-monitor
cat > /etc/systemd/system/cohort-find-nodes.service << UNIT
[Unit]
Description=Nodes of $cluster for Prometheus
[Service]
Type=oneshot
Environment=AWS_DEFAULT_REGION=$region
ExecStart=/opt/cohort/find_nodes.sh $group $cluster /etc/cohort-monitor/nodes.json
UNIT
cat > /etc/systemd/system/cohort-find-nodes.timer << 'UNIT'
[Timer]
OnBootSec=10
OnUnitActiveSec=60
[Install]
WantedBy=timers.target
UNIT
cat > /etc/cohort-monitor/prometheus.yaml << 'YAML'
global: {scrape_interval: 15s, scrape_timeout: 10s}
scrape_configs:
  - job_name: nodes
    file_sd_configs: [{files: [/etc/cohort-monitor/nodes.json], refresh_interval: 30s}]
YAML
jq -n --arg workspace "$(basename "${prometheus%/}")" '{
  agent: {run_as_user: "root"},
  metrics: {metrics_destinations: {amp: {workspace_id: $workspace}},
            metrics_collected: {prometheus: {prometheus_config_path: "/etc/cohort-monitor/prometheus.yaml"}}}
}' > /etc/cohort-monitor/agent.json
systemctl daemon-reload
systemctl enable --now cohort-find-nodes.timer
/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl -a fetch-config -m ec2 -s -c file:/etc/cohort-monitor/agent.json

source_of() {
  jq -n --arg url "${prometheus%/}" --arg region "$region" '{
    uid: "prometheus", name: "Prometheus", type: "prometheus", access: "proxy", url: $url, isDefault: true,
    jsonData: {httpMethod: "POST", sigV4Auth: true, sigV4AuthType: $auth, sigV4Region: $region}
  }' --arg auth "$1"
}

to_grafana() { # address, what to sign in with
  local address=$1
  shift
  again curl --silent --fail --retry 5 --max-time 20 "$@" -o /dev/null "$address/api/health"
  source_of default > "$work/source.json"
  curl --silent --max-time 20 "$@" -o /dev/null -X DELETE "$address/api/datasources/uid/prometheus" || true
  again curl --silent --fail --max-time 20 "$@" -o /dev/null -H "Content-Type: application/json" \
    --data @"$work/source.json" "$address/api/datasources"
  for file in "$here"/dashboard-*.json; do
    jq '{dashboard: (. + {id: null}), overwrite: true, message: "Cohort"}' "$file" > "$work/dashboard.json"
    again curl --silent --fail --max-time 20 "$@" -o /dev/null -H "Content-Type: application/json" \
      --data @"$work/dashboard.json" "$address/api/dashboards/db"
  done
}

if [[ $kind == managed ]]; then
  account=$(aws grafana list-workspace-service-accounts --workspace-id "$workspace" \
    --query "serviceAccounts[?name=='cohort'].id | [0]" --output text)
  [[ $account != None ]] || account=$(aws grafana create-workspace-service-account --workspace-id "$workspace" \
    --name cohort --grafana-role ADMIN --query id --output text)
  token=$(aws grafana create-workspace-service-account-token --workspace-id "$workspace" --service-account-id "$account" \
    --name "boot-$(date +%s)" --seconds-to-live 900 --query serviceAccountToken.key --output text)
  address=https://$(aws grafana describe-workspace --workspace-id "$workspace" --query workspace.endpoint --output text)
  (umask 077; printf 'header = "Authorization: Bearer %s"\n' "$token" > /root/.grafana-curl)
  to_grafana "$address" --config /root/.grafana-curl
  rm -f /root/.grafana-curl
else
  # Grafana is in no repository of the distribution: whoever runs the account puts its package beside our files.
  package=$(find "$here" -maxdepth 1 -name 'grafana-*.rpm' | head -n 1)
  [[ -n $package ]] || fail "no package grafana-*.rpm lies beside this script in the bucket; metrics and alerts work without it"
  again dnf install -y -q "$package"
  password=$(aws secretsmanager get-secret-value --secret-id "$secret" --query SecretString --output text | jq -r .password)
  install -d -m 0750 -g grafana /etc/grafana/tls
  address=$(hostname -f)
  openssl req -x509 -newkey rsa:3072 -nodes -days 825 -subj "/CN=$address" -addext "subjectAltName=DNS:$address,DNS:localhost" \
    -keyout /etc/grafana/tls/key.pem -out /etc/grafana/tls/certificate.pem
  chgrp grafana /etc/grafana/tls/*.pem
  chmod 0640 /etc/grafana/tls/*.pem
  install -d /etc/systemd/system/grafana-server.service.d
  (umask 077; cat > /etc/systemd/system/grafana-server.service.d/cohort.conf << UNIT
[Service]
Environment=GF_SERVER_PROTOCOL=https GF_SERVER_CERT_FILE=/etc/grafana/tls/certificate.pem GF_SERVER_CERT_KEY=/etc/grafana/tls/key.pem
Environment=GF_SECURITY_ADMIN_PASSWORD=$password GF_AUTH_ANONYMOUS_ENABLED=false GF_USERS_ALLOW_SIGN_UP=false
Environment=GF_AUTH_SIGV4_AUTH_ENABLED=true GF_SECURITY_COOKIE_SECURE=true GF_ANALYTICS_REPORTING_ENABLED=false
UNIT
  )
  systemctl daemon-reload
  systemctl enable --now grafana-server
  (umask 077; printf 'user = "admin:%s"\n' "$password" > /root/.grafana-curl)
  to_grafana https://localhost:3000 --cacert /etc/grafana/tls/certificate.pem --config /root/.grafana-curl
  rm -f /root/.grafana-curl
fi
echo "cohort: the collector of $cluster is set up"
