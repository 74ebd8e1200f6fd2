#!/usr/bin/env bash
# Acts only while it may, in a Guarded group: lead.sh. It ends when it can no longer know, and is
# started again, as the containers of a pod are. It needs curl.
set -u

agent=http://${ELECTOR_PATH:-127.0.0.1:4040}
open() { # opening a session ties the candidacy of this pod to this program
  exec 3< <(exec curl -sfN --noproxy '*' -H 'Podesta-Session: open' "$agent/v1/session")
  session=$! granted="" deadline=0 line=""
}
trap 'kill "$session" 2>/dev/null' EXIT # the work has stopped: only now is the permission given back
trap exit TERM                          # bash does that when the act that is under way has ended

# field prints the number of a field of the permission; 0 if it has no such field.
field() { [[ $permission =~ \"$1\":([0-9]+) ]] && echo "${BASH_REMATCH[1]}" || echo 0; }

# /proc/uptime is CLOCK_BOOTTIME, the agent's clock, cut off after 10 ms: it is at most this late.
clock() {
  read -r uptime _ </proc/uptime
  now=$(((10#${uptime/./} + 1) * 10000000))
}

act() { # the resource refuses an epoch that is lower than one it has seen
  curl -sf --noproxy '*' -m 1 -o /dev/null -X PUT -H "Podesta-Epoch: $1" -d "$HOSTNAME" "$RESOURCE"
}

open
while :; do
  read -r -t 0.05 more <&3 # a pause between two acts; at its end the line may not be whole yet
  status=$? line+=$more
  ((status == 0 || status > 128)) || exit 1 # the session has ended
  if ((status == 0)); then
    permission=$line line=""
    [[ $permission == data:* ]] || continue
    if [[ $permission == *'"mayAct":true'* ]]; then
      granted=yes
    elif [[ $granted ]]; then # the work has stopped, and closing the session gives back what is left
      kill "$session" 2>/dev/null
      open
      continue
    else
      permission=""
    fi
    epoch=$(field epoch) deadline=$(field deadlineBoottimeNanoseconds)
    clock
    if ((deadline - $(field remainingMilliseconds) * 1000000 > now + 1000000)); then
      echo "the agent has another clock than /proc/uptime" >&2
      exit 1
    fi
  fi
  clock
  if ((now < deadline)); then # right before each act, which the next permissions do not put off
    act "$epoch" || exit 1
  fi
done
