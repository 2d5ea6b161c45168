#!/bin/sh
# `npm start`: prepares a fresh clone, then becomes the daemon: nothing stays in memory beside it but npm.
set -euf
cd "$(dirname "$0")/.."
words=$(node scripts/start.mjs)
# one word in a line
IFS='
'
# shellcheck disable=SC2086
exec env $words "$@"
