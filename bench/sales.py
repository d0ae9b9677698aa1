#!/usr/bin/env python3
"""Buys over MCP for `bench/sales`, and measures what that costs the seller.

    bench/sales.py open ADDRESS/mcp                   opens an account and sends a creative; prints the account
    bench/sales.py measure ADDRESS/mcp --pid PID ...  buys, and prints one line: CPU in ms for each buy, buys
                                                      acknowledged in a second, orders completed in a second, requests
                                                      to the ad server for each buy; a file gets the ids of the buys
    bench/sales.py check AD_SERVER BUYS PACKAGES CREATIVES
                                                      ends with 1 unless every buy is one order at the ad server
    bench/sales.py seen ADDRESS/mcp BUYS PACKAGES     ends with 1 unless the seller shows every buy

Requests are sent with each `--header`. A seller with an ad server (`--ad-server`) is measured until the ad server has
had no request for a second after the last order is complete, one without until the last answer.
"""

import argparse
import http.client
import json
import os
import queue
import sys
import threading
import time
import uuid

BRAND = {"domain": "acme.example"}
CREATIVE = "banner"
PATIENCE = 600
QUIET = 1.0
PAGE = 50


class Caller:
    """A buyer's session of MCP, on one connection."""

    def __init__(self, url, headers):
        self.host, self.path = url.removeprefix("http://").split("/", 1)
        self.connection = http.client.HTTPConnection(self.host, timeout=PATIENCE)
        self.headers = {
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-06-18", **headers,
        }
        client = {"name": "bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.connection.request("POST", f"/{self.path}", json.dumps(message), self.headers)
        answer = self.connection.getresponse()
        session = answer.getheader("mcp-session-id")
        if session:
            self.headers["Mcp-Session-Id"] = session
        text = answer.read().decode()
        if answer.status >= 300:
            sys.exit(f"{self.host} has answered with {answer.status}: {text[:1000]}")
        return text, (answer.getheader("content-type") or "").startswith("text/event-stream")

    def ask(self, method, params):
        text, is_stream = self.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        if is_stream:
            # The answer is the last event; notifications may come before it.
            text = [line[5:] for line in text.splitlines() if line.startswith("data:")][-1]
        return json.loads(text)

    def call(self, tool, arguments):
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        result = answer.get("result", {})
        if result.get("isError") or "structuredContent" not in result:
            sys.exit(f"{tool}: {json.dumps(answer)[:2000]}")
        return result["structuredContent"]


def key():
    return str(uuid.uuid4())


def open_account(caller):
    """An account of the buyer with a creative that can be shown at once."""
    row = {"brand": BRAND, "operator": BRAND["domain"], "billing": "operator"}
    opened = caller.call("sync_accounts", {"idempotency_key": key(), "accounts": [row]})
    account = opened["accounts"][0]["account_id"]
    creative = {
        "creative_id": CREATIVE, "name": "Spring banner",
        "format_id": {"agent_url": "https://ads.gazette.example", "id": "display_300x250"},
        "assets": {
            "image": {"asset_type": "image", "url": "https://cdn.acme.example/banner.png", "width": 300, "height": 250},
            "click": {"asset_type": "url", "url": "https://acme.example/spring", "url_type": "clickthrough"},
        },
    }
    caller.call("sync_creatives", {
        "idempotency_key": key(), "account": {"account_id": account}, "creatives": [creative],
    })
    return account


def purchase(options):
    """A buy that begins later, so that no report on its delivery is asked for meanwhile."""
    shown = {}
    if options.creative:
        shown["creative_assignments"] = [{"creative_id": options.creative}]
    if options.creative_ids:
        shown["creative_ids"] = options.creative_ids
    packages = [
        {"product_id": product, "pricing_option_id": options.option, "budget": 5000, **shown}
        for product in options.product
    ]
    account = {"account": {"account_id": options.account}} if options.account else {}
    return {
        **account, "idempotency_key": key(), "brand": BRAND, "start_time": options.start, "end_time": options.end,
        "packages": packages,
    }


def buy_all(options, callers, count):
    """Buys from all callers at once; the ids of the buys."""
    waiting = queue.SimpleQueue()
    for _ in range(count):
        waiting.put(purchase(options))
    bought = []
    wrong = []

    def work(caller):
        try:
            while not wrong:
                answer = caller.call("create_media_buy", waiting.get_nowait())
                if "media_buy_id" not in answer or len(answer["packages"]) != len(options.product):
                    wrong.append(json.dumps(answer)[:2000])
                else:
                    bought.append(answer["media_buy_id"])
        except queue.Empty:
            return
        except (SystemExit, Exception) as error:
            wrong.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=work, args=[caller]) for caller in callers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        sys.exit(f"a buy did not succeed: {wrong[0]}")
    if len(set(bought)) != count:
        sys.exit(f"{count} buys have {len(set(bought))} ids")
    return bought


