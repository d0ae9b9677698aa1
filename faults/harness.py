"""Servers to do harm to, the requests that are sent to them, and the count of what held."""

import datetime
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import traceback

# A dealer who sells nothing and whose limits are off; scenarios replace what they need.
CONFIG = """
[server]
listen = "127.0.0.1:0"
{server}

[[dealers]]
id = "bare"
name = "Bare Motors"
rate_limit = {{ requests = {requests}, window = "1h" }}

[[dealers.rooftops]]
name = "Bare Motors Downtown"
"""

DATABASE = "tradepost.sqlite"


class Failed(Exception):
    """A check that did not hold."""


class Bench:
    """Plays scenarios and counts."""

    def __init__(self, binary):
        self.binary = binary
        self.passed = 0
        self.failed = 0
        self.skipped = []
        self.work = None
        self.servers = []

    def play(self, scenario):
        """Plays one scenario in a folder of its own; what it started is ended."""
        print(f"== {scenario.__name__}: {scenario.__doc__.strip().splitlines()[0]}", flush=True)
        self.work = tempfile.mkdtemp(prefix="faults-")
        try:
            scenario(self)
        except Failed:
            pass
        except Exception:  # A bench that breaks has found nothing out.
            traceback.print_exc()
            self.failed += 1
            print(f"FAIL  {scenario.__name__} broke", flush=True)
        finally:
            for server in self.servers:
                server.kill()
            self.servers = []
            shutil.rmtree(self.work, ignore_errors=True)

    def check(self, what, holds, found=None):
        """Counts what holds or not; what does not ends the scenario."""
        if holds:
            self.passed += 1
            print(f"ok    {what}", flush=True)
            return
        self.failed += 1
        print(f"FAIL  {what}" + ("" if found is None else f": {found}"[:2000]), flush=True)
        raise Failed

    def skip(self, what, why):
        """Says what is not found out here."""
        self.skipped.append(what)
        print(f"skip  {what}: {why}", flush=True)

    def folder(self, name="data"):
        return os.path.join(self.work, name)

    def start(self, server="", requests=0, data=None, **how):
        """Starts a server for the bare dealer."""
        config = os.path.join(self.work, "tradepost.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(server=server, requests=requests))
        data = data or self.folder()
        started = Server(self.binary, ["--config", config, "--data", data], self.work, **how)
        self.servers.append(started)
        return started

    def command(self, *arguments, data=None):
        """Runs a command on the data folder."""
        return subprocess.run(
            [self.binary, *arguments, "--data", data or self.folder()],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )

    def stored(self, data=None):
        """The ids of all leads."""
        listed = self.command(
            "leads", "export", "--format", "json", "--state", "all", data=data
        )
        if listed.returncode != 0:
            raise RuntimeError(listed.stderr)
        leads = json.loads(listed.stdout)
        leads = leads["leads"] if isinstance(leads, dict) else leads
        return [lead["lead_id"] for lead in leads]

    def close(self):
        """Says how it went."""
        for what in self.skipped:
            print(f"skipped: {what}")
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0


class Answer:
    """What came back."""

    def __init__(self, status, headers, body, took):
        self.status, self.headers, self.body, self.took = status, headers, body, took

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        """The code of an error, or None."""
        error = self.json.get("error")
        return error and ((error.get("data") or {}).get("code") or error["code"])

    @property
    def wait(self):
        """After how many seconds to come back, as far as it is said."""
        return self.json["error"]["data"].get("details", {}).get("retry_after_seconds")

    @property
    def message(self):
        return self.json["error"]["message"]

    @property
    def receipt(self):
        return self.json["result"]["message"]["parts"][0]["data"]["data"]

    def __repr__(self):
        return f"{self.status} after {self.took:.1f} s: {self.body[:300]!r}"


class Server:
    """A running `tradepost serve`."""

    def __init__(self, binary, arguments, work, stderr=None, prefix=(), environment=None, **popen):
        self.log_path = os.path.join(work, "log")
        self.log_file = None
        if stderr is None:
            stderr = self.log_file = open(self.log_path, "ab")  # noqa: SIM115
        self.process = subprocess.Popen(
            [*prefix, binary, "serve", *arguments], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=stderr, text=True,
            env={**os.environ, **(environment or {})}, **popen,
        )
        line = self.process.stdout.readline()
        if not line.startswith("listening on http://"):
            self.kill()
            raise RuntimeError(f"{line!r} instead of the address; {self.log()}")
        host, _, port = line.strip().removeprefix("listening on http://").rpartition(":")
        self.address = (host, int(port))

    def request(self, method, path, body=None, timeout=30):
        """Sends a request on a connection of its own."""
        connection = http.client.HTTPConnection(*self.address, timeout=timeout)
        began = time.monotonic()
        try:
            headers = {"Content-Type": "application/json"} if body is not None else {}
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            read = response.read()
            took = time.monotonic() - began
            return Answer(response.status, dict(response.getheaders()), read, took)
        finally:
            connection.close()

    def ready(self, timeout=30):
        return self.request("GET", "/readyz", timeout=timeout)

    def alive(self):
        """Whether it answers at once."""
        return self.request("GET", "/healthz", timeout=3).status == 200

    def call(self, payload, timeout=30):
        return self.request("POST", "/a2a", envelope(payload), timeout)

    def lead(self, key, note="", timeout=30):
        return self.call(lead(key, note), timeout)

    def ask(self, timeout=30):
        return self.call({"type": "dealer.information.request"}, timeout)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """Asks it to stop; gives the exit code."""
        self.signal(signal.SIGTERM)
        return self.process.wait(30)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        if self.log_file:
            self.log_file.close()


def envelope(payload):
    part = {"data": payload}
    message = {"messageId": "m-1", "role": "ROLE_USER", "parts": [part]}
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    )


def lead(key, note=""):
    """A lead of a customer of its own."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    payload = {
        "type": "lead.submit.request",
        "customer": {
            "first_name": "Ada", "last_name": "Lovelace", "email": f"{key}@example.com",
        },
        "consent": {
            "granted_at": now, "allowed_channels": ["email"],
            "consent_text": "You may answer me by e-mail.", "scope": ["lead_submission"],
        },
        "source_agent": {"name": "faults"},
        "idempotency_key": key,
    }
    return {**payload, "message": note} if note else payload


def eventually(is_so, seconds=20):
    """Whether it becomes so."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if is_so():
            return True
        time.sleep(0.05)
    return False


def at_once(count, work):
    """Does work in so many threads and waits for all."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
