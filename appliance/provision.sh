#!/bin/bash
# provision.sh [--image] BUNDLE
# provision.sh --release NAME
#
# Turns this Debian 12 or 13 into an appliance, with the product's bundle (npm run appliance -- bundle). As root; a second
# run changes nothing. --image is for the root of an image: its name, its network, and nothing of this one machine left.
# Ends with what it looked at, or with 1 and what is not as it should be. --release is for an update: this provision.sh is
# that of a release that is laid already, and whoever calls it watches how the release does.
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)
IMAGE=
RELEASE=
BUNDLE=
# what this run laid: files, a release; and Debian packages that it brought
CHANGED=()
INSTALLED=' '
RELEASED=
for word in "$@"; do
  case $word in
    --image) IMAGE=yes ;;
    --release) RELEASE=next ;;
    -*) echo "Unknown option $word. Usage: provision.sh [--image] BUNDLE" >&2 && exit 64 ;;
    *) if [ "$RELEASE" = next ]; then RELEASE=$word; else BUNDLE=$word; fi ;;
  esac
done

stop() {
  echo "provision.sh: $1" >&2
  exit 1
}
is_running() { [ -d /run/systemd/system ]; }

look_first() {
  [ "$(id -u)" = 0 ] || stop 'This needs root.'
  if [ -n "$RELEASE" ]; then
    [ -x "/opt/gatehouse/releases/$RELEASE/bin/node" ] || stop "There is no release $RELEASE in /opt/gatehouse/releases."
    return
  fi
  [ -n "$BUNDLE" ] || stop 'Name the bundle: provision.sh gatehouse-VERSION-linux-x64.tar.zst'
  [ -s "$BUNDLE" ] || stop "There is no bundle $BUNDLE."
  # shellcheck source=/dev/null
  . /etc/os-release
  case ${ID:-}${VERSION_ID:-} in
    debian12 | debian13) ;;
    *) stop "This is ${PRETTY_NAME:-no Debian}; an appliance is Debian 12 or 13." ;;
  esac
  case $BUNDLE in
    *-x64.tar.zst) [ "$(dpkg --print-architecture)" = amd64 ] ;;
    *-arm64.tar.zst) [ "$(dpkg --print-architecture)" = arm64 ] ;;
    *) stop 'The name of the bundle ends in -x64.tar.zst or -arm64.tar.zst.' ;;
  esac || stop "The bundle is for another processor than this $(dpkg --print-architecture)."
}

