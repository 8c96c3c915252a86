#!/usr/bin/env bash
# Builds and starts the compose stack, classifies images through it with curl, and checks in
# Jaeger that one trace holds the spans of all four services. Always takes the stack down.
set -euo pipefail
cd "$(dirname "$0")/.."

gateway=http://127.0.0.1:8000
jaeger=http://127.0.0.1:16686
export COMPOSE_PROJECT_NAME=triptych-test

for tool in docker curl jq; do
  command -v "$tool" >/dev/null || { echo "test-compose: $tool is missing" >&2; exit 1; }
done

passed=0 failed=0
check() { # NAME WANT GOT
  if [ "$2" = "$3" ]; then
    passed=$((passed + 1))
    echo "ok   $1: $3"
  else
    failed=$((failed + 1))
    echo "FAIL $1: want '$2', got '$3'"
  fi
}

finish() {
  local status=$?
  trap - EXIT
  if [ "$status" != 0 ]; then
    docker compose ps --all >&2 || true
    docker compose logs --tail 40 >&2 || true
  fi
  docker compose down --volumes --remove-orphans --timeout 60 >/dev/null 2>&1 || true
  echo "$passed passed, $failed failed"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

expected() { jq -r --arg file "$1" '.images[] | select(.file == $file) | .top5["2"][0].label' testdata/expected.json; }
classify() { curl --silent --show-error --max-time 30 --data-binary "@testdata/images/$1" "$gateway/v1/classify"; }

docker compose up --build --detach --wait --wait-timeout 180

for image in coffee.jpg rocket.tiff cat.gif; do
  answer=$(classify "$image")
  check "label of $image" "$(expected "$image")" "$(jq -r '.results[0].predictions[0].label' <<<"$answer")"
done

trace=$(jq -r .trace_id <<<"$answer")
if bin/tools/tracecheck -jaeger "$jaeger" -wait 30s "$trace"; then
  passed=$((passed + 1))
else
  failed=$((failed + 1))
fi

status=$(curl --silent --output /dev/null --write-out '%{http_code}' --data 'not an image' "$gateway/v1/classify")
check "status for what is no image" 415 "$status"

[ "$failed" = 0 ]
