#!/usr/bin/env bash
# Fails when a relative link in a Markdown file of the repository leads to nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

broken=0
while IFS= read -r file; do
  while IFS= read -r target; do
    target=${target%%#*}
    case $target in '' | *://* | mailto:*) continue ;; esac
    if [ ! -e "$(dirname "$file")/$target" ]; then
      echo "$file: no such file: $target" >&2
      broken=1
    fi
  done < <(grep -oE '\]\([^) ]+\)' "$file" | sed -E 's/^\]\(//; s/\)$//')
done < <(git ls-files --cached --others --exclude-standard '*.md')
exit "$broken"
