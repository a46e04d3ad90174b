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
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

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


class PlantStore:
    """Keeps its connection open. Each thread needs a store of its own."""

    def __init__(self, url, token):
        address = urlsplit(url)
        connect = {"http": HTTPConnection, "https": HTTPSConnection}[address.scheme]
        self.connection = connect(address.netloc)
        self.path = address.path.rstrip("/") + "/plants"
        self.headers = {
            "Authorization": f"Bearer {token.strip()}",
            "Content-Type": "application/json",
        }

    def create_plant(self, plant):
        """Returns when the plant is stored. Raises NotStored or MayBeStored."""
        # All attempts send the same bytes. An int of Python is exact.
        body = json.dumps(plant).encode()
        deadline = time.monotonic() + CREATE_SECONDS
        failure = NotStored
        for attempt in itertools.count():
            retry_after = 0
            try:
                status, headers, text = self.send(body, deadline - time.monotonic())
            except (OSError, HTTPException) as error:
                failure, why = MayBeStored, f"no reply: {error!r}"
            else:
                if status == 200:
                    return check_id(plant["id"], headers.get("Plant-Id"))
                code, why = error_of(status, headers, text)
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

    def send(self, body, seconds_left):
        """Returns the status, the header fields and the body of the reply."""
        connection = self.connection
        connection.timeout = min(ATTEMPT_SECONDS, seconds_left)
        if connection.sock:
            connection.sock.settimeout(connection.timeout)
        try:
            connection.request("POST", self.path, body, self.headers)
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read()
        except (OSError, HTTPException):
            # The next request opens a connection.
            connection.close()
            raise


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
    try:
        number, name, *tag = sys.argv[1:]
        plant = {"id": int(number), "name": name, **({"tag": tag[0]} if tag else {})}
        store = PlantStore(os.environ["URL"], os.environ["TOKEN"])
    except (ValueError, KeyError):
        sys.exit(__doc__)
    try:
        store.create_plant(plant)
    except NotStored as error:
        sys.exit(f"not stored: {error}")
    except MayBeStored as error:
        print(f"may be stored: {error}", file=sys.stderr)
        sys.exit(2)
    print(f"stored: {number}")
