#!/usr/bin/env bash
# Creates one plant, and retries until the outcome is known. Needs curl 7.84 or later.
#
#     URL=http://127.0.0.1:8080 TOKEN=... bash create_plant.sh ID NAME [TAG]
#
# Exit code: 0 stored, 1 not stored, 2 may be stored.
set -euo pipefail

create_seconds=60
attempt_seconds=10
pause_ms=100
pause_ms_max=5000

# A JSON string. The service refuses control characters that are not escaped.
quote() {
  local text=${1//\\/\\\\}
  printf '"%s"' "${text//\"/\\\"}"
}

: "${2?usage: create_plant.sh ID NAME [TAG]}"
# The id stays text, so nothing rounds it. All attempts send the same body.
id=$1
body="{\"id\":$id,\"name\":$(quote "$2")${3+,\"tag\":$(quote "$3")}}"
reply=$(mktemp)
trap 'rm -f "$reply"' EXIT

fields='%{http_code}\n%header{plant-id}\n%header{retry-after}\n%header{x-request-id}\n'
# Prints the status (000 without a reply), Plant-Id, Retry-After and X-Request-Id, each on a line.
# The token is in no argument, because every user can list the arguments of a process.
send() {
  : > "$reply"
  curl --silent --max-time "$1" --output "$reply" "${URL%/}/plants" \
    --header @<(printf 'Authorization: Bearer %s\n' "${TOKEN//[[:space:]]/}") \
    --header 'Content-Type: application/json' --data-raw "$body" \
    --write-out "$fields" || true
}

fail() {
  echo "$1: status $status $(cat "$reply") (request $request_id)" >&2
  [ "$1" = 'not stored' ] && exit 1
  exit 2
}

outcome='not stored'
while :; do
  left=$((create_seconds - SECONDS))
  { read -r status; read -r stored_id; read -r retry_after; read -r request_id; } \
    < <(send $((left < attempt_seconds ? left : attempt_seconds)))
  case $status in
    200)
      [ "$stored_id" = "$id" ] || fail "may be stored, as Plant-Id '$stored_id'"
      echo "stored: $id"
      exit
      ;;
    408 | 429) ;;
    [34]??)
      # A 400 of the service is about the plant, and so holds for the attempts before.
      [ "$status" = 400 ] && grep -q '"error":40' "$reply" && outcome='not stored'
      fail "$outcome"
      ;;
    *) grep -qE '"error":(50300|50302),' "$reply" || outcome='may be stored' ;;
  esac

  # A proxy may send a date in Retry-After, which counts as 0.
  [[ $retry_after =~ ^[0-9]+$ ]] || retry_after=0
  wait_ms=$((retry_after * 1000 + RANDOM % pause_ms))
  # Too little time would be left for an attempt.
  [ $((SECONDS + wait_ms / 1000 + 2)) -lt "$create_seconds" ] || fail "$outcome"
  sleep "$((wait_ms / 1000)).$(printf '%03d' $((wait_ms % 1000)))"
  pause_ms=$((pause_ms * 2 < pause_ms_max ? pause_ms * 2 : pause_ms_max))
done
