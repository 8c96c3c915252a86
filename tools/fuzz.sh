#!/usr/bin/env bash
# Runs every fuzz target of the repository for a while: those of preprocess, where strangers'
# bytes meet C, for FUZZTIME each, the others for FUZZTIME_OTHERS. Two run side by side, each in
# one process. Says how many inputs were tried, and fails with the path of one that breaks.
set -euo pipefail
cd "$(dirname "$0")/.."

time=${FUZZTIME:-1m} others=${FUZZTIME_OTHERS:-10s}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# targets prints a line for each: folder, name, how long.
targets() {
  local folder name
  while IFS= read -r folder; do
    for name in $(go test -list '^Fuzz' -tags "${TAGS:-}" "./$folder" | grep '^Fuzz' || true); do
      case $folder in
        services/preprocess*) echo "$folder $name $time" ;;
        *) echo "$folder $name $others" ;;
      esac
    done
  done < <(git grep -l --untracked -E '^func Fuzz' -- '*_test.go' | xargs -n 1 dirname | sort -u)
}

# attempt FOLDER NAME TIME LOG
attempt() {
  go test -run '^$' -fuzz "^$2\$" -fuzztime "$3" -parallel 1 -tags "${TAGS:-}" "./$1" >"$4" 2>&1
}

# run FOLDER NAME TIME
run() {
  local folder=$1 name=$2 log=$logs/${1//\//-}-$2 count
  if attempt "$@" "$log" || retry "$@" "$log"; then
    # A short time may be over before all seeds have been tried.
    count=$(grep -oE '(execs|gathering baseline coverage): .*' "$log" | tail -n 1 | sed -E 's# \([0-9]+/sec\)##')
    printf 'fuzz %-38s %-24s %4s  %s\n' "$folder" "$name" "$3" "$count"
    return
  fi
  printf 'fuzz %-38s %-24s FAILED\n' "$folder" "$name"
  tail -n 40 "$log"
  sed -nE "s#.*Failing input written to (testdata/[^ ]+).*#the input that breaks it: $folder/\1#p" "$log"
  return 1
}

# retry FOLDER NAME TIME LOG: when the time is over, Go may take its own deadline for a failure
# (golang/go#75804). Then there is no input that breaks anything.
retry() {
  if ! grep -q 'context deadline exceeded' "$4" || grep -q 'Failing input written' "$4"; then return 1; fi
  echo "fuzz $1 $2 ended by its deadline, once more" >&2
  attempt "$@"
}

export -f run retry attempt
export logs TAGS
# The long ones first, so that both ends are reached at about the same time.
targets >"$logs/found"
{ grep '^services/preprocess' "$logs/found"; grep -v '^services/preprocess' "$logs/found"; } >"$logs/targets" || true
if ! grep -q . "$logs/targets"; then
  echo "fuzz: there are no targets" >&2
  exit 1
fi
xargs -P 2 -L 1 bash -euo pipefail -c 'run "$@"' run <"$logs/targets"
