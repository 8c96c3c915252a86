#!/usr/bin/env bash
# Lints the shell scripts. shellcheck is a Debian package: CI must have it, others are told.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v shellcheck >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "lint: installing shellcheck, which lints the scripts in tools/" >&2
    apt-get install -y -qq --no-install-recommends shellcheck >/dev/null 2>&1 ||
      { apt-get update -qq && apt-get install -y -qq --no-install-recommends shellcheck >/dev/null; }
  elif [ "${CI:-}" = true ]; then
    echo "lint: shellcheck is missing: apt-get install shellcheck" >&2
    exit 1
  else
    echo "lint: scripts not checked, shellcheck is missing: apt-get install shellcheck" >&2
    exit 0
  fi
fi
shellcheck --severity=warning .ci/run tools/*.sh compose/tls/*.sh
