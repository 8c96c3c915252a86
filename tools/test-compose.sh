#!/usr/bin/env bash
# Builds and starts the compose stack, classifies images through it with curl, sends jobs, and
# checks in Jaeger that one trace holds the spans of all four services on both roads. NATS is
# killed in the middle of a job, and is late, and is reached by TLS. Always takes the stack down.
set -euo pipefail
cd "$(dirname "$0")/.."

gateway=http://127.0.0.1:8000
jaeger=http://127.0.0.1:16686
export COMPOSE_PROJECT_NAME=triptych-test
tls=(docker compose -f docker-compose.yml -f compose/tls.yml)

for tool in docker curl jq openssl; do
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

work=$(mktemp -d)
finish() {
  local status=$?
  trap - EXIT
  if [ "$status" != 0 ]; then
    docker compose ps --all >&2 || true
    docker compose logs --tail 40 >&2 || true
  fi
  docker compose down --volumes --remove-orphans --timeout 60 >/dev/null 2>&1 || true
  rm -rf "$work"
  echo "$passed passed, $failed failed"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

expected() { jq -r --arg file "$1" '.images[] | select(.file == $file) | .top5["2"][0].label' testdata/expected.json; }
classify() { curl --silent --show-error --max-time 30 --data-binary "@testdata/images/$1" "$gateway/v1/classify"; }
ask() { curl --silent --show-error --fail-with-body --max-time 120 "$@"; }

# submit CURL-ARGUMENT... sends a job and prints its id.
submit() { ask "$@" "$gateway/v1/jobs" | jq -r .id; }

# results ID prints what became of each item, a line each, as often as it takes to see the end: a
# stream that was cut goes on where it was.
results() {
  local cursor='' file=$work/part
  for _ in $(seq 60); do
    curl --silent --max-time 120 "$gateway/v1/jobs/$1/results?cursor=$cursor" >"$file" || true
    # What was cut may end in half a line.
    jq --raw-input --compact-output 'fromjson? | select(.item != null)' "$file"
    if jq --raw-input --exit-status 'fromjson? | select(.end != null)' "$file" >/dev/null; then return; fi
    cursor=$(jq --raw-input --raw-output 'fromjson? | .cursor // empty' "$file" | tail -n 1 | grep . || echo "$cursor")
    sleep 1
  done
  echo "test-compose: job $1 does not end" >&2
  return 1
}

# tree NAME TRACE looks for a whole trace.
tree() {
  if bin/tools/tracecheck -jaeger "$jaeger" -wait 30s -tree "$1" "$2"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
}

images() { for file in testdata/images/*; do printf -- '--form\nimage=@%s\n' "$file"; done; }
mapfile -t forms < <(images)

# job sends the sample images, checks each answer, and leaves the results in $work/results.
job() { # NAME
  local id
  id=$(submit "${forms[@]}")
  results "$id" >"$work/results"
  check "$1: items" "$(find testdata/images -type f | wc -l)" "$(jq -s 'map(.item) | unique | length' "$work/results")"
  while IFS=$'\t' read -r name label; do
    check "$1: label of $name" "$(expected "$name")" "$label"
  done < <(jq -r '[.name, .predictions[0].label // .error.message] | @tsv' "$work/results")
  check "$1: state" "done" "$(ask "$gateway/v1/jobs/$id" | jq -r .state)"
  last=$id
}

# interrupted kills NATS in the middle of a job, and checks that each item has one result.
interrupted() {
  local items=400 id done_ before
  mkdir "$work/many"
  for i in $(seq "$items"); do cp testdata/images/cat.jpg "$work/many/$i.jpg"; done
  tar -C "$work/many" -cf "$work/many.tar" .
  id=$(submit --header 'Content-Type: application/x-tar' --data-binary "@$work/many.tar")
  for _ in $(seq 600); do
    done_=$(ask "$gateway/v1/jobs/$id" | jq .counts.succeeded)
    if [ "$done_" -ge 20 ]; then break; fi
    sleep 0.1
  done
  before=$(docker compose ps --quiet nats)
  docker compose kill --signal KILL nats
  docker compose up --detach --no-deps --wait nats
  check "NATS is the same container again" "$before" "$(docker compose ps --quiet nats)"
  results "$id" >"$work/many.results"
  echo "     NATS was killed after $done_ of $items items"
  check "killed in the middle of a job" true "$([ "$done_" -lt "$items" ] && echo true)"
  check "items with a result" "$items" "$(jq -s 'map(.item) | unique | length' "$work/many.results")"
  check "results" "$items" "$(wc -l <"$work/many.results")"
  check "what became of them" '["succeeded"]' "$(jq -sc 'map(.state) | unique' "$work/many.results")"
}

docker compose up --build --detach --wait --wait-timeout 180

for image in coffee.jpg rocket.tiff cat.gif; do
  answer=$(classify "$image")
  check "label of $image" "$(expected "$image")" "$(jq -r '.results[0].predictions[0].label' <<<"$answer")"
done
tree classify "$(jq -r .trace_id <<<"$answer")"

status=$(curl --silent --output /dev/null --write-out '%{http_code}' --data 'not an image' "$gateway/v1/classify")
check "status for what is no image" 415 "$status"

job "job"
tree job "$(jq -r 'select(.name == "coffee.jpg") | .trace_id' "$work/results")"
cp "$work/results" "$work/first"
first=$last
interrupted

echo "     all away and back, by TLS, and NATS is late"
docker compose down --timeout 60
compose/tls/make-certs.sh
"${tls[@]}" up --detach --no-deps --wait --wait-timeout 180 jaeger preprocess predictor postprocess
"${tls[@]}" up --detach --no-deps --wait --wait-timeout 180 gateway
check "label without NATS" "$(expected coffee.jpg)" "$(classify coffee.jpg | jq -r '.results[0].predictions[0].label')"
status=$(curl --silent --output /dev/null --write-out '%{http_code} %header{retry-after}' "${forms[@]}" "$gateway/v1/jobs")
check "status of a job without NATS" 503 "${status% *}"
check "it says when to come again" true "$([ "${status#* }" -gt 0 ] && echo true)"
"${tls[@]}" up --detach --no-deps --wait nats
for _ in $(seq 100); do
  if ask "$gateway/v1/jobs/$first" >/dev/null 2>&1; then break; fi
  sleep 0.2
done
results "$first" >"$work/again"
check "results of the job before" "$(sha256sum <"$work/first")" "$(sha256sum <"$work/again")"
job "job by TLS"

[ "$failed" = 0 ]
