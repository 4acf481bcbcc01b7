#!/bin/bash
# Containers for jobs of Slurm: Enroot and Pyxis as the machine image brings them, or else from packages that whoever runs
# the account has put beside this script. Run again, it writes the same files again.
set -euo pipefail
here=$1 role=$2
etc=/opt/slurm/etc

fail() { echo "cohort: $*" >&2; exit 1; }
[[ -s $here/images.json ]] || { echo "cohort: no images are named, so containers are left as the machine image has them"; exit 0; }

install_beside() { # name of a program or library, pattern of its packages
  local files
  mapfile -t files < <(find "$here" -maxdepth 1 -name "$2")
  [[ ${#files[@]} -gt 0 ]] || fail "the machine image has no $1, and no package $2 lies beside the scripts in the bucket"
  for attempt in 1 2 3 4 5; do
    if command -v apt-get > /dev/null; then apt-get install -y -q "${files[@]}" && return; else dnf install -y -q "${files[@]}" && return; fi
    sleep $((attempt * 10))
  done
  fail "${files[*]} cannot be installed"
}
find_pyxis() { find /usr/local/lib/slurm /usr/lib/slurm /opt/slurm/lib /usr/lib/x86_64-linux-gnu/slurm -name spank_pyxis.so 2> /dev/null | head -n 1; }

command -v enroot > /dev/null || install_beside enroot 'enroot*.[dr][ep][bm]'
library=$(find_pyxis)
if [[ -z $library && $role != login ]]; then
  install_beside pyxis '*pyxis*.[dr][ep][bm]'
  library=$(find_pyxis)
fi

# Layers and file systems of containers go to the fast disk of the node: /run is memory, and it is full with one image.
disk=/tmp
for each in /opt/dlami/nvme /scratch /local_scratch; do mountpoint -q "$each" && disk=$each && break; done
install -d -m 1777 "$disk/enroot" "$disk/enroot/cache" "$disk/enroot/data" "$disk/enroot/temp"
install -d /etc/enroot
cat > /etc/enroot/enroot.conf << CONF
ENROOT_RUNTIME_PATH /run/enroot/user-\$(id -u)
ENROOT_CACHE_PATH $disk/enroot/cache/user-\$(id -u)
ENROOT_DATA_PATH $disk/enroot/data/user-\$(id -u)
ENROOT_TEMP_PATH $disk/enroot/temp
ENROOT_SQUASH_OPTIONS -noI -noD -noF -noX -no-duplicates
ENROOT_MOUNT_HOME no
ENROOT_RESTRICT_DEV yes
ENROOT_ROOTFS_WRITABLE yes
CONF
install -d -m 0755 /run/enroot
echo 'd /run/enroot 1777 root root -' > /etc/tmpfiles.d/enroot.conf
systemd-tmpfiles --create /etc/tmpfiles.d/enroot.conf

if [[ $role == controller ]]; then
  [[ -n $library ]] || fail "Pyxis has no spank_pyxis.so"
  install -d "$etc/plugstack.conf.d"
  echo "required $library runtime_path=/run/pyxis container_scope=global" > "$etc/plugstack.conf.d/pyxis.conf"
  touch "$etc/plugstack.conf"
  line="include $etc/plugstack.conf.d/*"
  grep -qxF "$line" "$etc/plugstack.conf" || echo "$line" >> "$etc/plugstack.conf"
fi
echo "cohort: containers are set up, their layers lie in $disk/enroot"
