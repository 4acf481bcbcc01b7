#!/bin/bash
# Brings each image that the cluster names from the account's registry to /fsx once, as one file that every node reads:
# a hundred nodes that each pull it would wait for the registry, and might not get the same. Found by digest, never by tag.
set -euo pipefail
here=$1 region=$2
images=/fsx/cohort/images

fail() { echo "cohort: $*" >&2; exit 1; }
[[ -s $here/images.json ]] || exit 0
install -d -o cohort -g cohort -m 0755 "$images"
exec 9> "$images/.lock"
flock 9

ENROOT_CONFIG_PATH=$(mktemp -d)
export ENROOT_CONFIG_PATH
trap 'rm -rf "$ENROOT_CONFIG_PATH"' EXIT

while IFS=$'\t' read -r name registry repository digest file; do
  if [[ -s $images/$file ]]; then
    echo "cohort: $name is there already, as $images/$file"
    continue
  fi
  (umask 077; printf 'machine %s login AWS password %s\n' "$registry" "$(aws ecr get-login-password --region "$region")" \
    > "$ENROOT_CONFIG_PATH/.credentials")
  done=
  for attempt in 1 2 3 4 5; do
    rm -f "$images/.$file.new"
    # Enroot takes a digest where a tag would stand.
    if enroot import --output "$images/.$file.new" "docker://AWS@$registry#$repository:$digest"; then done=yes; break; fi
    echo "cohort: $name is not there yet (attempt $attempt)"
    sleep $((attempt * 10))
  done
  [[ -n $done ]] || fail "the image $name ($repository@$digest) cannot be brought from $registry"
  chown cohort:cohort "$images/.$file.new"
  mv "$images/.$file.new" "$images/$file"
  echo "cohort: $name is $images/$file"
done < <(python3 - "$here/images.json" << 'PY'
import json, sys
with open(sys.argv[1]) as file:
    for each in json.load(file)["images"]:
        print(*(each[key] for key in ("name", "registry", "repository", "digest", "file")), sep="\t")
PY
)
