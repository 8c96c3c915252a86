#!/usr/bin/env bash
# Fetches the ONNX Runtime library, once, into the cache folder and prints its
# path. Run by `make setup` and by the image of the predictor.
#
#   tools/onnxruntime.sh [--arch x64|arm64] [--source pypi|npm|github]
#
# Progress goes to standard error, the path to standard output. What is fetched
# is pinned by checksum; the sources are tried in turn until one answers. A
# wrong checksum is an error and never a reason to try the next source.
# shellcheck disable=SC2317 # fetch_SOURCE is called by its composed name
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly cache=${TRIPTYCH_CACHE:-$root/.cache}/onnxruntime

# The Go binding speaks API version 24, which begins with ONNX Runtime 1.24.
# The npm package was not published for 1.24.4.
version_of() { case $1 in npm) echo 1.24.3 ;; *) echo 1.24.4 ;; esac; }

checksum_of() {
  case $1-$2 in
    pypi-x64) echo 0d640eb9f3782689b55cfa715094474cd5662f2f137be6a6f847a594b6e9705c ;;
    pypi-arm64) echo 1a5c5a544b22f90859c88617ecb30e161ee3349fcc73878854f43d77f00558b5 ;;
    npm-x64 | npm-arm64) echo aa1bb5fa261ea68de05dd53efbba210cd7adf2d2850f4c3a201054c74cc78040 ;;
    github-x64) echo 3a211fbea252c1e66290658f1b735b772056149f28321e71c308942cdb54b747 ;;
    github-arm64) echo 866109a9248d057671a039b9d725be4bd86888e3754140e6701ec621be9d4d7e ;;
  esac
}

say() { echo "onnxruntime: $*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# fetch_SOURCE VERSION DIRECTORY leaves one archive in the directory.
fetch_pypi() {
  local machine=x86_64
  [ "$arch" = arm64 ] && machine=aarch64
  have python3 && python3 -m pip --version >/dev/null 2>&1 || return 1
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --platform "manylinux_2_28_$machine" --platform "manylinux_2_27_$machine" \
    --python-version 3.12 --dest "$2" "onnxruntime==$1" >&2
}

fetch_npm() {
  have npm || return 1
  (cd "$2" && npm pack --silent "onnxruntime-node@$1" >/dev/null)
}

fetch_github() {
  local machine=x64
  [ "$arch" = arm64 ] && machine=aarch64
  have curl || return 1
  curl --fail --silent --show-error --location --connect-timeout 20 --output "$2/onnxruntime.tgz" \
    "https://github.com/microsoft/onnxruntime/releases/download/v$1/onnxruntime-linux-$machine-$1.tgz"
}

# unpack ARCHIVE DIRECTORY
unpack() {
  case $1 in
    *.whl) python3 -m zipfile -e "$1" "$2" ;;
    *) tar -xzf "$1" -C "$2" ;;
  esac
}

# library DIRECTORY is the one unpacked library for the architecture.
library() {
  local found
  found=$(find "$1" -type f -name 'libonnxruntime.so*' | { grep -E "/napi-v[0-9]+/linux/$arch/" || true; })
  [ -n "$found" ] || found=$(find "$1" -type f -name 'libonnxruntime.so*' -not -path '*/napi-v*')
  [ "$(wc -l <<<"$found")" = 1 ] && [ -n "$found" ] || return 1
  echo "$found"
}

sum() { sha256sum "$1" | cut -d' ' -f1; }

# cached SOURCE prints the path of the library when it is there and whole.
cached() {
  local file
  file=$cache/$(version_of "$1")/linux-$arch/libonnxruntime.so
  [ -f "$file" ] && [ -f "$file.sha256" ] || return 1
  [ "$(sum "$file")" = "$(cat "$file.sha256")" ] || { say "$file is damaged and is fetched again"; return 1; }
  echo "$file"
}

# install SOURCE fetches, checks, unpacks and moves into place.
install() {
  local source=$1 version archive file target got want
  version=$(version_of "$source") want=$(checksum_of "$source" "$arch")
  target=$cache/$version/linux-$arch
  rm -rf "$work" && mkdir -p "$work/archive" "$work/files"
  say "fetching $version for linux-$arch from $source"
  "fetch_$source" "$version" "$work/archive" || { say "$source does not answer"; return 1; }
  archive=$(find "$work/archive" -type f)
  got=$(sum "$archive")
  [ "$got" = "$want" ] || die "wrong checksum of $(basename "$archive") from $source: got $got, want $want"
  unpack "$archive" "$work/files"
  file=$(library "$work/files") || die "no single libonnxruntime.so for linux-$arch in $(basename "$archive")"
  chmod 0755 "$file"
  sum "$file" >"$work/sum"
  mkdir -p "$target"
  # The checksum first: a library without one is fetched again.
  mv -f "$work/sum" "$target/libonnxruntime.so.sha256"
  mv -f "$file" "$target/libonnxruntime.so"
  say "installed $(du -h "$target/libonnxruntime.so" | cut -f1) as $target/libonnxruntime.so"
}

arch='' sources="pypi npm github"
while [ $# -gt 0 ]; do
  case $1 in
    --arch) arch=${2:?--arch needs x64 or arm64}; shift 2 ;;
    --source) sources=${2:?--source needs pypi, npm or github}; shift 2 ;;
    *) die "unknown argument $1: see the head of tools/onnxruntime.sh" ;;
  esac
done
case ${arch:-$(uname -s)-$(uname -m)} in
  x64 | Linux-x86_64) arch=x64 ;;
  arm64 | Linux-aarch64 | Linux-arm64) arch=arm64 ;;
  *) die "no library is pinned for ${arch:-$(uname -s)-$(uname -m)}, only for linux x64 and arm64: set TRIPTYCH_ONNXRUNTIME" ;;
esac
for source in $sources; do
  [ -n "$(checksum_of "$source" "$arch")" ] || die "unknown source $source: pypi, npm or github"
done

for source in $sources; do
  if cached "$source"; then exit 0; fi
done
mkdir -p "$cache"
work=$(mktemp -d "$cache/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
for source in $sources; do
  if install "$source"; then
    cached "$source"
    exit 0
  fi
done
die "no source answers ($sources): put libonnxruntime.so of ONNX Runtime 1.24 or newer somewhere and set TRIPTYCH_ONNXRUNTIME to its path"
