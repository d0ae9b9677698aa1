"""An ad server of one's own, as docs/ad-server.md describes it: everything is in memory, and orders are approved
by whoever looks at their task. Run it with `python3 example_server.py 4503 KEY`; port 0 takes a free one."""

import json
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qsl, unquote, urlsplit

NETWORK, KEY = "net_example", sys.argv[2] if len(sys.argv) > 2 else "example-key"
UNITS = [{"ad_unit_id": "front_page", "name": "Front page", "sizes": [{"width": 300, "height": 250}], "environment": "web"}]
PRODUCTS = [{"product_id": "display", "name": "Display", "ad_unit_ids": ["front_page"]}]
IMPRESSIONS = 1_000_000
orders, line_items, creatives, tasks, made, lock = {}, {}, {}, {}, {}, Lock()
ORDER_ACTIONS = {"approve": "delivering", "pause": "paused", "resume": "delivering", "cancel": "canceled"}


class Failure(Exception):
    def __init__(self, status, code, message):
        self.status, self.body = status, {"code": code, "message": message}


def create(kind, shelf, id_member, body, **members):
    """Makes an object once for each `client_request_id`; another body under the same id is a conflict."""
    key, content = (kind, body.get("client_request_id")), json.dumps(body, sort_keys=True)
    if key[1] in (None, ""):
        raise Failure(400, "invalid_request", "client_request_id is required")
    if key in made:
        first, object_id = made[key]
        if first != content:
            raise Failure(409, "idempotency_conflict", "this client_request_id has made something else")
        return 200, shelf[object_id]
    object_id = f"{kind}_{uuid.uuid4().hex[:12]}"
    made[key] = (content, object_id)
    shelf[object_id] = {**body, id_member: object_id, **members}
    return 201, shelf[object_id]


def find(kind, shelf, object_id):
    if object_id not in shelf:
        raise Failure(404, f"{kind}_not_found", f"there is no {kind} {object_id}")
    return shelf[object_id]


def of_order(order):
    return [item for item in line_items.values() if item["order_id"] == order["order_id"]]


def act(thing, action):
    if action not in ORDER_ACTIONS:
        raise Failure(400, "invalid_request", "an action is approve, pause, resume or cancel")
    if thing["status"] in ("canceled", "completed"):
        raise Failure(422, "invalid_state_transition", "it has ended")
    thing["status"] = ORDER_ACTIONS[action]
    return 200, thing


def availability(body):
    points = [{"metrics": {"impressions": {"low": IMPRESSIONS, "mid": IMPRESSIONS, "high": IMPRESSIONS}}}]
    sold = sum(item["goal"]["amount"] for item in line_items.values() if item.get("goal"))
    left = max(0, IMPRESSIONS - sold)
    return 200, {"items": [{"forecast": {"points": points}, "remaining_after_prior_items": left} for _ in body["items"]]}


def look_at(task):
    """Somebody would decide here. This server agrees with the second look."""
    task["status"] = "completed" if task["status"] == "working" else "working"
    if task["status"] == "completed":
        order = orders[task["order_id"]]
        order["status"], order["approval_task_id"] = "delivering", None
    return 200, task


def delivery(order):
    period = {"start": order["start_time"], "end": order["end_time"]}
    day, live = order["start_time"][:10], order["status"] == "delivering"
    rows = [{"line_item_id": item["line_item_id"], "day": day, "impressions": 1200 * live, "clicks": 7 * live,
             "spend": 12.34 * live, "is_final": False} for item in of_order(order)]
    return 200, {"currency": order["currency"], "reporting_period": period, "totals": {"clicks": 7 * len(rows)},
                 "line_item_breakdown": rows}


def route(method, path, query, body):
    listed = lambda shelf: [x for x in shelf.values() if query.get("client_request_id") in (None, x["client_request_id"])]
    match (method, *path):
        case "GET", "inventory": return 200, {"ad_units": UNITS}
        case "GET", "products": return 200, {"products": PRODUCTS}
        case "POST", "availability": return availability(body)
        case "GET", "creatives": return 200, {"creatives": listed(creatives)}
        case "POST", "creatives": return create("creative", creatives, "creative_id", body)
        case "GET", "tasks", task: return look_at(find("task", tasks, task))
        case "GET", "orders": return 200, {"orders": listed(orders)}
        case "POST", "orders":
            task_id = f"task_{uuid.uuid4().hex[:12]}"
            status, order = create("order", orders, "order_id", body, status="pending_approval", approval_task_id=task_id)
            if status == 201:
                tasks[task_id] = {"task_id": task_id, "order_id": order["order_id"], "status": "submitted"}
            return status, order
    if path[:1] != ["orders"]:
        raise Failure(404, "not_found", "there is no such route")
    order = find("order", orders, path[1])
    item = find("line_item", line_items, path[3]) if path[2:3] == ["lineitems"] and len(path) > 3 else None
    match (method, *path[2:3], *path[4:]):
        case ("GET",): return 200, order
        case ("PUT",): return 200, order.update(body) or order
        case ("POST", "actions"): return act(order, body["action"])
        case ("GET", "delivery"): return delivery(order)
        case ("GET", "lineitems") if item is None: return 200, {"line_items": of_order(order)}
        case ("POST", "lineitems") if item is None:
            owner = {"order_id": order["order_id"], "creative_ids": [], "status": "pending_creatives"}
            return create("line_item", line_items, "line_item_id", body, **owner)
        case ("PUT", "lineitems"): item.update(body, status="paused" if body["paused"] else item["status"])
        case ("POST", "lineitems", "actions"): return act(item, body["action"])
        case ("POST", "lineitems", "creative-attach"):
            item["creative_ids"] = sorted({*item["creative_ids"], find("creative", creatives, body["creative_id"])["creative_id"]})
            item["status"] = "ready"
        case ("POST", "lineitems", "creative-detach"):
            item["creative_ids"] = [own for own in item["creative_ids"] if own != body["creative_id"]]
        case _: raise Failure(404, "not_found", "there is no such route")
    return 200, item


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        url = urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            if self.headers.get("authorization") != f"Bearer {KEY}":
                raise Failure(401, "unauthorized", "the credential is wrong")
            if self.headers.get("x-network-code") != NETWORK:
                raise Failure(403, "unknown_network", "there is no such network")
            path = [unquote(part) for part in url.path.removeprefix("/v1/").split("/")]
            with lock:
                status, body = route(self.command, path, dict(parse_qsl(url.query)), json.loads(raw or b"{}"))
        except Failure as failure:
            status, body = failure.status, failure.body
        except (KeyError, TypeError, ValueError):
            status, body = 400, {"code": "invalid_request", "message": "the request is not as the contract has it"}
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = answer
    log_message = lambda self, *_: None


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
