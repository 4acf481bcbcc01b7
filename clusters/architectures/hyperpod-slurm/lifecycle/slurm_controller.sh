#!/bin/bash
# On a controller, before Slurm starts: accounts in a database and a second controller, where there are such.
# It rewrites its own lines only, so that it can run again.
# shellcheck disable=SC2154 # exported by on_create.sh
set -euo pipefail
cluster=$1 region=$2 address=$3 here=$4
etc=/opt/slurm/etc
conf=$etc/slurm.conf

host_of() { echo "ip-${1//./-}"; }

set_line() {
  local name=$1 value=$2
  sed -i "/^$name=/d" "$conf"
  echo "$name=$value" >> "$conf"
}

if [[ ${controllers:-} == *,* ]]; then
  [[ -n ${shared_folder:-} ]] || { echo "cohort: two controllers need a shared folder" >&2; exit 1; }
  install -d -m 0755 "$shared_folder/slurm" "$shared_folder/slurm/state"
  chown -R slurm: "$shared_folder/slurm"
  sed -i '/^SlurmctldHost=/d' "$conf"
  for each in ${controllers//,/ }; do echo "SlurmctldHost=$(host_of "$each")($each)" >> "$conf"; done
  set_line StateSaveLocation "$shared_folder/slurm/state"
  set_line SlurmctldTimeout 60
  install -d /opt/cohort
  cat > /opt/cohort/primary_on.sh <<TAKEOVER
#!/bin/bash
exec /opt/cohort/say_how_slurm_is_reached.sh "$cluster" "$region" "$address" "$shared_folder/slurm/jwt_hs256.key"
TAKEOVER
  chmod 0755 /opt/cohort/primary_on.sh
  set_line SlurmctldPrimaryOnProg /opt/cohort/primary_on.sh
fi

if [[ -n ${database_host:-} ]]; then
  password=$(aws secretsmanager get-secret-value --region "$region" --secret-id "$database_secret" \
    --query SecretString --output text)
  (umask 077; cat > "$etc/slurmdbd.conf" <<CONF
AuthType=auth/munge
DbdHost=$(host_of "$address")
SlurmUser=slurm
StorageType=accounting_storage/mysql
StorageHost=$database_host
StorageUser=$database_user
StoragePass=$password
StorageLoc=slurm_acct_db
CONF
  )
  chown slurm: "$etc/slurmdbd.conf"
  set_line AccountingStorageType accounting_storage/slurmdbd
  first=${controllers%%,*} second=${controllers#*,}
  set_line AccountingStorageHost "$(host_of "$first")"
  [[ $second == "$first" ]] || set_line AccountingStorageBackupHost "$(host_of "$second")"
  set_line JobAcctGatherType jobacct_gather/cgroup
  systemctl enable --now slurmdbd
fi
echo "cohort: Slurm's controller is configured, its files lie in $here"