def ticks(pids):
    """User and system time of processes in seconds."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(") ", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def at_ad_server(address, path=""):
    connection = http.client.HTTPConnection(address, timeout=PATIENCE)
    connection.request("GET", f"/bench{path}")
    return json.loads(connection.getresponse().read())


def settled(address, expected):
    """What the ad server counts, when everything is complete and it has no more requests."""
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        counts = at_ad_server(address)
        if counts["complete"] >= expected and time.monotonic() - counts["last_request"] > QUIET:
            return counts
        time.sleep(0.05)
    sys.exit(f"{expected} orders are not complete after {PATIENCE} s: {counts}")


def measure(options):
    headers = dict(header.split(": ", 1) for header in options.header)
    callers = [Caller(options.url, headers) for _ in range(options.callers)]
    before = at_ad_server(options.ad_server)["complete"] if options.ad_server else 0
    bought = buy_all(options, callers, options.warm_up)
    counts = settled(options.ad_server, before + options.warm_up) if options.ad_server else None
    used = ticks(options.pid)
    began = time.monotonic()
    bought += buy_all(options, callers, options.buys)
    acknowledged = time.monotonic() - began
    completed = acknowledged
    requests = 0
    if options.ad_server:
        after = settled(options.ad_server, counts["complete"] + options.buys)
        completed = after["last_complete"] - began
        requests = after["requests"] - counts["requests"]
    used = ticks(options.pid) - used
    with open(options.bought, "a") as file:
        file.writelines(f"{one}\n" for one in bought)
    print(
        f"{used * 1000 / options.buys:.2f} {options.buys / acknowledged:.1f} {options.buys / completed:.1f} "
        f"{requests / options.buys:.1f}")


def check(options):
    """Compares what was bought with what the ad server has."""
    with open(options.bought) as file:
        bought = file.read().split()
    made = at_ad_server(options.address, "/orders")
    wrong = []
    ids = [order["id"] for order in made]
    if sorted(ids) != sorted(set(ids)) or sorted(ids) != sorted(bought):
        wrong.append(f"{len(bought)} buys, {len(ids)} orders, {len(set(ids) & set(bought))} of them of these buys")
    for order in made:
        items = {item["id"] for item in order["items"]}
        if not len(items) == len(order["items"]) == options.packages:
            wrong.append(f"{order['id']} has {len(order['items'])} line items")
        if any(item["creatives"] != options.creatives for item in order["items"]):
            wrong.append(f"{order['id']} has a line item with other creatives")
    counts = at_ad_server(options.address)
    if counts["creatives"] != options.creatives or counts["repeated"]:
        wrong.append(f"{counts['creatives']} creatives, {counts['repeated']} creations were repeated")
    if wrong:
        sys.exit("\n".join(wrong[:20]))


def seen(options):
    """Asks the seller for everything that was bought."""
    caller = Caller(options.url, dict(header.split(": ", 1) for header in options.header))
    with open(options.bought) as file:
        bought = file.read().split()
    wrong = []
    for first in range(0, len(bought), PAGE):
        page = bought[first:first + PAGE]
        answer = caller.call("get_media_buys", {"media_buy_ids": page, "pagination": {"max_results": PAGE}})
        found = [buy["media_buy_id"] for buy in answer["media_buys"]]
        if sorted(found) != sorted(page):
            wrong.append(f"{len(page)} buys, and the seller shows {len(found)}")
        for buy in answer["media_buys"]:
            if len(buy["packages"]) != options.packages:
                wrong.append(f"{buy['media_buy_id']} has {len(buy['packages'])} packages")
    if wrong:
        sys.exit("\n".join(wrong[:20]))


def main():
    parser = argparse.ArgumentParser()
    steps = parser.add_subparsers(dest="step", required=True)
    opening = steps.add_parser("open")
    measuring = steps.add_parser("measure")
    for step in (opening, measuring):
        step.add_argument("url")
        step.add_argument("--header", action="append", default=[])
    measuring.add_argument("--pid", action="append", required=True)
    measuring.add_argument("--bought", required=True)
    measuring.add_argument("--product", action="append", required=True)
    measuring.add_argument("--option", required=True)
    measuring.add_argument("--start", required=True)
    measuring.add_argument("--end", required=True)
    measuring.add_argument("--account")
    measuring.add_argument("--creative", help="is assigned to each package")
    measuring.add_argument("--creative-ids", action="append", help="of a seller that reads `creative_ids` in its place")
    measuring.add_argument("--ad-server")
    for name in ("buys", "warm-up", "callers"):
        measuring.add_argument(f"--{name}", type=int, required=True)
    checking = steps.add_parser("check")
    checking.add_argument("address")
    checking.add_argument("bought")
    checking.add_argument("packages", type=int)
    checking.add_argument("creatives", type=int)
    seeing = steps.add_parser("seen")
    seeing.add_argument("url")
    seeing.add_argument("bought")
    seeing.add_argument("packages", type=int)
    seeing.add_argument("--header", action="append", default=[])
    options = parser.parse_args()
    if options.step == "open":
        headers = dict(header.split(": ", 1) for header in options.header)
        print(open_account(Caller(options.url, headers)))
    elif options.step == "measure":
        measure(options)
    elif options.step == "seen":
        seen(options)
    else:
        check(options)


main()
