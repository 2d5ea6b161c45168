/**
 * What a machine tells of itself, as a POSIX shell function: sections behind `==> name`, and `==> end` when all of it
 * was said. It reads and changes nothing. `GATEHOUSE_ROOT` puts another folder before the paths it reads.
 */
export const COLLECT = String.raw`
collect() {
  root=$1
  echo '==> gatehouse 1'
  echo '==> hostname'
  uname -n
  echo '==> os-release'
  cat "$root/etc/os-release" 2>/dev/null || cat "$root/usr/lib/os-release" 2>/dev/null
  echo
  echo '==> kernel'
  uname -r
  echo '==> uptime'
  cat /proc/uptime 2>/dev/null
  echo '==> reboot'
  collect_reboot
  case $2 in
    deb|rpm|apk) ;;
    *)
      if [ -s "$root/var/lib/dpkg/status" ]; then set -- "$1" deb
      elif [ -d "$root/var/lib/rpm" ] || [ -d "$root/usr/lib/sysimage/rpm" ]; then set -- "$1" rpm
      elif [ -e "$root/lib/apk/db/installed" ] || [ -e "$root/usr/lib/apk/db/installed" ]; then set -- "$1" apk
      else set -- "$1" none
      fi ;;
  esac
  echo "==> packages $2"
  collect_"$2" || echo "==> failed $2"
  echo '==> end'
}

collect_deb() {
  dpkg-query -W -f='${'$'}{db:Status-Abbrev}\t${'$'}{Package}\t${'$'}{Version}\t${'$'}{Architecture}\t${'$'}{source:Package}\t${'$'}{source:Version}\n'
}

collect_rpm() {
  rpm -qa --qf '%{NAME}\t%{EPOCHNUM}\t%{VERSION}-%{RELEASE}\t%{ARCH}\t%{SOURCERPM}\n'
}

collect_apk() {
  installed=$root/lib/apk/db/installed
  [ -e "$installed" ] || installed=$root/usr/lib/apk/db/installed
  grep -E '^([PVAo]:|$)' "$installed"
}

collect_none() {
  false
}

collect_reboot() {
  running=$(uname -r)
  if [ -e "$root/run/reboot-required" ]; then
    echo needed
    echo "$(sort -u "$root/run/reboot-required.pkgs" 2>/dev/null | head -n 10 | tr '\n' ' ')"
  elif [ -e "$root/run/reboot-needed" ]; then
    echo needed
  elif [ -n "$(ls "$root/lib/modules" 2>/dev/null)" ] && [ ! -d "$root/lib/modules/$running" ]; then
    echo needed
    echo "kernel $running"
  elif command -v needs-restarting >/dev/null 2>&1; then
    needs-restarting -r >/dev/null 2>&1
    case $? in 0) echo no ;; 1) echo needed ;; *) echo unknown ;; esac
  elif command -v zypper >/dev/null 2>&1; then
    zypper -q needs-rebooting >/dev/null 2>&1
    case $? in 0) echo no ;; 102) echo needed ;; *) echo unknown ;; esac
  elif [ -e "$root/etc/kernel/postinst.d/unattended-upgrades" ] || [ -e "$root/usr/share/update-notifier/notify-reboot-required" ]; then
    echo no
  else
    echo unknown
  fi
}
`.trim()

/** The whole script for a machine that is asked over SSH: it ends with 0 whenever it came to its end. */
export const askScript = (format: 'auto' | 'deb' | 'rpm' | 'apk'): string =>
  `LC_ALL=C; export LC_ALL\n${COLLECT}\ncollect '' ${format}\nexit 0\n`