# Debian packages that are not there yet
install_packages() {
  local name missing=()
  local lists=("$HERE/packages/service")
  [ -z "$IMAGE" ] || lists+=("$HERE/packages/system")
  # the database is one of our own, so Debian's makes none
  install -d /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  while read -r name; do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q '^install ok' || missing+=("$name")
  done < <(grep -hv '^#' "${lists[@]}")
  [ ${#missing[@]} = 0 ] && return
  echo "Installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -q update
  apt-get -q -y install --no-install-recommends "${missing[@]}"
  INSTALLED=" ${missing[*]} "
}

# files of ours, each only where it differs; what an earlier version brought and this one does not is removed
lay_files() {
  local list=/usr/lib/gatehouse/files file mode
  install -d -m 755 /usr/lib/gatehouse
  (cd "$HERE/root" && find . -type f -printf '/%P\n' | LC_ALL=C sort) >"$list.new"
  while read -r file; do
    mode=644
    [ ! -x "$HERE/root$file" ] || mode=755
    cmp -s "$HERE/root$file" "$file" && [ "$(stat -c %a:%u:%g "$file")" = $mode:0:0 ] && continue
    install -D -o root -g root -m $mode "$HERE/root$file" "$file.laid"
    CHANGED+=("$file")
  done <"$list.new"
  # each is whole or as it was, also when the power goes
  [ ${#CHANGED[@]} = 0 ] || sync
  for file in "${CHANGED[@]}"; do mv "$file.laid" "$file"; done
  if [ -e "$list" ]; then LC_ALL=C sort "$list" | LC_ALL=C comm -23 - "$list.new" | while read -r file; do rm -f "$file"; done; fi
  if cmp -s "$list.new" "$list"; then rm "$list.new"; else mv "$list.new" "$list"; fi
  chmod 644 "$list"
  # what gatehouse-check compares with
  while read -r file; do
    mode=644
    [ ! -x "$HERE/root$file" ] || mode=755
    printf '%s %s %s\n' "$(sha256sum <"$HERE/root$file" | cut -c1-64)" "$mode" "$file"
  done <"$list" | write /usr/lib/gatehouse/digests
  # shellcheck disable=SC2086 # a list of words
  printf '%s\n' $OURS | write /usr/lib/gatehouse/units
}

# /opt/gatehouse/releases/VERSION-DIGEST, and the link to the one that runs
lay_bundle() {
  local digest name folder
  if [ -n "$RELEASE" ]; then
    link_release "$RELEASE"
    return
  fi
  digest=$(sha256sum "$BUNDLE" | cut -c1-12)
  name=$(basename "$BUNDLE" | sed 's/^gatehouse-//; s/-linux-.*//')-$digest
  folder=/opt/gatehouse/releases/$name
  if [ ! -d "$folder" ]; then
    rm -rf "$folder.part"
    install -d -m 755 /opt/gatehouse /opt/gatehouse/releases "$folder.part"
    tar --no-same-owner --zstd -C "$folder.part" -xf "$BUNDLE"
    if [ ! -x "$folder.part/bin/node" ] || [ ! -s "$folder.part/server/main.mjs" ] || [ ! -s "$folder.part/machine/main.mjs" ]; then
      stop "$BUNDLE is no bundle of this product."
    fi
    mv "$folder.part" "$folder"
  fi
  link_release "$name"
}

link_release() {
  [ "$(readlink /opt/gatehouse/current)" = "releases/$1" ] && return
  ln -sfn "releases/$1" /opt/gatehouse/current.new
  mv -T /opt/gatehouse/current.new /opt/gatehouse/current
  sync -f /opt/gatehouse
  RELEASED=yes
}

# a clock that has forgotten the time (no battery, a hypervisor's fault) never begins before the release was made
set_epoch() {
  if [ /opt/gatehouse/current/release -nt /usr/lib/clock-epoch ]; then touch -r /opt/gatehouse/current/release /usr/lib/clock-epoch; fi
}

OURS='gatehouse.service gatehouse-web.service gatehouse-postgres.service gatehouse-first-boot.service
  gatehouse-status.service gatehouse-firewall.service gatehouse-signatures.path
  gatehouse-machine.socket gatehouse-machine.service gatehouse-reset.service gatehouse-acme.timer gatehouse-log.service gatehouse-window.timer
  clamav-daemon.service clamav-daemon.socket clamav-freshclam.service chrony.service avahi-daemon.service logrotate.timer apparmor.service'
# Debian's own web server and database would take our places; sshd is for those who switch it on
NOT_OURS='nginx.service postgresql.service ssh.service ssh.socket nftables.service clamav-freshclam-once.timer clamav-freshclam-once.service getty@tty1.service
  rsyslog.service'

# started by what they wait for
WAITING='gatehouse-update.service'

set_units() {
  local unit
  systemd-sysusers gatehouse.conf
  systemd-tmpfiles --create gatehouse.conf
  for unit in $OURS $WAITING; do systemctl -q is-enabled "$unit" 2>/dev/null || systemctl -q enable "$unit"; done
  for unit in $NOT_OURS; do
    # a machine that somebody manages by SSH keeps it, and one that has an rsyslog of its own
    case $unit in
      ssh.*) [ -n "$IMAGE" ] || continue ;;
      rsyslog.*) [ -n "$IMAGE" ] || [[ $INSTALLED = *' rsyslog '* ]] || continue ;;
    esac
    if systemctl -q is-enabled "$unit" 2>/dev/null; then systemctl -q disable "$unit"; fi
  done
  # the key that every Debian machine of the same image would share
  rm -f /etc/ssl/private/ssl-cert-snakeoil.key /etc/ssl/certs/ssl-cert-snakeoil.pem
}

# writes standard input to FILE, where that differs
write() {
  install -d "$(dirname "$1")"
  cat >"$1.new"
  if cmp -s "$1.new" "$1"; then rm "$1.new"; else mv "$1.new" "$1"; fi
}

# Debian itself, by its public archive: whatever the image was built from is not named in it
set_archive() {
  local codename
  # shellcheck source=/dev/null
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  find /etc/apt/sources.list.d /etc/apt/sources.list -type f ! -name debian.sources -delete 2>/dev/null || true
  rm -f /etc/apt/apt.conf.d/*proxy* /etc/apt/apt.conf.d/99mmdebstrap
  write /etc/apt/sources.list.d/debian.sources <<S
Types: deb
URIs: http://ftp.debian.org/debian
Suites: $codename $codename-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://security.debian.org/debian-security
Suites: $codename-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
S
}

set_network() {
  local unit
  write /etc/systemd/network/80-wired.network <<S
# any cable, by DHCP; a file with a smaller number comes first
[Match]
Name=en* eth* host0
[Network]
DHCP=yes
LLMNR=no
MulticastDNS=no
[DHCPv4]
UseDomains=yes
S
  for unit in systemd-networkd.service systemd-resolved.service; do
    systemctl -q is-enabled "$unit" 2>/dev/null || systemctl -q enable "$unit"
  done
  # a machine without a cable starts as fast as others, and nobody has a password to sign in with at a terminal
  for unit in systemd-networkd-wait-online.service serial-getty@ttyS0.service console-getty.service; do
    [ -L "/etc/systemd/system/$unit" ] || systemctl -q mask "$unit"
  done
}

# whoever stands at the machine has its menu; on a machine that somebody manages, they decide
set_screens() {
  local screen
  for screen in tty1 ttyS0 console; do
    systemctl -q is-enabled "gatehouse-menu@$screen.service" 2>/dev/null || systemctl -q enable "gatehouse-menu@$screen.service"
  done
}

# an image holds nothing that two machines must not share, and nothing of where it was built
forget_machine() {
  # its release, which came with it: gatehouse-check asks the others for a signature
  basename "$(readlink /opt/gatehouse/current)" | write /usr/share/gatehouse/image
  echo gatehouse | write /etc/hostname
  printf '127.0.0.1 localhost\n127.0.1.1 gatehouse\n::1 localhost ip6-localhost ip6-loopback\n' | write /etc/hosts
  [ "$(readlink /etc/resolv.conf)" = ../run/systemd/resolve/stub-resolv.conf ] ||
    ln -sfn ../run/systemd/resolve/stub-resolv.conf /etc/resolv.conf
  passwd -S root | grep -q '^root L' || passwd -q -l root
  rm -f /etc/ssh/ssh_host_* /var/lib/dbus/machine-id /var/lib/systemd/random-seed /var/lib/systemd/credential.secret
  [ ! -s /etc/machine-id ] || : >/etc/machine-id
  find /var/lib/apt/lists /var/cache/apt /var/cache/debconf /var/log -type f -delete
  rm -rf /var/lib/dpkg/*-old /var/cache/ldconfig/aux-cache /etc/*- /tmp/* /var/tmp/* /root/.bash_history
}

# a container has no AppArmor of its own, and the root of an image no kernel: apparmor.service loads it at their start
load_profiles() {
  if [ "$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null)" = Y ]; then apparmor_parser --replace /etc/apparmor.d/gatehouse; fi
}

# a machine that runs becomes an appliance at once
start() {
  local is_first=yes
  ! systemctl -q is-active gatehouse.service || is_first=
  systemctl daemon-reload
  udevadm control --reload 2>/dev/null || true
  systemctl -q stop nginx.service postgresql.service 2>/dev/null || true
  # shellcheck disable=SC2086 # a list of words
  systemctl start $OURS
  # what ran before this goes on with what is new
  if [ -n "$is_first" ]; then
    return
  elif [ ${#CHANGED[@]} -gt 0 ]; then
    # shellcheck disable=SC2086
    systemctl try-restart $OURS
  elif [ -n "$RELEASED" ]; then
    systemctl try-restart gatehouse.service gatehouse-machine.service
  fi
}

# whether this run laid the unit, or a file that it reads
is_changed() {
  local reads=
  case $1 in
    gatehouse-web.service) reads='share/gatehouse/nginx' ;;
    gatehouse-postgres.service) reads='share/gatehouse/(postgresql|pg_)|lib/gatehouse/database$' ;;
    gatehouse-firewall.service) reads='share/gatehouse/firewall' ;;
    gatehouse-status.service) reads='lib/gatehouse/(status|certificate)$' ;;
    clamav-daemon.service) reads='share/gatehouse/clamd' ;;
    clamav-freshclam.service) reads='share/gatehouse/freshclam' ;;
    chrony.service) reads='etc/chrony/' ;;
  esac
  printf '%s\n' "${CHANGED[@]}" | grep -qE "/$1(\.d/|$)${reads:+|$reads}"
}

# nothing is waited for: the daemon may migrate, or be no good. What did not change is left alone; consoles and long
# downloads would hold up a web server that ends, so it reads its configuration anew
start_release() {
  local unit
  systemctl daemon-reload
  udevadm control --reload 2>/dev/null || true
  for unit in $OURS; do
    is_changed "$unit" || continue
    case $unit in
      gatehouse.service | gatehouse-machine.service) ;;
      # what needs it would end with it; what is new in it is done here
      gatehouse-first-boot.service) /usr/lib/gatehouse/first-boot ;;
      gatehouse-web.service) systemctl --no-block try-reload-or-restart "$unit" ;;
      *) systemctl --no-block try-restart "$unit" ;;
    esac
  done
  # shellcheck disable=SC2086
  systemctl --no-block start $OURS
  systemctl --no-block restart gatehouse.service gatehouse-machine.service
}

# what was done is looked at, not believed
check() {
  local unit bad=()
  for unit in $OURS; do systemctl -q is-enabled "$unit" || bad+=("$unit is not enabled"); done
  [ -x /opt/gatehouse/current/bin/node ] || bad+=('there is no release in /opt/gatehouse/current')
  [ "$(/opt/gatehouse/current/bin/node -p 'process.versions.node.split(".")[0]')" -ge 24 ] || bad+=('Node is older than 24')
  getent passwd gatehouse gatehouse-web postgres clamav >/dev/null || bad+=('a user is missing')
  [ "$(stat -c %U:%a /repos)" = gatehouse:750 ] || bad+=('/repos does not belong to gatehouse alone')
  if is_running; then
    curl -fsS --retry 60 --retry-delay 2 --retry-all-errors -o /dev/null --max-time 240 http://127.0.0.1:8000/health/live 2>/dev/null ||
      bad+=('the service does not answer: journalctl -u gatehouse')
  fi
  [ ${#bad[@]} = 0 ] && return
  printf 'provision.sh: %s\n' "${bad[@]}" >&2
  exit 1
}

look_first
install_packages
lay_files
lay_bundle
set_epoch
set_units
load_profiles
if [ -n "$IMAGE" ]; then
  set_archive
  set_network
  set_screens
  forget_machine
fi
if [ -n "$RELEASE" ]; then
  start_release
  exit
fi
! is_running || start
check
echo "This machine is an appliance: Gatehouse $(sed -n 's/^APP_VERSION=//p' /opt/gatehouse/current/release)."
