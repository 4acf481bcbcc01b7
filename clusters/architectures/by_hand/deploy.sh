#!/bin/bash
# Deploys this architecture into the account whose credentials are set. Every step can be repeated: run it again, and it
# goes on where it stopped. It needs the AWS CLI, Python 3, and for ParallelCluster the `pcluster` program.
# shellcheck disable=SC2034,SC2154 # settings.env and the outputs of stacks give the names
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

fail() { echo "deploy: $*" >&2; exit 1; }
for program in aws python3 sha256sum; do
  command -v "$program" > /dev/null || fail "$program is not installed"
done
[[ ${ANY_CONTENT:-} ]] || sha256sum --check --quiet CHECKSUMS.sha256 ||
  fail "these files are not the ones that were exported; set ANY_CONTENT=1 if you changed them on purpose"

set -a
# shellcheck source=/dev/null
. ./settings.env
account=$(aws sts get-caller-identity --query Account --output text)
set +a
export AWS_REGION=$region AWS_DEFAULT_REGION=$region
rm -rf build && mkdir -p build

for stack in $stacks; do
  python3 fill.py "parameters/$stack.json" > "build/$stack.json"
  aws cloudformation deploy --stack-name "$cluster-$stack" --template-file "templates/$stack.yaml" \
    --parameter-overrides "file://build/$stack.json" --capabilities CAPABILITY_IAM --no-fail-on-empty-changeset
  found=$(aws cloudformation describe-stacks --stack-name "$cluster-$stack" \
    --query 'Stacks[0].Outputs[].[OutputKey,OutputValue]' --output text)
  [[ -n $found ]] || fail "the stack $cluster-$stack has no outputs"
  while IFS=$'\t' read -r key value; do export "${stack}_$key=$value"; done <<< "$found"
done

cp -r lifecycle build/lifecycle
if [[ -f provisioning_parameters.json ]]; then
  python3 fill.py provisioning_parameters.json > build/lifecycle/provisioning_parameters.json
fi
aws s3 cp --recursive build/lifecycle "s3://$base_LifecycleBucketName/lifecycle/$cluster"

if [[ -f cluster.yaml ]]; then
  command -v pcluster > /dev/null || fail "pcluster is not installed; this was proven with $engine_pin"
  python3 fill.py cluster.yaml > build/cluster.yaml
  if pcluster describe-cluster --cluster-name "$cluster" --region "$region" > /dev/null 2>&1; then
    echo "deploy: $cluster is there already; change it with pcluster update-cluster"
  else
    pcluster create-cluster --cluster-name "$cluster" --region "$region" --cluster-configuration build/cluster.yaml \
      --rollback-on-failure false
  fi
else
  python3 fill.py cluster.json > build/cluster.json
  if aws sagemaker describe-cluster --cluster-name "$cluster" > /dev/null 2>&1; then
    echo "deploy: $cluster is there already; change it with aws sagemaker update-cluster"
  else
    aws sagemaker create-cluster --cluster-name "$cluster" --cli-input-json file://build/cluster.json
  fi
fi
echo "deploy: asked for $cluster; DEPLOY.md says how to follow it"
