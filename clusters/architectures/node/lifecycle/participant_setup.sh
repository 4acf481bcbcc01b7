#!/bin/bash
# Runs the participant's own script after ours, and says whose it was when it fails: name, version, code, last lines.
set -uo pipefail
here=$1 role=$2
[[ -s $here/participant.sh ]] || exit 0
log=/var/log/participant-setup.log
read -r name version < <(python3 -c 'import json, sys; told = json.load(open(sys.argv[1])); print(told["name"], told["version"])' "$here/participant.json")

export COHORT_ROLE=$role
started=$(date +%s)
timeout --kill-after=30 1500 bash "$here/participant.sh" > "$log" 2>&1
code=$?
cat "$log"
if [[ $code -ne 0 ]]; then
  python3 - "$name" "$version" "$code" "$(hostname)" "$log" >&2 << 'PY'
import json, sys
name, version, code, host, log = sys.argv[1:]
with open(log, errors="replace") as file:
    lines = [line.rstrip()[:300] for line in file.readlines()[-5:]]
# Short lines: what is longer is cut on its way to whoever reads it.
for line in lines:
    print("cohort-participant-said", line[:220])
print("cohort-participant-setup", json.dumps({"name": name, "version": int(version), "code": int(code), "host": host[:80]}))
PY
  exit 1
fi
echo "cohort: the participant's set-up $name, version $version, ended well after $(($(date +%s) - started)) s"
