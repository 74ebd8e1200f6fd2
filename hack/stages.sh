# shellcheck shell=bash
# Stages of a run, with the time that each took, and the CPU time: sourced by .ci/run and hack/nightly.

times="" failed="" cpu=0 at_end=""
beside_commands=() beside_pids=() beside_starts=() beside_outputs=()

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

# beside COMMAND… runs a command at the lowest priority beside the stages that follow, until await COMMAND….
beside() {
  local output
  output=$(mktemp)
  echo "=== $* (beside what follows)"
  # A group of its own, so that all of it can be ended.
  set -m
  (code=0; nice -n 19 "$@" || code=$?; echo "${SECONDS}" >"$output.end"; exit $code) >"$output" 2>&1 &
  set +m
  beside_commands+=("$*") beside_pids+=($!) beside_starts+=("$SECONDS") beside_outputs+=("$output")
}

# await COMMAND… waits for the command of a beside, shows its output, and fails if the command did.
await() {
  local i output result=ok
  for i in "${!beside_commands[@]}"; do
    if [ "${beside_commands[i]}" = "$*" ]; then break; fi
  done
  output=${beside_outputs[i]}
  echo "=== $* (it ran beside what is above)"
  wait "${beside_pids[i]}" || result=FAILED
  cat "$output"
  note "$result" $(($(cat "$output.end") - beside_starts[i])) "$* (beside others)"
  rm -f "$output" "$output.end"
  unset "beside_commands[i]" "beside_pids[i]" "beside_starts[i]" "beside_outputs[i]"
  [ "$result" = ok ]
}

# finish ends what runs beside, does what at_end says, and prints the times. It is for trap finish EXIT.
finish() {
  local code=$? i
  for i in "${!beside_pids[@]}"; do
    echo "=== ${beside_commands[i]} (it is ended)"
    kill -- "-${beside_pids[i]}" 2>/dev/null || true
    wait "${beside_pids[i]}" 2>/dev/null || true # what at_end takes away, it may be making
    cat "${beside_outputs[i]}"
    rm -f "${beside_outputs[i]}" "${beside_outputs[i]}.end"
  done
  $at_end || true
  printf '\n%s%6d s  %6d s CPU          in all\n' "$times" "$SECONDS" "$cpu"
  if [ -n "$failed" ]; then
    echo "failed: $failed" >&2
    exit 1
  fi
  exit "$code"
}
