#!/usr/bin/env bash
# Asks `triptych up` with the real tritonclient (from PyPI, pinned, kept in the cache) and, where
# PERF_ANALYZER names one, with perf_analyzer.
set -euo pipefail
cd "$(dirname "$0")/.."

clients=$TRIPTYCH_CACHE/clients
log=$(mktemp) out=$(mktemp)
pid=

finish() {
  local status=$?
  trap - EXIT
  if [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; then
    kill -TERM "$pid"
    wait "$pid" || status=$?
  fi
  if [ "$status" != 0 ]; then tail -n 20 "$log" >&2; fi
  rm -f "$log" "$out"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

if ! cmp -s tools/clients/requirements.txt "$clients/requirements.txt"; then
  echo "test-clients: fetching tritonclient into $clients (once)" >&2
  rm -rf "$clients"
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --target "$clients" --requirement tools/clients/requirements.txt
  cp tools/clients/requirements.txt "$clients/"
fi

bin/triptych up --http-address 127.0.0.1:0 --grpc-address 127.0.0.1:0 --admin-address 127.0.0.1:0 >"$out" 2>"$log" &
pid=$!
for _ in $(seq 300); do
  if grep -q '^ready' "$out"; then break; fi
  kill -0 "$pid"
  sleep 0.1
done
address() { sed -nE "s#^ready.* $1=(http://)?([^ ]+).*#\\2#p" "$out"; }
HTTP=$(address http) GRPC=$(address grpc)
export HTTP GRPC

PYTHONPATH=$clients python3 tools/clients/test_tritonclient.py

if [ -n "${PERF_ANALYZER:-}" ]; then
  for protocol in "grpc $GRPC" "http $HTTP"; do
    # shellcheck disable=SC2086 # two words
    set -- $protocol
    "$PERF_ANALYZER" -m efficientnet_lite0 -i "$1" -u "$2" --concurrency-range 2 -p 2000 -s 50
  done
fi
