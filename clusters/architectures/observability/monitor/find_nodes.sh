#!/bin/bash
# Writes which nodes Prometheus is to ask: the first interface of every machine that is in the nodes' security group.
# Nodes of HyperPod run in an account of AWS, but their interfaces are here, so this finds the nodes of every engine.
set -euo pipefail
group=$1 cluster=$2 file=$3
found=$(aws ec2 describe-network-interfaces --output json \
  --filters "Name=group-id,Values=$group" "Name=attachment.device-index,Values=0" "Name=status,Values=in-use")
jq --arg cluster "$cluster" --arg own "$(hostname -I | cut -d' ' -f1)" '[
  .NetworkInterfaces[] | select((.Description // "") | test("FSx|EKS|NAT|VPC Endpoint|RDS"; "i") | not)
  | .PrivateIpAddress | select(. != $own)
  | {targets: [. + ":9400"], labels: {cluster: $cluster, instance: .}}
]' <<< "$found" > "$file.new"
mv "$file.new" "$file"
