#!/usr/bin/env bash
# Draws docs/img/resize-*.png: what the resize modes make of a sample, as `triptych preprocess`
# shows it.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
pid=
finish() {
  local status=$?
  trap - EXIT
  if [ -n "$pid" ]; then kill -TERM "$pid" && wait "$pid" || status=$?; fi
  if [ "$status" != 0 ]; then tail -n 20 "$work/log" >&2; fi
  rm -rf "$work"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

# model MODE KEY=VALUE...
model() {
  local mode=$1 pair
  mkdir -p "$work/models/$mode"
  {
    echo 'backend: "image" max_batch_size: 1'
    echo 'input [ { name: "IMAGE" data_type: TYPE_STRING dims: [ 1 ] } ]'
    echo 'output [ { name: "image" data_type: TYPE_UINT8 dims: [ 120, 120, 3 ] } ]'
    for pair in "resize=$mode" filter=bicubic "${@:2}"; do
      echo "parameters { key: \"${pair%%=*}\" value { string_value: \"${pair#*=}\" } }"
    done
  } >"$work/models/$mode/config.pbtxt"
}
model shortest size=120
model longest pad_value=114
model exact crop=none
model none

bin/triptych up --model-repository "$work/models" --http-address 127.0.0.1:0 --grpc-address 127.0.0.1:0 --admin-address 127.0.0.1:0 >"$work/out" 2>"$work/log" &
pid=$!
for _ in $(seq 300); do
  if grep -q '^ready' "$work/out"; then break; fi
  kill -0 "$pid"
  sleep 0.1
done
server=$(sed -nE 's#^ready.* http=(http://)?([^ ]+).*#http://\2#p' "$work/out")
mkdir -p docs/img
for mode in shortest longest exact none; do
  bin/triptych preprocess --server "$server" --model "$mode" --png "docs/img/resize-$mode.png" testdata/images/cat.jpg >/dev/null
done
