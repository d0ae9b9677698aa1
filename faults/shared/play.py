"""The load, the bad luck, and what has to hold in the end."""

import collections
import datetime
import http.client
import json
import os
import random
import select
import shutil
import socket
import subprocess
import tempfile
import threading
import time

import cluster

REPLICAS = 3
SLOTS = 12
CAPACITY = 2
LIMIT = 60_000
BUDGET = 1_000
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
CATALOGUE = os.path.join(SOURCE, "crates/seller/demo/src/publisher/catalogue.json")

CONFIG = """
[server]
listen = "{listen}"
database = "{database}"

[[dealers]]
id = "cars"
name = "Cars"
hosts = ["cars.test"]
rate_limit = {{ requests = 0 }}

[dealers.leads]
daily_bytes_per_address = 1000000000
velocity = {{ per_address = 100000, per_contact = 100000, all = 100000 }}
confirmations = {{ per_address = 1000, per_contact = 1000, per_vehicle = 1000, all = 1000 }}

[[dealers.rooftops]]
name = "Cars Downtown"
timezone = "Etc/UTC"

[dealers.rooftops.schedules]
sales = {{ {hours} }}

[dealers.rooftops.appointments]
types = ["sales"]
capacity = {capacity}

[[publishers]]
id = "gazette"
name = "The Gazette"
domain = "gazette.example"
hosts = ["ads.test"]
catalogue = "{catalogue}"
sandbox = true
require_extension = false
billing = ["operator", "agent"]
onboarding = {{ strangers = true, implicit = true }}
spend_limits = [{{ currency = "USD", per_day = {limit} }}]

[[publishers.agents]]
id = "acme"
credentials = ["acme"]
"""


class Replica:
    """A process that is killed and started again at one address."""

    def __init__(self, command, address, log):
        self.command, self.address, self.log = command, address, log
        self.process = None
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "TRADEPOST_SERVER__LOG_FILTER": "info"},
            )

    def kill(self):
        self.process.kill()
        self.process.wait()

    def revive(self):
        """Starts it again if it has ended: without its database it does not begin."""
        if self.process.poll() is not None:
            self.start()


class Proxy:
    """Hands every connection to the next of the replicas that takes it."""

    def __init__(self, replicas, own):
        self.replicas, self.own, self.turn = replicas, own, 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = self.listener.getsockname()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(near,), daemon=True).start()

    def far(self):
        for _ in self.replicas:
            self.turn += 1
            replica = self.replicas[self.turn % len(self.replicas)]
            try:
                return socket.create_connection(replica.address, 0.5, (self.own, 0))
            except OSError:
                continue
        return None

    def carry(self, near):
        far = self.far()
        with near:
            if far is None:
                return
            with far:
                far.settimeout(None)
                try:
                    while True:
                        for ready in select.select([near, far], [], [], 60)[0]:
                            data = ready.recv(65_536)
                            if not data:
                                return
                            (far if ready is near else near).sendall(data)
                except OSError:
                    return


def ask(address, host, path, body, headers=(), timeout=20):
    """The status and the document of an answer."""
    connection = http.client.HTTPConnection(*address, timeout=timeout)
    try:
        named = {"Content-Type": "application/json", "Host": host, **dict(headers)}
        connection.request("POST", path, json.dumps(body), named)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


