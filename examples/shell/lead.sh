#!/usr/bin/env bash
# Acts only while it may, in a Guarded group: lead.sh. It ends when it can no longer know, and is
# started again, as the containers of a pod are. It needs curl.
set -u

agent=http://${ELECTOR_PATH:-127.0.0.1:4040}
open() { # opening a session ties the candidacy of this pod to this program
  exec 3< <(exec curl -sfN --noproxy '*' -H 'Podesta-Session: acknowledged' "$agent/v1/session")
  session=$! granted="" permission="" line=""
}
trap 'kill "$session" 2>/dev/null' EXIT # the work has stopped: only now is the permission given back
trap exit TERM                          # bash does that when the act that is under way has ended

# field sets number to that of a field of the permission; 0 if it has no such field.
field() { [[ $permission =~ \"$1\":([0-9]+) ]] && number=${BASH_REMATCH[1]} || number=0; }

# /proc/uptime is CLOCK_BOOTTIME, the agent's clock, cut off after 10 ms: it is at most this late.
clock() {
  read -r uptime _ </proc/uptime
  now=$(((10#${uptime/./} + 1) * 10000000))
}

heed() { # the newest permission, or none
  field epoch; epoch=$number
  field deadlineBoottimeNanoseconds; deadline=$number
  field remainingMilliseconds
  clock
  if ((deadline - number * 1000000 > now + 1000000)); then
    echo "the agent has another clock than /proc/uptime" >&2
    exit 1
  fi
}

# What is started here does not get the session (3<&-): it must not hold that when this process has died.
acknowledge() { # the agent asks again if it gets no answer
  curl -sf --noproxy '*' -m 1 -o /dev/null -X POST -H "Podesta-Acknowledge: $1" "$agent/v1/acknowledge" 3<&-
}

act() { # the resource refuses an epoch that is lower than one it has seen
  curl -sf --noproxy '*' -m 1 -o /dev/null -X PUT -H "Podesta-Epoch: $1" -d "$HOSTNAME" "$RESOURCE" 3<&-
}

open
while :; do
  read -r -t 0.05 more <&3 # a pause between two acts; at its end the line may not be whole yet
  status=$? line+=$more
  ((status == 0 || status > 128)) || exit 1 # the session has ended
  if ((status == 0)); then
    if [[ $line =~ \"acknowledge\":\"([A-Z0-9]+)\" ]]; then
      acknowledge "${BASH_REMATCH[1]}" # from here, because it says that this loop goes on
    elif [[ $line == data:*'"mayAct":true'* ]]; then
      granted=yes permission=$line
    elif [[ $line == data:* && $granted ]]; then # the work has stopped: closing gives back what is left
      kill "$session" 2>/dev/null
      open
    fi
    line=""
    read -r -t 0 <&3 && continue # there is more: what is read one act later may be over
  fi
  heed
  if ((now < deadline)); then # right before each act
    act "$epoch" || exit 1
  fi
done
