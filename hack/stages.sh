# shellcheck shell=bash
# Stages of a run, with the time that each took, and the CPU time: sourced by .ci/run and hack/nightly.

times="" failed="" cpu=0

# stage COMMAND… runs a command, notes its time, and fails if the command does.
stage() {
  local start=$SECONDS result=ok
  echo "=== $*"
  "$@" || result=FAILED
  note "$result" $((SECONDS - start)) "$*"
  [ "$result" = ok ]
}

# note RESULT SECONDS COMMAND adds a line to the times, with the CPU time of what has ended since the last line.
note() {
  local before=$cpu
  count_cpu
  times+=$(printf '%6d s  %6d s CPU  %-6s  %s' "$2" $((cpu - before)) "$1" "$3")$'\n'
  [ "$1" = ok ] || failed+="${failed:+, }$3"
}

# count_cpu sets cpu to the CPU time, in seconds, of all commands that have ended. (In a subshell times would be its own.)
count_cpu() {
  local file
  file=$(mktemp)
  times >"$file"
  cpu=$(awk 'NR == 2 { split($1, own, "[ms]"); split($2, kernel, "[ms]")
    printf "%d", 60 * (own[1] + kernel[1]) + own[2] + kernel[2] }' "$file")
  rm -f "$file"
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
  printf '\n%s%6d s  %6d s CPU          in all\n' "$times" "$SECONDS" "$cpu"
  if [ -n "$failed" ]; then
    echo "failed: $failed" >&2
    exit 1
  fi
  exit "$code"
}