class World:
    """What was acknowledged, by whom, and the threads that ask."""

    def __init__(self, shops, tasks, key):
        self.shops, self.tasks, self.key = shops, tasks, key
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.leads, self.slots, self.buys, self.streams = {}, {}, {}, []
        self.refused, self.beyond, self.wrong = 0, 0, []
        self.waits = []
        self.now = datetime.datetime.now(datetime.timezone.utc)

    def note(self, kept, key, value):
        """What was acknowledged stays as it was."""
        with self.lock:
            known = kept.setdefault(key, value)
        if known != value:
            self.wrong.append(f"{key} was {known} and is {value}")

    def patiently(self, once):
        """Does it until it is acknowledged. The same is sent each time."""
        began = time.monotonic()
        while True:
            try:
                done = once()
                if done is not None:
                    self.waits.append(time.monotonic() - began)
                    return done
                self.refused += 1
            except (OSError, http.client.HTTPException, ValueError):
                self.refused += 1
            if time.monotonic() - began > 180:
                self.wrong.append("nothing was acknowledged for three minutes")
                raise SystemExit
            time.sleep(0.05)

    def lead(self, key, at=None):
        # The same each time that it is sent.
        now = self.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        payload = {
            "type": "lead.submit.request",
            "customer": {"first_name": "Ada", "last_name": "Lovelace",
                         "email": f"{key}@example.com"},
            "consent": {"granted_at": now, "allowed_channels": ["email"],
                        "consent_text": "You may answer me by e-mail.",
                        "scope": ["lead_submission"]},
            "source_agent": {"name": "faults"},
            "idempotency_key": key,
        }
        if at:
            payload["appointment"] = {"appointment_type": "sales", "appointment_at": at}
        message = {"messageId": key, "role": "ROLE_USER", "parts": [{"data": payload}]}
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}

        def once():
            _, said = ask(self.shops, "cars.test", "/a2a", body)
            if "error" in said:
                if not (said["error"].get("data") or {}).get("retryable"):
                    self.wrong.append(f"{key}: {said['error']}")
                return None
            return said["result"]["message"]["parts"][0]["data"]["data"]

        return self.patiently(once)

    def buyers(self, number):
        """Leads, every third with an appointment, and each twice."""
        chance = random.Random(number)
        first = self.now + datetime.timedelta(days=2)
        first = first.replace(hour=10, minute=0, second=0, microsecond=0)
        count = 0
        while not self.over.is_set():
            key, at = f"lead-{number}-{count}", None
            if count % 3 == 0:
                at = first + datetime.timedelta(minutes=30 * chance.randrange(SLOTS))
                at = at.strftime("%Y-%m-%dT%H:%M:%SZ")
            for _ in range(2):
                receipt = self.lead(key, at)
                self.note(self.leads, key, receipt["lead_id"])
                booked = receipt.get("appointment") or {}
                if booked.get("status") == "confirmed":
                    self.note(self.slots, key, at)
            count += 1

    def advertisers(self, number):
        """Buys, until the account's day is spent; then the same ones again."""
        count = 0
        while not self.over.is_set():
            key = f"buy-key-of-{number}-{count:05}"
            account = {"brand": {"domain": "acmeoutdoor.example"},
                       "operator": "acmeoutdoor.example"}
            package = {"product_id": "outdoor_display", "pricing_option_id": "cpm_auction",
                       "bid_price": 5, "budget": BUDGET}
            arguments = {"idempotency_key": key, "start_time": "asap",
                         "end_time": "2031-01-31T00:00:00Z", "brand": account["brand"],
                         "account": account, "packages": [package]}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                    "params": {"name": "create_media_buy", "arguments": arguments}}
            headers = {"Authorization": f"Bearer {self.key}",
                       "Accept": "application/json, text/event-stream"}

            def once(body=body, headers=headers):
                status, said = ask(self.shops, "ads.test", "/mcp", body, headers.items())
                found = (said.get("result") or {}).get("structuredContent") or {}
                if found.get("media_buy_id"):
                    return found["media_buy_id"]
                text = json.dumps(said)
                if "BUDGET_EXCEEDED" in text:
                    return "beyond"
                if status < 500 and not any(
                    word in text for word in ("SERVICE_UNAVAILABLE", "INTERNAL", "CONFLICT",
                                              "IN_FLIGHT", "RATE_LIMITED", "transient")
                ):
                    self.wrong.append(f"{status} {text[:600]}")
                return None

            bought = self.patiently(once)
            if bought == "beyond":
                self.beyond += 1
                count = self.beyond % max(1, count)
                self.over.wait(0.5)
            else:
                self.note(self.buys, key, bought)
                count += 1

    def followers(self, number):
        """A task at one replica, followed from wherever the proxy leads."""
        while not self.over.is_set():
            message = {"messageId": "tradepost-flood-500", "role": "ROLE_USER",
                       "parts": [{"text": f"of {number}"}]}
            body = {"message": message, "configuration": {"returnImmediately": True}}
            begun = self.patiently(lambda body=body: self.task("SendMessage", body))
            task_id = begun["task"]["id"]
            self.streams.append(self.follow(task_id))

    def task(self, method, params):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {"A2A-Version": "1.0"}
        _, said = ask(self.tasks, "tasks.test", "/a2a", body, headers.items())
        return said.get("result")

    def follow(self, task_id):
        """The numbers of all entries that were streamed, over as many streams as it takes."""
        seen, state, began = [], None, time.monotonic()
        while state not in ("TASK_STATE_COMPLETED", "TASK_STATE_FAILED"):
            try:
                for number, found in self.stream(task_id, seen[-1] if seen else 1):
                    seen.append(number)
                    state = found or state
            except (OSError, http.client.HTTPException, ValueError):
                pass
            if time.monotonic() - began > 180:
                self.wrong.append(f"the task {task_id} has not ended for three minutes: {state}")
                break
            time.sleep(0.05)
        return {"id": task_id, "seen": seen, "state": state}

    def stream(self, task_id, after):
        connection = http.client.HTTPConnection(*self.tasks, timeout=20)
        try:
            body = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask",
                    "params": {"id": task_id}}
            headers = {"Content-Type": "application/json", "Host": "tasks.test",
                       "A2A-Version": "1.0", "Accept": "text/event-stream",
                       "Last-Event-ID": str(after)}
            connection.request("POST", "/a2a", json.dumps(body), headers)
            response = connection.getresponse()
            number = None
            for line in response:
                word, _, rest = line.decode().strip().partition(": ")
                if word == "id":
                    number = int(rest)
                elif word == "data" and number is not None:
                    result = json.loads(rest).get("result") or {}
                    if "task" not in result and number > after:
                        update = result.get("statusUpdate") or {}
                        yield number, (update.get("status") or {}).get("state")
                    number = None
        finally:
            connection.close()


