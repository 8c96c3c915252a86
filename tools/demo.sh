#!/usr/bin/env bash
# Starts all four services, classifies the sample images with both models, shows one trace.
set -euo pipefail
cd "$(dirname "$0")/.."

data=$(mktemp -d)
pid=

finish() {
  local status=$?
  trap - EXIT
  if [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; then
    kill -TERM "$pid"
    wait "$pid" || status=$?
  fi
  if [ "$status" != 0 ]; then
    echo "demo: failed with status $status; the end of the log:" >&2
    tail -n 30 "$data/log" >&2 || true
  fi
  rm -rf "$data"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

# wait_ready prints the line that `triptych up` writes when it can serve.
wait_ready() {
  for _ in $(seq 300); do
    if grep -m 1 '^ready' "$data/out"; then return; fi
    kill -0 "$pid" 2>/dev/null || return 1
    sleep 0.1
  done
  echo "demo: not ready after 30 s" >&2
  return 1
}

# address NAME is one of the addresses in the line `ready http=... grpc=... admin=...`.
address() { sed -nE "s/.* $1=([^ ]+).*/\\1/p" <<<"$ready"; }

say() { printf '\n$ %s\n' "$*"; }

# show COMMAND... shows a command as one would type it, and runs it against this demo's own ports.
show() {
  say "$1"
  shift
  "$@"
}

bin/triptych up --http-address 127.0.0.1:0 --grpc-address 127.0.0.1:0 --admin-address 127.0.0.1:0 \
  --data-directory "$data/data" >"$data/out" 2>"$data/log" &
pid=$!
say bin/triptych up
ready=$(wait_ready)
echo "$ready"
server=$(address http) traces=$(address admin)

ask() { bin/triptych classify --server "$server" --traces "$traces" "$@"; }

printf '\nThe sample photographs by the latest version of the model (INT8):\n'
show 'bin/triptych classify --trace=false testdata/images/*' ask --trace=false testdata/images/*
printf '\nThe same by version 1 (float32):\n'
show 'bin/triptych classify --trace=false --model classify_float32 testdata/images/*' ask --trace=false --model classify_float32 testdata/images/*
printf '\nWhere the milliseconds of one of them went:\n'
show 'bin/triptych classify testdata/images/coffee.jpg' ask testdata/images/coffee.jpg

kill -TERM "$pid"
wait "$pid"
pid=
echo
echo "demo: done. Next: make up, then http://127.0.0.1:8000/v1/classify takes an image as the body."
