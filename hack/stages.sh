# shellcheck shell=bash
# Stages of a run, with the time that each took: sourced by .ci/run and hack/nightly.

times="" failed=""

# stage COMMAND… runs a command, notes its time, and fails if the command does.
stage() {
  local start=$SECONDS result=ok
  echo "=== $*"
  "$@" || result=FAILED
  note "$result" $((SECONDS - start)) "$*"
  [ "$result" = ok ]
}

# note RESULT SECONDS COMMAND adds a line to the times.
note() {
  times+=$(printf '%6d s  %-6s  %s' "$2" "$1" "$3")$'\n'
  [ "$1" = ok ] || failed+="${failed:+, }$3"
}

# beside COMMAND… runs a command at the lowest priority beside the stages that follow, until await.
beside() {
  beside_command=$* beside_start=$SECONDS
  beside_output=$(mktemp)
  echo "=== $* (beside what follows)"
  # A group of its own, so that all of it can be ended.
  set -m
  (code=0; nice -n 19 "$@" || code=$?; echo "${SECONDS}" >"$beside_output.end"; exit $code) >"$beside_output" 2>&1 &
  beside_pid=$!
  set +m
}

# await waits for the command of beside, shows its output, and fails if the command did.
await() {
  local result=ok
  echo "=== $beside_command (it ran beside what is above)"
  wait "$beside_pid" || result=FAILED
  cat "$beside_output"
  note "$result" $(($(cat "$beside_output.end") - beside_start)) "$beside_command (beside others)"
  rm -f "$beside_output" "$beside_output.end"
  beside_pid=""
  [ "$result" = ok ]
}

# finish prints the times, and ends what runs beside. It is for trap finish EXIT.
finish() {
  local code=$?
  if [ -n "${beside_pid:-}" ]; then
    kill -- "-$beside_pid" 2>/dev/null || true
    cat "$beside_output"
    rm -f "$beside_output" "$beside_output.end"
  fi
  printf '\n%s%6d s          in all\n' "$times" "$SECONDS"
  if [ -n "$failed" ]; then
    echo "failed: $failed" >&2
    exit 1
  fi
  exit "$code"
}