class Game:
    """The processes, and the count of what held."""

    def __init__(self, name, programs, place):
        self.name, self.place, self.failed = name, place, 0
        self.work = tempfile.mkdtemp(prefix="replicas-")
        place.open(REPLICAS)
        self.cluster = cluster.Cluster(place.database)
        self.tradepost = programs[0]
        self.shops = [self.shop(number) for number in range(REPLICAS)]
        self.agents = [self.agent(number, programs[1]) for number in range(REPLICAS)]
        self.happened = collections.Counter()

    def address(self, number):
        host = self.place.host(number)
        # Nobody else is in a namespace.
        return host, cluster.free_port() if host == "127.0.0.1" else 8_000

    def shop(self, number):
        host, port = self.address(number)
        config = os.path.join(self.work, f"shop-{number}.toml")
        days = ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")
        hours = ", ".join(f'{day}day = "09:00-18:00"' for day in days)
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(listen=f"{host}:{port}", database=self.cluster.url, hours=hours,
                                     capacity=CAPACITY, catalogue=CATALOGUE, limit=LIMIT))
        command = [*self.place.prefix(number), self.tradepost, "serve", "--config", config]
        return Replica(command, (host, port), os.path.join(self.work, f"shop-{number}.log"))

    def agent(self, number, program):
        host, port = self.address(number)
        port += host != "127.0.0.1"
        command = [*self.place.prefix(number), program, "streaming", "--listen", f"{host}:{port}",
                   "--database", self.cluster.url]
        return Replica(command, (host, port), os.path.join(self.work, f"tasks-{number}.log"))

    def replicas(self):
        return [*self.shops, *self.agents]

    def check(self, what, holds, found=None):
        print(("ok    " if holds else "FAIL  ") + what
              + ("" if holds or found is None else f": {found}"[:2000]), flush=True)
        self.failed += not holds

    def are_ready(self, seconds=90):
        """Whether all are, in the end."""
        until = time.monotonic() + seconds
        waiting = self.replicas()
        while waiting and time.monotonic() < until:
            waiting = [replica for replica in waiting if not is_ready(replica)]
            for replica in waiting:
                replica.revive()
            time.sleep(0.2)
        return not waiting

    def bad_luck(self, chance):
        """What happens, and has an end."""
        if self.name == "cut":
            number = chance.randrange(REPLICAS)
            how = self.place.cut(number, chance)
            self.happened[f"cut off {how}"] += 1
            time.sleep(chance.uniform(1, 20))
            self.place.mend(number)
            return
        deed = chance.choice(["kill", "kill", "kill", "cut", "restart"])
        self.happened[deed] += 1
        if deed == "kill":
            replica = chance.choice(self.replicas())
            replica.kill()
            time.sleep(chance.uniform(0, 1))
        elif deed == "cut":
            self.cluster.cut()
        else:
            self.cluster.restart(chance.uniform(0, 2))
        for replica in self.replicas():
            replica.revive()

    def close(self):
        for replica in self.replicas():
            replica.kill()
        self.cluster.close()
        self.place.close()
        if self.failed:
            print(f"the logs are in {self.work}")
        else:
            shutil.rmtree(self.work, ignore_errors=True)


