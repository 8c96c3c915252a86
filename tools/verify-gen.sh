#!/usr/bin/env bash
# Generates proto/ in a copy and compares, so that a stale tree is reported and not changed.
set -euo pipefail
cd "$(dirname "$0")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r proto "$copy/proto"
mkdir "$copy/bin" && ln -s "$PWD/bin/tools" "$copy/bin/tools"
# Deleted first: code whose source is gone is stale too.
find "$copy/proto" -name '*.pb.go' -delete
(cd "$copy/proto" && ../bin/tools/buf generate)

if ! diff -r proto "$copy/proto"; then
  echo "generated code is stale: run make generate" >&2
  exit 1
fi
