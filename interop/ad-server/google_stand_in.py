"""A stand-in of Google Ad Manager. What is a request, and what it may have, is Google's word:

REST requests are matched with the addresses of Google's own client (`services/*/transports/rest_base.py`) and read by
`google.protobuf.json_format` into its types; unknown members are refused. Required and output-only members are read in the
documentation of these types, and so are the fields that a list can be filtered by. SOAP bodies are compared with
google_soap_fields.py. Assertions of the service account are checked by google-auth.
"""

import importlib
import inspect
import json
import pkgutil
import re
import threading
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape
from zoneinfo import ZoneInfo

import google.ads.admanager_v1 as admanager
import google.ads.admanager_v1.services as services
from google.auth import jwt
from google.longrunning import operations_pb2
from google.protobuf import field_mask_pb2, json_format

import google_soap_fields

NETWORK = "networks/12345"
TIME_ZONE = "America/New_York"
ENVELOPE = "http://schemas.xmlsoap.org/soap/envelope/"
INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
VERSION = "v202511"
NAMESPACE = f"https://www.google.com/apis/ads/publisher/{VERSION}"


class Refusal(Exception):
    """An answer without success."""

    def __init__(self, code, status, message, errors=()):
        super().__init__(message)
        self.code, self.status, self.message, self.errors = code, status, message, errors


def invalid(message):
    return Refusal(400, "INVALID_ARGUMENT", message)


class Method:
    """A method of the interface, as Google's own client calls it."""

    def __init__(self, name, verb, uri, body):
        self.name, self.verb, self.body = name, verb, body
        self.request = getattr(admanager, f"{name}Request")
        # {parent=networks/*} takes one part for each star.
        pattern = re.sub(
            r"\{([a-z_.]+)=([^}]*)\}",
            lambda found: f"(?P<{found[1].replace('.', '__')}>{found[2].replace('*', '[^/]+')})",
            uri,
        )
        self.pattern = re.compile(f"^{pattern}$")


def methods():
    """Reads the methods of all services from Google's client."""
    found = []
    for package in pkgutil.iter_modules(services.__path__):
        base = importlib.import_module(f"{services.__name__}.{package.name}.transports.rest_base")
        for _, transport in inspect.getmembers(base, inspect.isclass):
            for name, method in vars(transport).items():
                name = name.removeprefix("_Base")
                if not inspect.isclass(method) or not hasattr(admanager, f"{name}Request"):
                    continue
                for option in method._get_http_options():
                    found.append(Method(name, option["method"].upper(), option["uri"], option.get("body")))
    return found


def facts(message_type):
    """Returns what the documentation of a type says of each member: its first words."""
    documentation = inspect.getdoc(message_type) or ""
    words = {}
    for found in re.finditer(r"^    (\w+) \([^\n]*\):\n((?:        [^\n]*\n?|\n)*)", documentation + "\n", re.M):
        words[found[1]] = " ".join(found[2].split())
    return words


def filterable(message_type):
    """Returns the fields that a list can be filtered by; none when the documentation has no list of them."""
    text = facts(message_type).get("filter", "")
    return set(re.findall(r"- ``([\w.,]+)``", text))


def plus_type(descriptor):
    """Returns the documented class of a descriptor of Google Ad Manager."""
    names = [descriptor.name]
    while descriptor.containing_type is not None:
        descriptor = descriptor.containing_type
        names.insert(0, descriptor.name)
    found = admanager
    for name in names:
        found = getattr(found, name, None)
    return found


def judge(message, is_new, path=""):
    """Refuses members that are output only, and new objects without a required one."""
    documented = plus_type(message.DESCRIPTOR)
    words = facts(documented) if documented is not None else {}
    present = {field.name: value for field, value in message.ListFields()}
    for field in message.DESCRIPTOR.fields:
        said = words.get(field.name) or words.get(f"{field.name}_") or ""
        if field.name in present and said.startswith("Output only"):
            raise invalid(f"{path}{field.json_name} is output only")
        # An enum whose first value means something may be left out.
        has_default = field.enum_type is not None and not field.enum_type.values[0].name.endswith("UNSPECIFIED")
        if is_new and said.startswith("Required") and field.name not in present and not has_default:
            raise invalid(f"{path}{field.json_name} is required")
    for field, value in message.ListFields():
        if field.message_type is None or not field.message_type.full_name.startswith("google.ads."):
            continue
        for item in value if not hasattr(value, "DESCRIPTOR") else [value]:
            judge(item, is_new, f"{path}{field.json_name}.")