def is_ready(replica):
    try:
        connection = http.client.HTTPConnection(*replica.address, timeout=3)
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False


def play(name, programs, place, seconds):
    """How many checks have failed."""
    print(f"== {name}: {REPLICAS} replicas, {seconds:.0f} seconds", flush=True)
    try:
        game = Game(name, programs, place)
    except Exception:
        place.close()
        raise
    try:
        if not game.are_ready():
            game.check("all replicas begin", False)
            return game.failed
        key = subprocess.run(
            [game.tradepost, "keys", "create", "--publisher", "gazette", "--name", "acme",
             "--config", os.path.join(game.work, "shop-0.toml"), "--database", game.cluster.url],
            capture_output=True, text=True, check=True, cwd=game.work,
        ).stdout.strip()
        world = World(Proxy(game.shops, place.own).address, Proxy(game.agents, place.own).address, key)
        load(game, world, seconds)
        judge(game, world)
    finally:
        game.close()
    return game.failed


def load(game, world, seconds):
    roles = [world.buyers] * 3 + [world.advertisers] * 2 + [world.followers] * 2
    threads = [threading.Thread(target=role, args=(number,)) for number, role in enumerate(roles)]
    for thread in threads:
        thread.start()
    chance, until = random.Random(int(os.environ.get("SEED", "1"))), time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(chance.uniform(1, 4))
        game.bad_luck(chance)
    game.check("all replicas are ready afterwards", game.are_ready())
    world.over.set()
    for thread in threads:
        thread.join(240)
    game.check("whoever asked has an answer", not any(thread.is_alive() for thread in threads))


def judge(game, world):
    say = game.cluster.ask
    print(f"      {dict(game.happened)}; {world.refused} answers were none")
    waits = sorted(world.waits)
    print(f"      an acknowledgement took {waits[len(waits) // 2] * 1000:.0f} ms, of a hundred the "
          f"slowest {waits[len(waits) * 99 // 100] * 1000:.0f} ms, the slowest {waits[-1]:.1f} s")
    game.check("nothing was answered that must not be", not world.wrong, world.wrong[:5])
    stored = [row[0] for row in say("SELECT lead_id FROM leads")]
    game.check(f"{len(world.leads)} acknowledged leads are stored, each once",
               sorted(world.leads.values()) == sorted(stored),
               (len(stored), len(set(world.leads.values()))))
    broken = say("SELECT count(*) - max(seq) FROM consent_log")[0][0]
    game.check("the chain of consents has no gap", broken == "0", broken)
    confirmed = say("SELECT count(*) FROM appointments WHERE state = 'confirmed'")[0][0]
    taken = collections.Counter(world.slots.values())
    game.check(f"{len(world.slots)} appointments are stored, no slot twice",
               int(confirmed) == len(world.slots) > 0 and max(taken.values()) <= CAPACITY,
               (confirmed, taken))
    bought = [row[0] for row in say("SELECT id FROM publisher_things WHERE kind = 'media_buy'")]
    game.check(f"{len(world.buys)} acknowledged buys are stored, each once",
               sorted(world.buys.values()) == sorted(bought), (len(bought), len(world.buys)))
    game.check(f"the budget was not spent twice ({world.beyond} buys were beyond it)",
               len(world.buys) * BUDGET <= LIMIT)
    whole = {stream["id"]: stream for stream in world.streams}
    lengths = dict(say("SELECT task_id, last_seq FROM tasks"))
    said = say("SELECT task_id, string_agg(seq::text, ',' ORDER BY seq) FROM task_events "
               "WHERE kind <> 0 AND seq > 1 GROUP BY task_id")
    said = {task: [int(seq) for seq in seqs.split(",")] for task, seqs in said}
    torn = [task for task, stream in whole.items() if stream["seen"] != said.get(task)]
    ended = collections.Counter(stream["state"] for stream in world.streams)
    game.check(f"{len(whole)} streams are whole ({dict(ended)}, "
               f"{sum(map(int, lengths.values()))} entries)", whole and not torn,
               [(task, whole[task]["seen"][-3:], said.get(task, [])[-3:]) for task in torn[:3]])
    at_work = ("SELECT count(*) FROM tasks "
               "WHERE state IN ('TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING')")
    # Those of a killed process are ended after half a minute of its silence.
    until = time.monotonic() + 90
    while (left := say(at_work)[0][0]) != "0" and time.monotonic() < until:
        time.sleep(1)
    game.check("no task is left at work on which nobody works", left == "0", left)
