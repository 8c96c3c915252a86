#!/usr/bin/env bash
# Installs what a build needs beside Go, and says why. Does nothing where all is there already.
set -euo pipefail

# Each line: how to see that it is there, the Debian package, why it is wanted.
wanted() {
  cat <<'LIST'
command -v cc                | gcc                 | the predictor calls ONNX Runtime through cgo
test -e /usr/include/errno.h | libc6-dev           | headers for cgo
command -v pkg-config        | pkg-config          | finds the image libraries below
pkg-config --exists libjpeg  | libjpeg62-turbo-dev | libjpeg-turbo decodes JPEG in preprocess
pkg-config --exists libwebp  | libwebp-dev         | libwebp decodes WebP in preprocess
pkg-config --exists zlib     | zlib1g-dev          | zlib unpacks PNG in preprocess
pkg-config --exists lcms2    | liblcms2-dev        | Little CMS turns color profiles into sRGB in preprocess
command -v strace            | strace              | shows in make test-chaos that jobs are synced before they are accepted
have_onnxruntime             | python3-pip         | fetches ONNX Runtime from its wheel
LIST
}

# have_onnxruntime: it is there, or there is a client that can fetch it.
have_onnxruntime() {
  [ -n "${TRIPTYCH_ONNXRUNTIME:-}" ] || command -v npm || python3 -m pip --version ||
    find "${TRIPTYCH_CACHE:-.cache}/onnxruntime" -name libonnxruntime.so | grep -q .
}

require_go() {
  local want have
  want=$(awk '$1 == "go" {print $2; exit}' go.work)
  if ! command -v go >/dev/null; then
    echo "setup: Go $want or newer is needed and there is no go on the PATH: see https://go.dev/dl/" >&2
    exit 1
  fi
  have=$(go env GOVERSION)
  have=${have#go}
  if [ "$(printf '%s\n' "$want" "$have" | sort -V | head -n 1)" != "$want" ]; then
    echo "setup: Go $want or newer is needed, this is $have" >&2
    exit 1
  fi
}

missing_packages() {
  local check package reason
  while IFS='|' read -r check package reason; do
    if ! eval "$check" >/dev/null 2>&1; then
      package=${package// /}
      echo "setup: $package is missing:$reason" >&2
      echo "$package"
    fi
  done < <(wanted)
}

# as_root prints the words that run a command as root, or fails where there is no way.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    echo env
  elif sudo -n true 2>/dev/null || { [ -t 0 ] && command -v sudo >/dev/null; }; then
    echo sudo
  else
    return 1
  fi
}

# The image libraries can be done without, a C compiler can not.
do_without() {
  echo "setup: these packages cannot be installed here ($1). As root, run:" >&2
  echo "    apt-get install -y --no-install-recommends $packages" >&2
  if ! command -v cc >/dev/null; then
    echo "setup: no build without a C compiler" >&2
    exit 1
  fi
  echo "setup: going on without; the build takes the pure Go decoders (build tag portable) where the C ones are missing" >&2
}

install_packages() {
  local root
  if ! command -v apt-get >/dev/null; then
    do_without "no apt-get"
    return
  fi
  root=$(as_root) || { do_without "not root, no sudo"; return; }
  echo "setup: installing $packages" >&2
  export DEBIAN_FRONTEND=noninteractive
  # One unreachable source of the machine's own must not stop packages that come from another.
  $root apt-get update -qq || echo "setup: apt-get update had errors, trying with the lists there are" >&2
  # shellcheck disable=SC2086 # a list of words
  $root apt-get install -y -qq --no-install-recommends $packages >/dev/null || do_without "apt-get failed"
}

cd "$(dirname "$0")/.."
require_go
packages=$(missing_packages | tr '\n' ' ')
packages=${packages% }
if [ -n "$packages" ]; then install_packages; fi
