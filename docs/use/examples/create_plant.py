#!/usr/bin/env python3
"""Creates one plant, and retries until the outcome is known.

    URL=http://127.0.0.1:8080 TOKEN=... python3 create_plant.py ID NAME [TAG]

Exit code: 0 stored, 1 not stored, 2 may be stored.
"""

import itertools
import json
import os
import random
import sys
import time
import urllib.error
import urllib.request
from http.client import HTTPException

CREATE_SECONDS = 60
ATTEMPT_SECONDS = 10
PAUSE_SECONDS = 0.1
PAUSE_SECONDS_MAX = 5
# Errors of status 503 that say that the plant was not stored: overloaded, shutting down.
NOT_STORED = (50300, 50302)


class NotStored(Exception):
    """Nothing was stored."""


class MayBeStored(Exception):
    """The plant is stored once, or not at all. Creating the same plant again settles it."""


def create_plant(url, token, plant):
    """Returns when the plant is stored. Raises NotStored or MayBeStored."""
    # All attempts send the same bytes. An int of Python is exact.
    request = urllib.request.Request(
        f"{url}/plants",
        json.dumps(plant).encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    deadline = time.monotonic() + CREATE_SECONDS
    failure = NotStored
    for attempt in itertools.count():
        retry_after = 0
        try:
            status, headers, body = send(request, deadline - time.monotonic())
        except (OSError, HTTPException) as error:
            failure, why = MayBeStored, f"no reply: {error}"
        else:
            if status == 200:
                return check_id(plant["id"], headers.get("Plant-Id"))
            code, why = error_of(status, headers, body)
            if status < 500 and status not in (408, 429):
                # A 400 of the service is about the plant, and so holds for the attempts before.
                raise (NotStored if status == 400 and code else failure)(why)
            if status >= 500 and code not in NOT_STORED:
                failure = MayBeStored
            retry_after = seconds(headers.get("Retry-After", ""))
        pause = retry_after + random.uniform(
            0, min(PAUSE_SECONDS_MAX, PAUSE_SECONDS * 2**attempt)
        )
        # Too little time would be left for an attempt.
        if time.monotonic() + pause + 1 > deadline:
            raise failure(why)
        time.sleep(pause)


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would send the token to a different address."""

    def redirect_request(self, *_):
        return None


opener = urllib.request.build_opener(NoRedirects)


def send(request, seconds_left):
    """Returns the status, the header fields and the body of the reply."""
    try:
        reply = opener.open(request, timeout=min(ATTEMPT_SECONDS, seconds_left))
    except urllib.error.HTTPError as error:
        reply = error
    with reply:
        return reply.status, reply.headers, reply.read()


def check_id(sent, stored):
    if stored != str(sent):
        raise MayBeStored(f"the service has stored the id {stored} instead of {sent}")


def error_of(status, headers, body):
    """Returns the code and the text of an error. A proxy may answer with HTML."""
    request = f"request {headers.get('X-Request-Id')}"
    try:
        error = json.loads(body)
        return error["error"], f"{error['error']} {error['message']} ({request})"
    except (ValueError, KeyError, TypeError):
        return None, f"status {status} ({request})"


def seconds(retry_after):
    """A proxy may send a date, which counts as 0."""
    return int(retry_after) if retry_after.isdecimal() else 0


if __name__ == "__main__":
    number, name, *tag = sys.argv[1:]
    plant = {"id": int(number), "name": name, **({"tag": tag[0]} if tag else {})}
    try:
        create_plant(os.environ["URL"], os.environ["TOKEN"], plant)
    except NotStored as error:
        sys.exit(f"not stored: {error}")
    except MayBeStored as error:
        print(f"may be stored: {error}", file=sys.stderr)
        sys.exit(2)
    print(f"stored: {number}")
