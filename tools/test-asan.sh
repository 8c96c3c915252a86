#!/usr/bin/env bash
# Runs the tests of the packages that call C under AddressSanitizer, which sees writes beyond a
# buffer, use after free and, when a test ends, memory that C never got back.
set -euo pipefail
cd "$(dirname "$0")/.."

# do_without REASON: others are told, CI must have it.
do_without() {
  echo "test-asan: nothing was tested: $1" >&2
  [ "${CI:-}" != true ] || exit 1
  exit 0
}

case $(go env GOOS)/$(go env GOARCH) in
  linux/amd64 | linux/arm64) ;;
  *) do_without "Go has no AddressSanitizer for $(go env GOOS)/$(go env GOARCH)" ;;
esac
[ "${TAGS:-}" != portable ] || do_without "this build has no C decoders (make setup installs their libraries)"
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
echo 'int main(void) { return 0; }' >"$probe/main.c"
"$(go env CC)" -fsanitize=address -o "$probe/main" "$probe/main.c" 2>"$probe/why" && "$probe/main" ||
  do_without "$(go env CC) can't build for AddressSanitizer: $(head -n 1 "$probe/why")"

CGO_ENABLED=1 go test -asan -count 1 -timeout 10m -tags "${TAGS:-}" ./services/preprocess/decode ./services/preprocess/resample
