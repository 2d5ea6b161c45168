#!/bin/sh
# Uploads packages to Gatehouse; needs curl only.
#
#   GATEHOUSE_TOKEN=svc_… GATEHOUSE_URL=https://packages.example sh push.sh --to jammy *.deb
#
# Options: --to CODENAME, --component NAME, --url URL. Prints a line for each file.
# Ends with 0 when all were taken, 1 when any was not, 2 when it was called wrongly.
set -u

MOST_FILES=100
MOST_TRIES=10

usage() {
  echo "push.sh: $1" >&2
  echo 'usage: GATEHOUSE_TOKEN=… sh push.sh --to CODENAME [--component NAME] [--url URL] FILE…' >&2
  exit 2
}

to= component= url=${GATEHOUSE_URL:-}
while [ $# -gt 0 ]; do
  case $1 in
    --to | --component | --url)
      [ $# -ge 2 ] || usage "$1 needs a value"
      case $1 in
        --to) to=$2 ;;
        --component) component=$2 ;;
        --url) url=$2 ;;
      esac
      shift 2
      ;;
    --) shift; break ;;
    -*) usage "$1 is no option" ;;
    *) break ;;
  esac
done
[ -n "$to" ] || usage 'say with --to which distribution they go to'
[ -n "$url" ] || usage 'say with --url or GATEHOUSE_URL where Gatehouse is'
[ -n "${GATEHOUSE_TOKEN:-}" ] || usage 'put an API token into GATEHOUSE_TOKEN'
[ $# -gt 0 ] || usage 'name the files'
for file; do [ -f "$file" ] && [ -r "$file" ] || usage "$file is no readable file"; done

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
failed=0

# In a file that only we may read: arguments of a process are visible to everybody.
umask 077
quoted() { printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g'; }
begin() {
  {
    printf 'header = "Authorization: Bearer %s"\n' "$(quoted "$GATEHOUSE_TOKEN")"
    printf 'form-string = "distribution=%s"\n' "$(quoted "$to")"
    [ -z "$component" ] || printf 'form-string = "component=%s"\n' "$(quoted "$component")"
  } >"$work/config"
  count=0
}

# The value of a header of the last answer.
answered() { sed -n "s/^$1: *\([0-9]*\).*/\1/p" "$work/headers" | tail -n 1; }

# One line for each file; the answer has them in their order, each beginning with its name.
report() {
  echo >>"$work/answer" # a last line without its end is no line for sed
  sed 's/{"filename":"/\
&/g; s/,"stopped":{/\
&/' "$work/answer" | sed -n '
    s/^{"filename":"\([^"]*\)","status":\(2[0-9][0-9]\),.*"status":"\([a-z_]*\)","state":"\([a-z_]*\)".*/\2 \4 \1/p; t
    s/^{"filename":"\([^"]*\)","status":\([0-9]*\),"body":{"code":"\([a-z_0-9]*\)","detail":"\([^"]*\)".*/\2 \3 \1: \4/p; t
    s/^{"filename":"\([^"]*\)","status":\([0-9]*\),"body":{"code":"\([a-z_0-9]*\)",.*"msg":"\([^"]*\)".*/\2 \3 \1: \4/p; t
    s/^{"filename":"\([^"]*\)","status":\([0-9]*\),"body":{"code":"\([a-z_0-9]*\)",.*"message":"\([^"]*\)".*/\2 \3 \1: \4/p; t
    s/^{"filename":"\([^"]*\)","status":\([0-9]*\),.*/\2 \1/p; t
    s/^,"stopped":{"status":\([0-9]*\),"code":"\([a-z_0-9]*\)".*/\1 \2 the rest was not taken/p' >"$work/report"
  cat "$work/report"
  # quarantined and rejected packages are known here and kept from clients
  ! grep -Eqv '^2[0-9][0-9] (published|pending_review) ' "$work/report" || failed=1
}

send() {
  tries=0
  while :; do
    tries=$((tries + 1))
    status=$(curl --silent --show-error --config "$work/config" --dump-header "$work/headers" \
      --output "$work/answer" --write-out '%{http_code}' "${url%/}/api/v1/upload/batch") || {
      echo "push.sh: ${url%/} does not answer" >&2
      exit 1
    }
    case $status in
      429 | 503)
        [ "$tries" -lt "$MOST_TRIES" ] || break
        pause=$(answered '[Rr]etry-[Aa]fter')
        echo "push.sh: $status, again in ${pause:-5} s" >&2
        sleep "${pause:-5}"
        ;;
      *) break ;;
    esac
  done
  if [ "$status" != 200 ]; then
    echo "push.sh: $status $(cat "$work/answer")" >&2
    exit 1
  fi
  report
}

begin
for file; do
  printf 'form = "file=@\\"%s\\""\n' "$(quoted "$(quoted "$file")")" >>"$work/config"
  count=$((count + 1))
  if [ "$count" -eq "$MOST_FILES" ]; then
    send
    begin
  fi
done
[ "$count" -eq 0 ] || send
exit "$failed"
