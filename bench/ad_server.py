#!/usr/bin/env python3
"""An ad server in memory for `bench/sales`: it answers the contract of docs/ad-server.md as fast as Python can.

    bench/ad_server.py PACKAGES CREDENTIAL CREATIVES

PACKAGES says how many line items an order has when it is complete, CREATIVES how many creatives each line item has then
(0 or 1); it is approved then, too.
`GET /bench` counts what was made, and `GET /bench/orders` lists it; neither is part of the contract. Times are those of
the monotonic clock, which all processes of the machine share.
"""

import asyncio
import json
import sys
import time
from urllib.parse import parse_qsl, unquote, urlsplit

AFTER = {"approve": "approved", "pause": "paused", "resume": "approved", "cancel": "canceled"}


class Failure(Exception):
    def __init__(self, status, code, message):
        super().__init__(message)
        self.status = status
        self.body = {"code": code, "message": message}


class AdServer:
    def __init__(self, packages, creatives_each):
        self.packages = packages
        self.creatives_each = creatives_each
        self.orders = {}
        self.creatives = {}
        self.made = {}
        self.complete = set()
        self.repeated = 0
        self.requests = 0
        self.last_request = 0.0
        self.last_complete = 0.0

    def create(self, kind, shelf, body, **members):
        """Makes an object once for each `client_request_id`; another body under the same id is a conflict."""
        key = (kind, body.get("client_request_id"))
        if not key[1]:
            raise Failure(400, "invalid_request", "client_request_id is required")
        if key in self.made:
            self.repeated += 1
            first, thing = self.made[key]
            if first != body:
                raise Failure(409, "idempotency_conflict", "this client_request_id has made something else")
            return 200, thing
        thing_id = f"{kind}_{len(self.made)}"
        thing = {**body, f"{kind}_id": thing_id, **members}
        self.made[key] = (body, thing)
        shelf[thing_id] = thing
        return 201, thing

    def find(self, kind, shelf, thing_id):
        if thing_id not in shelf:
            raise Failure(404, f"{kind}_not_found", f"there is no {kind} {thing_id}")
        return shelf[thing_id]

    def listed(self, kind, shelf, query):
        wanted = query.get("client_request_id")
        if wanted is None:
            return list(shelf.values())
        return [self.made[(kind, wanted)][1]] if (kind, wanted) in self.made else []

    def look(self, order):
        """Notes when an order is complete."""
        items = order["items"].values()
        done = order["status"] == "approved" and len(items) == self.packages and all(
            len(item["creative_ids"]) >= self.creatives_each for item in items)
        if done and order["order_id"] not in self.complete:
            self.complete.add(order["order_id"])
            self.last_complete = time.monotonic()

    def route(self, method, path, query, body):
        match (method, *path):
            case ("GET", "inventory"):
                return 200, {"ad_units": [{"ad_unit_id": "front", "name": "Front page"}]}
            case ("GET", "products"):
                return 200, {"products": [{"product_id": "display", "name": "Display"}]}
            case ("POST", "availability"):
                points = [{"metrics": {"impressions": {"mid": 1_000_000_000}}}]
                answer = {"forecast": {"points": points}, "remaining_after_prior_items": 1_000_000_000}
                return 200, {"items": [answer for _ in body["items"]]}
            case ("POST", "creatives"):
                return self.create("creative", self.creatives, body)
            case ("GET", "creatives"):
                return 200, {"creatives": self.listed("creative", self.creatives, query)}
            case ("POST", "orders"):
                return self.create("order", self.orders, body, status="draft", items={})
            case ("GET", "orders"):
                return 200, {"orders": self.listed("order", self.orders, query)}
            case ("GET" | "POST" | "PUT", "orders", order_id, *rest):
                order = self.find("order", self.orders, order_id)
                answer = self.within(method, order, rest, body)
                self.look(order)
                return answer
        raise Failure(404, "not_found", "there is no such route")

    def within(self, method, order, path, body):
        items = order["items"]
        match (method, *path):
            case ("GET",):
                return 200, order
            case ("PUT",):
                order.update(body)
                return 200, order
            case ("POST", "actions"):
                order["status"] = AFTER[body["action"]]
                return 200, order
            case ("GET", "lineitems"):
                return 200, {"line_items": list(items.values())}
            case ("POST", "lineitems"):
                return self.create("line_item", items, body, status="pending_creatives", creative_ids=[])
        item = self.find("line_item", items, path[1]) if path[:1] == ["lineitems"] and len(path) > 1 else None
        match (method, *path[2:]):
            case ("PUT",) if item:
                item.update(body)
                return 200, item
            case ("POST", "actions") if item:
                item["status"] = {**AFTER, "resume": "ready"}[body["action"]]
                return 200, item
            case ("POST", "creative-attach") if item:
                creative = self.find("creative", self.creatives, body["creative_id"])["creative_id"]
                item["creative_ids"] = sorted({*item["creative_ids"], creative})
                item["status"] = "ready"
                return 200, item
            case ("POST", "creative-detach") if item:
                item["creative_ids"] = [one for one in item["creative_ids"] if one != body["creative_id"]]
                return 200, item
        raise Failure(404, "not_found", "there is no such route")

    def counts(self):
        return {
            "orders": len(self.orders), "complete": len(self.complete), "creatives": len(self.creatives),
            "repeated": self.repeated, "requests": self.requests, "last_request": self.last_request,
            "last_complete": self.last_complete,
        }

    def everything(self):
        return [
            {"id": order["client_request_id"], "items": [
                {"id": item["client_request_id"], "creatives": len(item["creative_ids"])}
                for item in order["items"].values()
            ]}
            for order in self.orders.values()
        ]


class Connection(asyncio.Protocol):
    """A connection on which one request follows the other."""

    def __init__(self, ad_server, credential):
        self.ad_server = ad_server
        self.credential = f"Bearer {credential}"
        self.received = b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.received += data
        while b"\r\n\r\n" in self.received:
            head, rest = self.received.split(b"\r\n\r\n", 1)
            first, *lines = head.decode("latin-1").split("\r\n")
            headers = {}
            for line in lines:
                name, value = line.split(":", 1)
                headers[name.lower()] = value.strip()
            length = int(headers.get("content-length", 0))
            if len(rest) < length:
                return
            self.received = rest[length:]
            status, body = self.answer(first, headers, rest[:length])
            content = json.dumps(body).encode()
            self.transport.write(
                f"HTTP/1.1 {status} .\r\ncontent-type: application/json\r\n"
                f"content-length: {len(content)}\r\n\r\n".encode() + content)

    def answer(self, first, headers, content):
        method, target, _ = first.split(" ")
        url = urlsplit(target)
        if url.path == "/bench":
            return 200, self.ad_server.counts()
        if url.path == "/bench/orders":
            return 200, self.ad_server.everything()
        self.ad_server.requests += 1
        self.ad_server.last_request = time.monotonic()
        try:
            if headers.get("authorization") != self.credential:
                raise Failure(401, "unauthorized", "the credential is wrong")
            path = [unquote(part) for part in url.path.removeprefix("/v1/").split("/")]
            return self.ad_server.route(method, path, dict(parse_qsl(url.query)), json.loads(content or b"{}"))
        except Failure as failure:
            return failure.status, failure.body
        except (KeyError, TypeError, ValueError):
            return 400, {"code": "invalid_request", "message": "the request is not as the contract has it"}


async def main():
    packages = int(sys.argv[1])
    credential = sys.argv[2]
    ad_server = AdServer(packages, int(sys.argv[3]))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(ad_server, credential), "127.0.0.1", 0)
    print(f"listening on http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


asyncio.run(main())