def matches(expression, members):
    """Tells if an object matches a filter of AIP-160, as far as the adapter writes them."""
    tokens = re.findall(r'\(|\)|AND|OR|=|"(?:[^"\\]|\\.)*"|[\w.]+', expression)

    def comparison():
        token = tokens.pop(0)
        if token == "(":
            value = alternatives()
            assert tokens.pop(0) == ")"
            return value
        assert tokens.pop(0) == "="
        wanted = json.loads(tokens.pop(0))
        members.setdefault("fields", set()).add(token)
        pattern = ".*".join(re.escape(part) for part in wanted.split("*"))
        return re.fullmatch(pattern, str(members["object"].get(token, ""))) is not None

    def all_of():
        value = comparison()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            value = comparison() and value
        return value

    def alternatives():
        value = all_of()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            value = all_of() or value
        return value

    value = alternatives()
    if tokens:
        raise invalid("the filter")
    return value


class GoogleStandIn:
    """The stand-in, on a port of this machine."""

    def __init__(self, public_key):
        self.public_key = public_key
        self.methods = methods()
        self.seen = []
        self.faults = []
        self.tokens = 0
        self.valid_tokens = set()
        self.last_id = 1000
        self.lists = {name: {} for name in
                      ("orders", "lineItems", "creatives", "reports", "geoTargets", "adUnits", "placements")}
        self.associations = {}
        self.runs = {}
        self.rows = []
        self.not_forecast = 0
        self.may_approve = True
        self.forecasts = []
        self.network = admanager.Network(
            name=NETWORK, display_name="Gazette", network_code="12345", currency_code="USD", time_zone=TIME_ZONE,
            test_network=True,
        )
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                stand_in.serve(self)

            do_POST = do_PATCH = do_GET

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()

    def add(self, list_name, kind, **members):
        """Adds an object that the publisher has."""
        members.setdefault("name", f"{NETWORK}/{list_name}/{self.next_id()}")
        thing = kind(**members)
        self.lists[list_name][thing.name] = thing
        return thing

    def next_id(self):
        self.last_id += 1
        return self.last_id

    # Bytes

    def serve(self, handler):
        length = int(handler.headers.get("content-length") or 0)
        body = handler.rfile.read(length)
        address = urlsplit(handler.path)
        fault = None
        if address.path != "/token" and self.faults and self.faults[0].get("path", "") in address.path:
            fault = self.faults.pop(0)
        headers = {}
        try:
            if fault and not fault.get("acts"):
                raise Refusal(fault["code"], fault.get("status", ""), "the fault of the test")
            if address.path == "/token":
                answer, kind = self.token(body), "application/json"
            elif handler.headers.get("authorization", "Bearer anonymous") not in self.valid_tokens | {"Bearer anonymous"}:
                # Google's own client comes without a token.
                raise Refusal(401, "UNAUTHENTICATED", "the token is not valid")
            elif address.path.startswith(f"/apis/ads/publisher/{VERSION}/"):
                answer, kind = self.soap(address.path.rsplit("/", 1)[1], body), "text/xml"
            else:
                answer, kind = self.rest(handler.command, address, body), "application/json"
            status = 200
            if fault:
                status = fault["code"]
                answer = fault.get("body", "")
        except Refusal as refusal:
            status, answer, kind = refusal.code, self.failure(refusal, address.path), "application/json"
            if "/apis/" in address.path and not fault:
                kind = "text/xml"
            if fault and "retry_after" in fault:
                headers["retry-after"] = str(fault["retry_after"])
        payload = answer.encode()
        handler.send_response(status)
        handler.send_header("content-type", kind)
        handler.send_header("content-length", str(len(payload)))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(payload)

    def failure(self, refusal, path):
        if "/apis/" in path and refusal.code == 500:
            errors = "".join(
                f"<errors xsi:type='{name.split('.')[0]}'><fieldPath/><trigger/><errorString>{name}</errorString>"
                f"<reason>{name.split('.')[1]}</reason></errors>"
                for name in refusal.errors
            )
            return (
                f"<soap:Envelope xmlns:soap='{ENVELOPE}' xmlns:xsi='{INSTANCE}'><soap:Body><soap:Fault>"
                f"<faultcode>soap:Server</faultcode><faultstring>{escape(refusal.message)}</faultstring><detail>"
                f"<ApiExceptionFault xmlns='{NAMESPACE}'><message>{escape(refusal.message)}</message>{errors}"
                "</ApiExceptionFault></detail></soap:Fault></soap:Body></soap:Envelope>"
            )
        if path == "/token":
            return json.dumps({"error": refusal.status, "error_description": refusal.message})
        details = [
            {"@type": "type.googleapis.com/google.ads.admanager.v1.AdManagerError", "errorCode": name,
             "message": refusal.message}
            for name in refusal.errors
        ]
        error = {"code": refusal.code, "message": refusal.message, "status": refusal.status, "details": details}
        return json.dumps({"error": error})

    def token(self, body):
        form = {name: values[0] for name, values in parse_qs(body.decode(), strict_parsing=True).items()}
        if form["grant_type"] != "urn:ietf:params:oauth:grant-type:jwt-bearer":
            raise Refusal(400, "", "the grant")
        try:
            # google-auth checks signature, times and audience.
            claims = jwt.decode(form["assertion"], certs=self.public_key, audience=f"{self.url}/token")
        except ValueError as problem:
            raise Refusal(400, "invalid_grant", "Invalid JWT Signature.") from problem
        scopes = claims["scope"].split(" ")
        assert scopes == ["https://www.googleapis.com/auth/admanager", "https://www.googleapis.com/auth/dfp"], scopes
        assert claims["iss"] == "robot@project.example" and claims["exp"] - claims["iat"] == 3600, claims
        self.tokens += 1
        self.valid_tokens.add(f"Bearer token-{self.tokens}")
        return json.dumps({"access_token": f"token-{self.tokens}", "expires_in": 3599, "token_type": "Bearer"})

    # REST

    def rest(self, verb, address, body):
        path = unquote(address.path)
        if verb == "GET" and path.startswith(f"/v1/{NETWORK}/operations/reports/runs/"):
            self.seen.append({"verb": verb, "path": path, "body": {}, "query": {}})
            return self.operation(path.removeprefix("/v1/"))
        for method in self.methods:
            found = method.pattern.match(path)
            if method.verb == verb and found:
                break
        else:
            raise Refusal(404, "NOT_FOUND", f"no method has the address {verb} {path}")
        document = json.loads(body) if body else {}
        query = {name: values[0] for name, values in parse_qs(address.query, strict_parsing=True).items()} \
            if address.query else {}
        query = {name: value for name, value in query.items() if not name.startswith("$")}
        self.seen.append({"verb": verb, "path": path, "body": document, "query": query})
        whole = dict(query)
        if method.body == "*":
            whole.update(document)
        elif method.body is not None:
            whole[json_name(method.body)] = document
        elif document:
            raise invalid("the method takes no body")
        for name, value in found.groupdict().items():
            first, _, inner = name.partition("__")
            if inner:
                inside = whole.setdefault(json_name(first), {})
                if inside.setdefault(inner, value) != value:
                    raise invalid(f"{name} differs from the address")
            else:
                whole[json_name(first)] = value
        request = method.request.pb(method.request())
        try:
            json_format.ParseDict(whole, request)
        except json_format.ParseError as problem:
            raise invalid(str(problem)) from problem
        is_new = "Create" in method.name
        judge(request, is_new)
        if "filter" in query:
            self.check_filter(method, query["filter"])
        handle = getattr(self, f"do_{method.name}", None)
        if handle is None:
            raise Refusal(501, "UNIMPLEMENTED", f"the stand-in has no {method.name}")
        answer = handle(method.request.wrap(request))
        pb = answer if hasattr(answer, "DESCRIPTOR") else type(answer).pb(answer)
        return json_format.MessageToJson(pb)

    def check_filter(self, method, expression):
        known = filterable(method.request)
        members = {"object": {}}
        matches(expression, members)
        unknown = members["fields"] - known
        if known and unknown:
            raise invalid(f"{method.name} has no filter by {unknown}")

    def page(self, request, list_name, answer, member, extra=lambda thing: {}):
        things = []
        for thing in self.lists[list_name].values():
            shown = json_format.MessageToDict(type(thing).pb(thing))
            shown.update(extra(thing))
            if not request.filter or matches(request.filter, {"object": shown}):
                things.append(thing)
        # Two on a page, so that every longer list is read by its tokens.
        start = int(request.page_token or 0)
        setattr(answer, member, things[start:start + 2])
        if start + 2 < len(things):
            answer.next_page_token = str(start + 2)
        return answer

    def one(self, list_name, name):
        thing = self.lists[list_name].get(name)
        if thing is None:
            raise Refusal(404, "NOT_FOUND", f"there is no {name}", ["NOT_FOUND"])
        return thing

    def do_GetNetwork(self, request):
        if request.name != NETWORK:
            raise Refusal(403, "PERMISSION_DENIED", "the network is another's")
        return self.network

    def do_ListAdUnits(self, request):
        return self.page(request, "adUnits", admanager.ListAdUnitsResponse(), "ad_units")

    def do_ListPlacements(self, request):
        return self.page(request, "placements", admanager.ListPlacementsResponse(), "placements")

    def do_ListGeoTargets(self, request):
        return self.page(request, "geoTargets", admanager.ListGeoTargetsResponse(), "geo_targets")

    def do_GetGeoTarget(self, request):
        return self.one("geoTargets", request.name)

    def do_ListOrders(self, request):
        return self.page(request, "orders", admanager.ListOrdersResponse(), "orders")

    def do_GetOrder(self, request):
        return self.one("orders", request.name)

    def do_BatchCreateOrders(self, request):
        made = []
        for one in request.requests:
            order = one.order
            if len(order.display_name) > 255:
                raise invalid("displayName is longer than 255 characters")
            order.name = f"{NETWORK}/orders/{self.next_id()}"
            order.status = admanager.OrderStatusEnum.OrderStatus.DRAFT
            order.currency_code = "USD"
            self.lists["orders"][order.name] = order
            made.append(order)
        return admanager.BatchCreateOrdersResponse(orders=made)

    def do_ListLineItems(self, request):
        return self.page(request, "lineItems", admanager.ListLineItemsResponse(), "line_items")

    def do_GetLineItem(self, request):
        return self.one("lineItems", request.name)

    def do_CreateLineItem(self, request):
        item = request.line_item
        self.one("orders", item.order)
        for unit in item.targeting.inventory_targeting.targeted_ad_units:
            self.one("adUnits", unit.ad_unit)
        for place in item.targeting.geo_targeting.targeted_geos:
            self.one("geoTargets", place)
        item.name = f"{NETWORK}/lineItems/{self.next_id()}"
        item.status = admanager.LineItemComputedStatusEnum.LineItemComputedStatus.DRAFT
        # Input only: they are not kept.
        del item.allow_overbook, item.skip_inventory_check
        self.lists["lineItems"][item.name] = item
        return item

    def do_UpdateLineItem(self, request):
        item = self.one("lineItems", request.line_item.name)
        mask = field_mask_pb2.FieldMask(paths=list(request.update_mask.paths))
        target = admanager.LineItem.pb(item)
        mask.MergeMessage(admanager.LineItem.pb(request.line_item), target, True, True)
        return item

    def change_orders(self, request, answer, status=None, **members):
        for name in request.names:
            order = self.one("orders", name)
            if status is not None:
                order.status = getattr(admanager.OrderStatusEnum.OrderStatus, status)
            for member, value in members.items():
                setattr(order, member, value)
            for item in self.lists["lineItems"].values():
                if item.order == name:
                    self.settle(item, order)
        return answer

    def settle(self, item, order):
        """Computes the status of a line item."""
        status = admanager.LineItemComputedStatusEnum.LineItemComputedStatus
        shown = [one for (line_item, _), one in self.associations.items() if line_item == item.name]
        if order.status == admanager.OrderStatusEnum.OrderStatus.PAUSED:
            item.status = status.PAUSED
        elif order.status == admanager.OrderStatusEnum.OrderStatus.APPROVED:
            item.missing_creatives = not shown
            item.reservation_status = admanager.LineItemReservationStatusEnum.LineItemReservationStatus.RESERVED
            item.status = status.READY if shown else status.INACTIVE

    def do_BatchApproveOrders(self, request):
        if not self.may_approve:
            raise Refusal(403, "PERMISSION_DENIED", "The user may not approve orders", ["PERMISSION_DENIED"])
        if self.not_forecast:
            self.not_forecast -= 1
            raise Refusal(400, "INVALID_ARGUMENT", "No forecast yet", ["FORECAST_ERROR_NO_FORECAST_YET"])
        assert not request.skip_inventory_check
        return self.change_orders(request, admanager.BatchApproveOrdersResponse(), "APPROVED")

    def do_BatchPauseOrders(self, request):
        return self.change_orders(request, admanager.BatchPauseOrdersResponse(), "PAUSED")

    def do_BatchResumeOrders(self, request):
        return self.change_orders(request, admanager.BatchResumeOrdersResponse(), "APPROVED")

    def do_BatchArchiveOrders(self, request):
        for name in request.names:
            if self.one("orders", name).status == admanager.OrderStatusEnum.OrderStatus.APPROVED:
                raise Refusal(400, "FAILED_PRECONDITION", "it delivers", ["ORDER_ERROR_NOT_ALLOWED"])
        return self.change_orders(request, admanager.BatchArchiveOrdersResponse(), archived=True)

    def change_items(self, request, answer, status=None, **members):
        for name in request.names:
            item = self.one("lineItems", name)
            if status is not None:
                item.status = getattr(admanager.LineItemComputedStatusEnum.LineItemComputedStatus, status)
            for member, value in members.items():
                setattr(item, member, value)
        return answer

    def do_BatchPauseLineItems(self, request):
        return self.change_items(request, admanager.BatchPauseLineItemsResponse(), "PAUSED")

    def do_BatchResumeLineItems(self, request):
        return self.change_items(request, admanager.BatchResumeLineItemsResponse(), "READY")

    def do_BatchArchiveLineItems(self, request):
        return self.change_items(request, admanager.BatchArchiveLineItemsResponse(), archived=True)

    def do_BatchReserveLineItems(self, request):
        reserved = admanager.LineItemReservationStatusEnum.LineItemReservationStatus.RESERVED
        return self.change_items(
            request, admanager.BatchReserveLineItemsResponse(), reservation_status=reserved)

    def do_BatchActivateLineItems(self, request):
        return self.change_items(request, admanager.BatchActivateLineItemsResponse(), "READY")

    def do_ListCreatives(self, request):
        return self.page(request, "creatives", admanager.ListCreativesResponse(), "creatives")

    def do_ListLineItemCreativeAssociations(self, request):
        shown = [one for (item, _), one in self.associations.items() if item == request.parent]
        return admanager.ListLineItemCreativeAssociationsResponse(line_item_creative_associations=shown)

    def do_ListReports(self, request):
        return self.page(request, "reports", admanager.ListReportsResponse(), "reports")

    def check_report(self, report):
        definition = report.report_definition
        source = definition.time_zone_source.name
        if source not in ("PUBLISHER", "PROVIDED") or (source == "PROVIDED") != bool(definition.time_zone):
            raise invalid("the time zone of the report")

    def do_CreateReport(self, request):
        self.check_report(request.report)
        request.report.name = f"{NETWORK}/reports/{self.next_id()}"
        self.lists["reports"][request.report.name] = request.report
        return request.report

    def do_UpdateReport(self, request):
        self.check_report(request.report)
        assert list(request.update_mask.paths) == ["report_definition"], request.update_mask
        report = self.one("reports", request.report.name)
        report.report_definition = request.report.report_definition
        return report

    def do_RunReport(self, request):
        self.one("reports", request.name)
        name = f"{NETWORK}/operations/reports/runs/{self.next_id()}"
        self.runs[name] = {"report": request.name, "looks": 0}
        return operations_pb2.Operation(name=name)

    def do_FetchReportResultRows(self, request):
        start = int(request.page_token or 0)
        answer = admanager.FetchReportResultRowsResponse(
            rows=self.rows[start:start + 2], total_row_count=len(self.rows))
        if start + 2 < len(self.rows):
            answer.next_page_token = str(start + 2)
        return answer

    def operation(self, name):
        run = self.runs.get(name)
        if run is None:
            raise Refusal(404, "NOT_FOUND", "there is no such operation")
        run["looks"] += 1
        answer = operations_pb2.Operation(name=name)
        if run["looks"] > 1:
            answer.done = True
            result = admanager.RunReportResponse(report_result=f"{run['report']}/results/1")
            answer.response.Pack(admanager.RunReportResponse.pb(result))
        return json_format.MessageToJson(answer)

    def row(self, day, line_item, impressions, clicks, revenue):
        """Adds a row of the report: date, line item; impressions, clicks, completed views, revenue."""
        value = admanager.ReportValue
        metrics = [value(int_value=impressions), value(int_value=clicks), value(int_value=0),
                   value(double_value=revenue)]
        groups = [admanager.ReportDataTable.MetricValueGroup(primary_values=metrics)]
        dimensions = [value(int_value=day), value(int_value=line_item)]
        self.rows.append(admanager.ReportDataTable.Row(dimension_values=dimensions, metric_value_groups=groups))

    # SOAP

    def soap(self, service, body):
        root = ElementTree.fromstring(body)
        header = root.find(f"{{{ENVELOPE}}}Header/{{{NAMESPACE}}}RequestHeader")
        assert [local(child.tag) for child in header] == ["networkCode", "applicationName"], header
        assert header[0].text == "12345" and header[1].text, header
        call = root.find(f"{{{ENVELOPE}}}Body")[0]
        assert call.tag.startswith(f"{{{NAMESPACE}}}"), call.tag
        name = local(call.tag)
        self.seen.append({"verb": "SOAP", "path": f"{service}.{name}", "body": plain(call), "query": {}})
        try:
            google_soap_fields.judge(call, name, INSTANCE, local)
        except (ValueError, KeyError) as problem:
            raise Refusal(500, "", f"Unmarshalling Error: {problem}", ["CommonError.UNKNOWN"]) from problem
        answer = getattr(self, f"soap_{name}")(call)
        return (
            f"<?xml version='1.0' encoding='UTF-8'?><soap:Envelope xmlns:soap='{ENVELOPE}'><soap:Body>"
            f"<{name}Response xmlns='{NAMESPACE}'>{answer}</{name}Response></soap:Body></soap:Envelope>"
        )

    def soap_createCreatives(self, call):
        made = plain(call)["creatives"]
        number = self.next_id()
        size = admanager.Size(width=int(made["size"]["width"]), height=int(made["size"]["height"]),
                              size_type=admanager.SizeTypeEnum.SizeType.PIXEL)
        name = f"{NETWORK}/creatives/{number}"
        creative = admanager.Creative(
            name=name, display_name=made["name"], advertiser=f"{NETWORK}/companies/{made['advertiserId']}")
        if hasattr(creative, "size"):
            creative.size = size
        self.lists["creatives"][name] = creative
        return f"<rval><id>{number}</id><name>{escape(made['name'])}</name></rval>"

    def soap_createLineItemCreativeAssociations(self, call):
        made = plain(call)["lineItemCreativeAssociations"]
        item = self.one("lineItems", f"{NETWORK}/lineItems/{made['lineItemId']}")
        creative = self.one("creatives", f"{NETWORK}/creatives/{made['creativeId']}")
        if (item.name, creative.name) in self.associations:
            raise Refusal(500, "", "it is there", ["CommonError.ALREADY_EXISTS"])
        status = admanager.LineItemCreativeAssociationStatusEnum.LineItemCreativeAssociationStatus.ACTIVE
        self.associations[item.name, creative.name] = admanager.LineItemCreativeAssociation(
            name=f"{item.name}/creatives/{made['creativeId']}", line_item=item.name, creative=creative.name,
            status=status)
        return f"<rval><lineItemId>{made['lineItemId']}</lineItemId></rval>"

    def soap_performLineItemCreativeAssociationAction(self, call):
        kind = call[0].get(f"{{{INSTANCE}}}type")
        query = call[1][0].text
        found = re.fullmatch(r"WHERE lineItemId = (\d+) AND creativeId = (\d+)", query)
        key = f"{NETWORK}/lineItems/{found[1]}", f"{NETWORK}/creatives/{found[2]}"
        status = admanager.LineItemCreativeAssociationStatusEnum.LineItemCreativeAssociationStatus
        is_active = kind == "ActivateLineItemCreativeAssociations"
        self.associations[key].status = status.ACTIVE if is_active else status.INACTIVE
        return "<rval><numChanges>1</numChanges></rval>"

    def soap_getAvailabilityForecast(self, call):
        item = plain(call)["lineItem"]["lineItem"]
        if self.not_forecast:
            self.not_forecast -= 1
            raise Refusal(500, "", "[ForecastError.NO_FORECAST_YET @ ]", ["ForecastError.NO_FORECAST_YET"])
        times = []
        for name in ("startDateTime", "endDateTime"):
            time = item[name]
            assert time["timeZoneId"] == TIME_ZONE, time
            parts = [int(time["date"][part]) for part in ("year", "month", "day")]
            parts += [int(time[part]) for part in ("hour", "minute", "second")]
            local_time = datetime(*parts, tzinfo=ZoneInfo(TIME_ZONE))
            times.append(local_time.astimezone(timezone.utc).isoformat())
        self.forecasts.append(times)
        return "<rval><availableUnits>400000</availableUnits><matchedUnits>900000</matchedUnits></rval>"


def json_name(name):
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def local(tag):
    return tag.rsplit("}", 1)[1]


def plain(element):
    """Returns an element as a dict; an element without elements as its text."""
    if not len(element):
        return element.text
    found = {}
    for child in element:
        name = local(child.tag)
        value = plain(child)
        found[name] = value if name not in found else [found[name], value]
    return found
