"""People who listen and judge over HTTP, as light as can be: one process, one plain connection and one thread each.

``python -m tests.benchmarks.listening_load PORT SECONDS api|page`` reads on its standard input what
``listening_seed`` printed, and prints one JSON object: loops, seconds, milliseconds of each loop, and answers by status.
"""

from __future__ import annotations

import http.client
import json
import re
import sys
import threading
import time
import uuid
from collections import Counter

CSRF = "a" * 32
SLOT = re.compile(r'data-uid="([A-Za-z0-9_-]+)"( data-letter)?')
DATA = re.compile(r'<script id="judge-data" type="application/json">(.*?)</script>', re.DOTALL)
HEARD = [[0.0, 0.01]]


class Person(threading.Thread):
    """Next and submit, again and again, until the time is over or nothing is left."""

    def __init__(self, port: int, round_uid: str, who: dict[str, str], until: float, kind: str) -> None:
        super().__init__(daemon=True)
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.round, self.who, self.until, self.kind = round_uid, who, until, kind
        self.times: list[float] = []
        self.statuses: Counter[int] = Counter()

    def call(self, method: str, path: str, body: dict | None = None) -> dict:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.kind == "api":
            headers["Authorization"] = f"Token {self.who['token']}"
        else:
            headers["Cookie"] = f"sessionid={self.who['session']}; csrftoken={CSRF}"
            headers["X-CSRFToken"] = CSRF
        self.http.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = self.http.getresponse()
        text = answer.read()
        self.statuses[answer.status] += 1
        return json.loads(text) if answer.status == 200 else {}

    def run(self) -> None:
        loop = self.by_api if self.kind == "api" else self.by_page
        loop()

    def by_api(self) -> None:
        while time.monotonic() < self.until:
            begun = time.monotonic()
            item = self.call("POST", f"/api/v1/rounds/{self.round}/next/", {}).get("item")
            if not item:
                return
            clips = [clip for line in item["lines"] for clip in line["clips"]]
            graded = [clip["variant"] for clip in clips if clip["letter"]]
            body = judgement([clip["variant"] for clip in clips], graded)
            self.call("POST", f"/api/v1/assignments/{item['assignment']}/submit/", body)
            self.times.append(time.monotonic() - begun)

    def by_page(self) -> None:
        html = self.call("GET", f"/judge/{self.round}/next/").get("html", "")
        while time.monotonic() < self.until:
            begun = time.monotonic()
            data = DATA.search(html)
            if not data:
                return
            slots = SLOT.findall(html)
            body = judgement([uid for uid, _graded in slots], [uid for uid, graded in slots if graded])
            body["assignment"] = json.loads(data[1])["assignment"]
            html = self.call("POST", f"/judge/{self.round}/submit/", body).get("html", "")
            self.times.append(time.monotonic() - begun)


def judgement(variants: list[str], graded: list[str]) -> dict:
    return {
        "client_key": uuid.uuid4().hex,
        "verdict": "keep",
        "grades": dict.fromkeys(graded, 3),
        "heard": dict.fromkeys(variants, HEARD),
        "active_ms": 12_000,
    }


def main() -> None:
    port, seconds, kind = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    seed = json.load(sys.stdin)
    begun = time.monotonic()
    people = [Person(port, seed["round"], who, begun + seconds, kind) for who in seed["people"]]
    for person in people:
        person.start()
    for person in people:
        person.join()
    took = time.monotonic() - begun
    times = sorted(1000 * each for person in people for each in person.times)
    statuses = sum((person.statuses for person in people), Counter())
    sys.stdout.write(json.dumps({"loops": len(times), "seconds": took, "times": times, "statuses": dict(statuses)}))


if __name__ == "__main__":
    main()
