import { COLLECT } from './collect-script.ts'

/** Counts up when the script changes; machines tell it with each report. */
export const AGENT_VERSION = '1'

/**
 * The reporter: a POSIX shell script that needs curl. Without arguments it reports;
 * piped into a shell with GATEHOUSE_TOKEN it installs itself, with a timer. The token lies in a file of root only and
 * is in no list of processes.
 */
export const AGENT_SCRIPT = String.raw`#!/bin/sh
# Tells a Gatehouse service about this machine: its system, whether it waits for a restart, its packages.
# It reads and changes nothing but its own files. As root, it needs curl.
#
#   curl -fsS URL/api/v1/inventory/agent.sh | GATEHOUSE_URL=URL GATEHOUSE_TOKEN=ghm_... sh    installs it
#   gatehouse-report             reports now
#   gatehouse-report --print     shows what it would report
#   gatehouse-report --remove    takes it off the machine
#
# A certificate of your own: set CURL_CA_BUNDLE when installing.
set -u
umask 077
LC_ALL=C
export LC_ALL

base=${'$'}{GATEHOUSE_ROOT:-}
self=$base/usr/local/sbin/gatehouse-report
conf=$base/etc/gatehouse-report.conf
units=$base/etc/systemd/system

fail() {
  echo "gatehouse-report: $1" >&2
  exit 1
}

${COLLECT}

say_all() {
  echo '==> agent'
  echo '${AGENT_VERSION}'
  collect "$base" auto
}

report() {
  [ -r "$conf" ] || fail "$conf is missing: install it again with the line from the page Inventory"
  told=$(mktemp) || fail 'there is no room for a temporary file'
  answer=$(mktemp) || fail 'there is no room for a temporary file'
  trap 'rm -f "$told" "$answer"' EXIT
  trap 'exit 1' HUP INT TERM
  say_all > "$told" || fail 'the list of packages could not be written'
  code=$(curl -sS --max-time 120 -K "$conf" -H 'Content-Type: text/plain; charset=utf-8' \
    --data-binary "@$told" -o "$answer" -w '%{http_code}') || fail 'the service could not be reached; curl says why above'
  case $code in
    200) ;;
    *) fail "the service answered $code: $(head -c 600 "$answer")" ;;
  esac
}

install_units() {
  mkdir -p "$units"
  cat > "$units/gatehouse-report.service" <<UNIT
[Unit]
Description=Report this machine to Gatehouse
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
ExecStart=/usr/local/sbin/gatehouse-report
UNIT
  cat > "$units/gatehouse-report.timer" <<UNIT
[Unit]
Description=Report this machine to Gatehouse every six hours

[Timer]
OnBootSec=5min
OnUnitActiveSec=6h
RandomizedDelaySec=30min

[Install]
WantedBy=timers.target
UNIT
  chmod 644 "$units/gatehouse-report.service" "$units/gatehouse-report.timer"
  if [ -z "$base" ]; then
    systemctl daemon-reload && systemctl enable --now gatehouse-report.timer
  fi
}

install_cron() {
  minute=$(uname -n | cksum | awk '{ print $1 % 60 }')
  if [ -d "$base/etc/crontabs" ]; then
    touch "$base/etc/crontabs/root"
    grep -v gatehouse-report "$base/etc/crontabs/root" > "$base/etc/crontabs/root.new"
    echo "$minute */6 * * * /usr/local/sbin/gatehouse-report" >> "$base/etc/crontabs/root.new"
    mv "$base/etc/crontabs/root.new" "$base/etc/crontabs/root"
  elif [ -d "$base/etc/cron.d" ]; then
    echo "$minute */6 * * * root /usr/local/sbin/gatehouse-report" > "$base/etc/cron.d/gatehouse-report"
    chmod 644 "$base/etc/cron.d/gatehouse-report"
  else
    fail 'there is neither systemd nor cron here: run /usr/local/sbin/gatehouse-report every six hours yourself'
  fi
}

install_all() {
  command -v curl >/dev/null 2>&1 || fail 'curl is missing: install it first'
  [ -n "${'$'}{GATEHOUSE_URL:-}" ] || fail 'GATEHOUSE_URL is missing: take the whole line from the page Inventory'
  case $GATEHOUSE_TOKEN in
    *[!A-Za-z0-9_-]*) fail 'GATEHOUSE_TOKEN is no token: take the whole line from the page Inventory' ;;
  esac
  [ -n "$base" ] || [ "$(id -u)" = 0 ] || fail 'only root can install it: run the line as root'
  mkdir -p "$base/usr/local/sbin" "$base/etc"
  curl -fsS --max-time 60 "$GATEHOUSE_URL/api/v1/inventory/agent.sh" -o "$self.new" ||
    fail 'the script could not be fetched; curl says why above'
  tail -n 1 "$self.new" | grep -q '^main "' || fail 'the script was cut off on its way: run the line again'
  {
    echo "url = \"$GATEHOUSE_URL/api/v1/inventory/report\""
    echo "header = \"Authorization: Bearer $GATEHOUSE_TOKEN\""
    [ -z "${'$'}{CURL_CA_BUNDLE:-}" ] || echo "cacert = \"$CURL_CA_BUNDLE\""
  } > "$conf"
  chmod 755 "$self.new"
  mv "$self.new" "$self"
  unset GATEHOUSE_TOKEN
  "$self" || fail 'the first report failed, so no timer was set'
  if [ -d "$base/run/systemd/system" ]; then install_units; else install_cron; fi
  echo 'This machine reports itself every six hours from now on.'
}

remove_all() {
  if [ -z "$base" ] && [ -d /run/systemd/system ]; then systemctl disable --now gatehouse-report.timer; fi
  rm -f "$units/gatehouse-report.service" "$units/gatehouse-report.timer" "$base/etc/cron.d/gatehouse-report" "$conf" "$self"
  if [ -e "$base/etc/crontabs/root" ]; then
    grep -v gatehouse-report "$base/etc/crontabs/root" > "$base/etc/crontabs/root.new"
    mv "$base/etc/crontabs/root.new" "$base/etc/crontabs/root"
  fi
}

main() {
  case ${'$'}{1:-} in
    --print) say_all ;;
    --remove) remove_all ;;
    '') if [ -n "${'$'}{GATEHOUSE_TOKEN:-}" ]; then install_all; else report; fi ;;
    *) fail "there is no option $1; there are --print and --remove" ;;
  esac
}

main "$@"
`
