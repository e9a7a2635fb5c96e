"""A hub in miniature: repositories, large files by Git LFS in one piece or several, commits, downloads with ranges.

It can be told to drop connections, to spoil what it gives back, and it counts what it was sent.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

TOKEN = "hf_" + "t" * 20


@dataclass
class Hub:
    """What is on it, and how it misbehaves. ``drops`` counts down the connections that break off, by kind."""

    large_from: int = 2_000
    chunk: int = 0
    drops: Counter = field(default_factory=Counter)
    spoils: set = field(default_factory=set)
    objects: dict = field(default_factory=dict)
    parts: dict = field(default_factory=dict)
    files: dict = field(default_factory=dict)
    own: tuple = (".gitattributes",)
    repositories: dict = field(default_factory=dict)
    commits: list = field(default_factory=list)
    received: Counter = field(default_factory=Counter)
    address: str = ""

    def dropping(self, kind):
        self.drops[kind] -= 1
        return self.drops[kind] >= 0


class Handler(BaseHTTPRequestHandler):
    protocol_version: ClassVar = "HTTP/1.1"
    hub: ClassVar[Hub]

    def log_message(self, *_arguments):
        pass

    def body(self):
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def drop(self):
        self.close_connection = True
        self.connection.close()

    def answer(self, status, document=None, headers=None, data=b""):
        data = json.dumps(document).encode() if document is not None else data
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def allowed(self):
        if self.headers.get("authorization") == f"Bearer {TOKEN}":
            return True
        self.body()
        self.answer(401, {"error": "Invalid token"})
        return False

    def do_POST(self):  # noqa: PLR0911 -- an answer an address
        hub = self.hub
        if self.path == "/signed/complete":
            told = json.loads(self.body())
            data = b"".join(hub.parts[told["oid"]][part["partNumber"]] for part in told["parts"])
            hub.objects[told["oid"]] = data
            return self.answer(200, {})
        if not self.allowed():
            return None
        if hub.dropping("post"):
            return self.drop()
        data = self.body()
        if self.path == "/api/repos/create":
            asked = json.loads(data)
            name = f"{asked['organization']}/{asked['name']}"
            if name in hub.repositories:
                return self.answer(409, {"error": "You already created this dataset repo"})
            hub.repositories[name] = asked
            return self.answer(200, {"url": name})
        if "/preupload/" in self.path:
            files = [
                {"path": f["path"], "uploadMode": "lfs" if f["size"] >= hub.large_from else "regular"}
                for f in json.loads(data)["files"]
            ]
            return self.answer(200, {"files": files})
        if self.path.endswith("/info/lfs/objects/batch"):
            return self.answer(
                200, {"transfer": "basic", "objects": [self.offer(o) for o in json.loads(data)["objects"]]}
            )
        if "/commit/" in self.path:
            return self.commit([json.loads(line) for line in data.splitlines()])
        return self.answer(404, {"error": self.path})

    def offer(self, asked):
        hub, oid, size = self.hub, asked["oid"], asked["size"]
        if oid in hub.objects:
            return asked
        if hub.chunk and size > hub.chunk:
            count = -(-size // hub.chunk)
            header = {f"{n:05d}": f"{hub.address}/signed/{oid}/{n}" for n in range(1, count + 1)}
            header["chunk_size"] = str(hub.chunk)
            return {**asked, "actions": {"upload": {"href": f"{hub.address}/signed/complete", "header": header}}}
        return {**asked, "actions": {"upload": {"href": f"{hub.address}/signed/{oid}", "header": {"x-kept": "yes"}}}}

    def do_PUT(self):
        hub = self.hub
        assert "authorization" not in self.headers
        if hub.dropping("put"):
            self.rfile.read(100)
            return self.drop()
        data = self.body()
        _signed, oid, *part = self.path.strip("/").split("/")
        hub.received[oid] += len(data)
        if part:
            hub.parts.setdefault(oid, {})[int(part[0])] = data
        else:
            assert hashlib.sha256(data).hexdigest() == oid
            hub.objects[oid] = data
        return self.answer(200, headers={"etag": f'"{len(data)}"'})

    def commit(self, lines):
        hub = self.hub
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "deletedFile":
                del hub.files[value["path"]]
                continue
            data = base64.b64decode(value["content"]) if line["key"] == "file" else hub.objects[value["oid"]]
            hub.files[value["path"]] = data
        hub.commits.append([line["value"]["path"] for line in lines[1:]])
        return self.answer(200, {"commitOid": f"{len(hub.commits):040x}", "commitUrl": "there"})

    def tree(self):
        """A page of names and where the next is, as the hub lists them."""
        where, _mark, start = self.path.partition("&cursor=")
        rest = sorted({*self.hub.files, *self.hub.own})[int(start or 0) :]
        shown = [{"type": "file", "path": name} for name in rest[:4]]
        more = f'<{self.hub.address}{where}&cursor={int(start or 0) + 4}>; rel="next"' if rest[4:] else ""
        return self.answer(200, [{"type": "directory", "path": "data"}, *shown], {"link": more} if more else {})

    def do_GET(self):
        hub = self.hub
        if not self.allowed():
            return None
        if "/tree/" in self.path:
            return self.tree()
        name = re.split(r"/resolve/[^/]+/", self.path)[1]
        if name not in hub.files:
            return self.answer(404, {"error": "Entry not found"})
        data = hub.files[name]
        if name in hub.spoils:
            data = data[:-1] + bytes([data[-1] ^ 1])
        start = int((self.headers.get("range") or "bytes=0-").removeprefix("bytes=").rstrip("-"))
        hub.received[f"get {name} from {start}"] += 1
        if len(data) > 1_000 and hub.dropping("get"):
            self.send_response(200)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
            return self.drop()
        return self.answer(206 if start else 200, data=data[start:])


@contextmanager
def hub_running(**behaviour):
    """A hub on a free port of this machine."""
    hub = Hub(**behaviour)
    handler = type("Bound", (Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
