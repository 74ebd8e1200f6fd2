#!/usr/bin/env bash
# Regenerates, and fails with a diff if that changed any of the files or folders named.
# Usage: hack/verify-generated.sh PATH…
set -euo pipefail
export GOWORK=off
cd "$(dirname "$0")/.."

echo "verify: generated code"
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
for path in "$@"; do
  if [ -e "$path" ]; then cp -r --parents "$path" "$before"; fi
done

make manifests generate build-installer

changed=0
for path in "$@"; do
  diff -ruN "$before/$path" "$path" || changed=1
done
if [ "$changed" = 1 ]; then
  echo "verify: the generated files were out of date; they are regenerated now: look at the diff above and commit it" >&2
  exit 1
fi
