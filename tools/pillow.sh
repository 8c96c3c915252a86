#!/usr/bin/env bash
# Fetches Pillow, which `make bench-preprocess` measures us against, once, into the cache folder
# and prints where it lies. Progress goes to standard error.
set -euo pipefail
cd "$(dirname "$0")/.."

pillow=${TRIPTYCH_CACHE:-$PWD/.cache}/pillow
if ! cmp -s tools/bench/requirements.txt "$pillow/requirements.txt"; then
  echo "pillow: fetching $(cat tools/bench/requirements.txt) into $pillow (once)" >&2
  rm -rf "$pillow"
  python3 -m pip install --disable-pip-version-check --root-user-action ignore --only-binary :all: \
    --target "$pillow" --requirement tools/bench/requirements.txt >&2
  cp tools/bench/requirements.txt "$pillow/"
fi
echo "$pillow"
