"""Google Ad Manager: our adapter against the stand-in, and Google's own client on what the adapter has made.

    python google_ad_manager.py DRIVE

DRIVE is the example `drive` of the crate tradepost-ad-server; Python has the packages of google-requirements.txt. The last
line is `N passed, N failed`.
"""

import json
import subprocess
import sys
import traceback
import urllib.error
import urllib.request
from datetime import datetime, timedelta, timezone

import google.ads.admanager_v1 as admanager
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth.credentials import AnonymousCredentials

from google_stand_in import NETWORK, GoogleStandIn

PASSED = []
FAILED = []


def check(name, work):
    """Runs a check and tells what it came to."""
    try:
        result = work()
    except Exception:  # noqa: BLE001 - whatever goes wrong is a check that has failed
        FAILED.append(name)
        print(f"FAIL  google: {name}")
        traceback.print_exc(file=sys.stdout)
        return None
    PASSED.append(name)
    print(f"ok    google: {name}")
    return result


class Driver:
    """A running adapter."""

    def __init__(self, program, url, credential, **options):
        options = {"network": "12345", "advertiser": "77", "trafficker": "55",
                   "soap-url": f"{url}/apis/ads/publisher/v202511", "timezone": "America/New_York", **options}
        named = [part for name, value in options.items() for part in (f"--{name}", value)]
        command = [program, "google_ad_manager", url, "--credential", credential, *named]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def call(self, call, **members):
        self.process.stdin.write(json.dumps({"call": call, **members}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def ok(self, call, **members):
        answer = self.call(call, **members)
        assert "ok" in answer, f"{call}: {answer}"
        return answer["ok"]

    def fails(self, call, error, **members):
        answer = self.call(call, **members)
        detail = answer.pop("detail", None)
        assert answer == error, f"{call}: {answer} {detail}"
        return detail

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


def order(**changes):
    return {"external_id": "mb_7f3a", "name": "Acme, spring", "advertiser": None, "advertiser_name": "Acme",
            "budget": 25000.5, "currency": "USD", "start_time": "2036-12-01T05:00:00Z",
            "end_time": "2036-12-31T05:00:00Z", **changes}


def line_item(**changes):
    return {"external_id": "mb_7f3a/pk_1", "name": "Acme, spring, display", "package_id": "pk_1",
            "inventory": [f"ad_unit/{AD_UNIT}", f"placement/{PLACEMENT}"], "is_guaranteed": True, "pricing": "cpm", "rate": 35.25,
            "currency": "USD", "budget": 17500.25, "goal": {"unit": "impressions", "amount": 500007},
            "start_time": "2036-12-01T05:00:00Z", "end_time": "2036-12-31T05:00:00Z", "targeting": {},
            "sizes": [{"width": 300, "height": 250}], "is_paused": False, **changes}


def creative(**changes):
    return {"external_id": "cr_1@1", "name": "Shoe", "advertiser": None, "format_id": "display_300x250",
            "size": {"width": 300, "height": 250},
            "content": {"kind": "image", "url": "https://assets.example/shoe.png?a=1&b=2"},
            "click_url": "https://acme.example/shoes?a=1&b=<2>", **changes}


private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
pem = private.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
public = private.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
stand_in = GoogleStandIn(public)
credential = json.dumps({
    "type": "service_account", "client_email": "robot@project.example", "private_key_id": "k1", "private_key": pem,
    "token_uri": f"{stand_in.url}/token",
})
AD_UNIT = 901
PLACEMENT = 902
active = admanager.AdUnitStatusEnum.AdUnitStatus
for number, name, status in ((AD_UNIT, "Front page", active.ACTIVE), (903, "Gone", active.ARCHIVED), (904, "Sport", active.ACTIVE)):
    stand_in.add("adUnits", admanager.AdUnit, name=f"{NETWORK}/adUnits/{number}", display_name=name, status=status)
stand_in.add("placements", admanager.Placement, name=f"{NETWORK}/placements/{PLACEMENT}", display_name="Everywhere",
             status=admanager.PlacementStatusEnum.PlacementStatus.ACTIVE)


def geo(number, name, kind, region, parent=None, targetable=True):
    canonical = f"{NETWORK}/geoTargets/{parent}" if parent else None
    stand_in.add("geoTargets", admanager.GeoTarget, name=f"{NETWORK}/geoTargets/{number}", display_name=name,
                 type_=kind, region_code=region, canonical_parent=canonical, targetable=targetable)


geo(2840, "United States", "Country", "US")
geo(2124, "Canada", "Country", "CA")
geo(2408, "North Korea", "Country", "KP", targetable=False)
geo(21167, "New York", "State", "US", 2840)
geo(1023191, "New York", "City", "US", 21167)
geo(21137, "California", "State", "US", 2840)
geo(200501, "New York, NY", "DMA Region", "US", 2840)
geo(200999, "Nowhere", "City", "US", 2840)

program = sys.argv[1]
driver = Driver(program, stand_in.url, credential)


def last(verb, ending):
    return next(one for one in reversed(stand_in.seen) if one["verb"] == verb and one["path"].endswith(ending))


def connection():
    assert driver.ok("check") == "test network Gazette (USD, America/New_York)"


check("the connection is checked, with one token for all requests", connection)


def inventory():
    found = [f"{item['id']} {item['name']}" for item in driver.ok("inventory")]
    assert found == [f"ad_unit/{AD_UNIT} Front page", "ad_unit/904 Sport", f"placement/{PLACEMENT} Everywhere"], found


check("ad units and placements are listed as products name them", inventory)

TARGETING = {
    "geo_countries": ["US"],
    "geo_regions": ["US-NY", "US-CA"],
    "geo_metros_exclude": [{"system": "nielsen_dma", "values": ["501"]}],
    "frequency_cap": {"max_impressions": 4, "per": "individuals", "window": {"interval": 1, "unit": "days"}},
}


def validation():
    items = [
        line_item(pricing="vcpm", is_guaranteed=False, targeting={"geo_postal_areas": [], "geo_countries": ["KP"]}),
        line_item(package_id="pk_2", inventory=["site/1"], sizes=[], currency="EUR",
                  targeting={"geo_regions": ["US-XX"], "daypart_targets": []}),
        line_item(package_id="pk_3", targeting={"geo_metros": [{"system": "nielsen_dma", "values": ["501", "999", "5"]}]}),
        line_item(package_id="pk_4", pricing="flat_rate", goal=None, is_guaranteed=False,
                  targeting={"geo_countries": ["US"], "geo_countries_exclude": ["US"]}),
    ]
    problems = driver.ok("validate", order=order(), line_items=items)
    found = [f"{one['package_id']} {one['field']}: {one['message']}" for one in problems]
    assert found == [
        "pk_1 targeting_overlay.geo_postal_areas: The ad server cannot apply this targeting.",
        "pk_1 budget: The ad server bills viewable impressions and completed views of guaranteed products.",
        "pk_1 targeting_overlay.geo_countries: The ad server cannot target KP.",
        "pk_2 pricing_option_id: The ad server bills an order in one currency.",
        "pk_2 targeting_overlay.daypart_targets: The ad server cannot apply this targeting.",
        "pk_2 product_id: The ad server needs the sizes of the product's formats.",
        "pk_2 product_id: The inventory is named as ad_unit/ID or placement/ID.",
        "pk_2 pricing_option_id: The ad server bills in USD.",
        "pk_2 targeting_overlay.geo_regions: The ad server cannot target US-XX.",
        "pk_3 targeting_overlay.geo_metros: The ad server cannot target 999.",
        "pk_3 targeting_overlay.geo_metros: The ad server cannot target 5.",
        "pk_4 budget: The ad server has flat rates of guaranteed products.",
        "pk_4 targeting_overlay.geo_countries_exclude: A place is both targeted and excluded.",
    ], "\n".join(found)
    assert driver.ok("validate", order=order(), line_items=[line_item(targeting=TARGETING)]) == []


check("every problem of every package is found at once, places that Google does not have among them", validation)


def orders():
    made = driver.ok("create_order", order=order())
    assert driver.ok("create_order", order=order())["id"] == made["id"]
    assert (made["state"], made["external_id"]) == ("draft", "mb_7f3a"), made
    assert last("POST", "orders:batchCreate")["body"] == {"requests": [{"parent": NETWORK, "order": {
        "displayName": "Acme, spring [mb_7f3a]",
        "advertiser": f"{NETWORK}/companies/77",
        "trafficker": f"{NETWORK}/users/55",
    }}]}
    assert len(stand_in.lists["orders"]) == 1
    assert driver.ok("find_order", id="mb_7f3a")["id"] == made["id"]
    assert driver.ok("find_order", id="mb_7f3") is None
    return made["id"]


ORDER = check("an order is a draft, and is made once", orders)


def line_items():
    item = line_item(targeting=TARGETING)
    made = driver.ok("create_line_item", order=ORDER, line_item=item)
    assert driver.ok("create_line_item", order=ORDER, line_item=item)["id"] == made["id"]
    assert last("POST", "lineItems")["body"] == {
        "displayName": "Acme, spring, display [mb_7f3a/pk_1]",
        "startTime": "2036-12-01T05:00:00Z",
        "targetEndTime": "2036-12-31T05:00:00Z",
        "rate": {"currencyCode": "USD", "units": "35", "nanos": 250000000},
        "goal": {"goalType": "LIFETIME", "unitType": "IMPRESSIONS", "units": "500007"},
        "creativePlaceholders": [
            {"size": {"width": 300, "height": 250, "sizeType": "PIXEL"}, "expectedCreativeCount": 1}],
        "frequencyCaps": [{"maxImpressions": "4", "timeAmount": "1", "timeUnit": "DAY"}],
        "targeting": {
            "inventoryTargeting": {
                "targetedAdUnits": [{"adUnit": f"{NETWORK}/adUnits/{AD_UNIT}", "includeDescendants": True}],
                "targetedPlacements": [f"{NETWORK}/placements/{PLACEMENT}"],
            },
            "geoTargeting": {
                "targetedGeos": [f"{NETWORK}/geoTargets/21167", f"{NETWORK}/geoTargets/21137"],
                "excludedGeos": [f"{NETWORK}/geoTargets/200501"],
            },
        },
        "order": f"{NETWORK}/orders/{ORDER}",
        "externalLineItemId": "mb_7f3a/pk_1",
        "lineItemType": "STANDARD",
        "costType": "CPM",
        "creativeRotationType": "EVENLY",
        "allowOverbook": False,
        "skipInventoryCheck": False,
    }, json.dumps(last("POST", "lineItems")["body"], indent=1)
    listed = driver.ok("line_items", order=ORDER)
    assert [(one["id"], one["external_id"], one["state"]) for one in listed] == [
        (made["id"], "mb_7f3a/pk_1", "draft")], listed
    return made["id"]


ITEM = check("a line item has type, goal, price and places of what was sold, and is made once", line_items)


def kinds():
    flat = driver.ok("create_order", order=order(external_id="mb_kinds"))["id"]
    specs = {
        "pk_a": {"pricing": "cpm", "is_guaranteed": False},
        "pk_b": {"pricing": "cpc", "goal": {"unit": "clicks", "amount": 40}},
        "pk_c": {"pricing": "vcpm", "goal": {"unit": "viewable_impressions", "amount": 7}},
        "pk_d": {"pricing": "cpcv", "goal": {"unit": "completed_views", "amount": 7}},
        # Thirty days in New York, the last of which ends at midnight.
        "pk_e": {"pricing": "flat_rate", "goal": None, "rate": 1000},
    }
    found = []
    for package, changes in specs.items():
        item = line_item(external_id=f"mb_kinds/{package}", package_id=package, **changes)
        driver.ok("create_line_item", order=flat, line_item=item)
        body = last("POST", "lineItems")["body"]
        goal, rate = body["goal"], body["rate"]
        found.append(f"{body['lineItemType']} {body['costType']} {goal['goalType']} {goal['units']} {goal['unitType']} "
                     f"at {rate['units']}.{rate['nanos']:09}")
    assert found == [
        "PRICE_PRIORITY CPM LIFETIME 500007 IMPRESSIONS at 35.250000000",
        "STANDARD CPC LIFETIME 40 CLICKS at 35.250000000",
        "STANDARD VCPM LIFETIME 7 VIEWABLE_IMPRESSIONS at 35.250000000",
        "STANDARD CPCV LIFETIME 7 COMPLETED_VIEWS at 35.250000000",
        "SPONSORSHIP CPD DAILY 100 IMPRESSIONS at 33.333333000",
    ], "\n".join(found)


check("the type of a line item follows from what was sold", kinds)


def creatives():
    made = driver.ok("create_creative", creative=creative())
    assert driver.ok("create_creative", creative=creative())["id"] == made["id"]
    assert last("SOAP", "createCreatives")["body"] == {"creatives": {
        "advertiserId": "77",
        "name": "Shoe [cr_1@1]",
        "size": {"width": "300", "height": "250", "isAspectRatio": "false"},
        "destinationUrl": "https://acme.example/shoes?a=1&b=<2>",
        "destinationUrlType": "CLICK_TO_WEB",
        "imageUrl": "https://assets.example/shoe.png?a=1&b=2",
    }}, last("SOAP", "createCreatives")["body"]
    assert driver.ok("find_creative", id="cr_1@1")["id"] == made["id"]
    assert driver.ok("find_creative", id="cr_1@11") is None
    markup = "<script>if (a < b && c) { go(\"x\"); }</script>\u0001]]>"
    driver.ok("create_creative", creative=creative(
        external_id="cr_2@1", content={"kind": "markup", "markup": markup}, click_url=None))
    assert last("SOAP", "createCreatives")["body"]["creatives"] == {
        "advertiserId": "77",
        "name": "Shoe [cr_2@1]",
        "size": {"width": "300", "height": "250", "isAspectRatio": "false"},
        "snippet": markup.replace("\u0001", ""),
        "isSafeFrameCompatible": "true",
    }
    return made["id"]


CREATIVE = check("creatives are made by SOAP, once, and the click address is not the asset's", creatives)


def refused_creatives():
    before = len(stand_in.seen)
    vast = creative(content={"kind": "vast", "url": "https://assets.example/vast.xml"})
    driver.fails("create_creative", {"error": "Refused", "reason": "Unsupported"}, creative=vast)
    driver.fails("create_creative", {"error": "Refused", "reason": "Invalid"}, creative=creative(click_url=None))
    driver.fails("create_creative", {"error": "Refused", "reason": "Invalid"}, creative=creative(size=None))
    assert len(stand_in.seen) == before


check("what cannot be shown is refused before anything is sent", refused_creatives)


def association():
    members = {"order": ORDER, "line_item": ITEM, "creative": CREATIVE}
    calls = lambda: [one["path"] for one in stand_in.seen if one["verb"] == "SOAP" and "Association" in one["path"]]
    driver.ok("associate_creative", **members)
    driver.ok("associate_creative", **members)
    assert len(calls()) == 1, calls()
    driver.ok("dissociate_creative", **members)
    driver.ok("dissociate_creative", **members)
    assert len(calls()) == 2, calls()
    driver.ok("associate_creative", **members)
    assert [path.rsplit(".", 1)[1] for path in calls()] == [
        "createLineItemCreativeAssociations",
        "performLineItemCreativeAssociationAction",
        "performLineItemCreativeAssociationAction",
    ], calls()
    assert len(stand_in.associations) == 1


check("an association is made once, ends, and begins again", association)


def approval():
    stand_in.may_approve = False
    detail = driver.fails("change_order_state", {"error": "Refused", "reason": "Permission"}, order=ORDER, change="approve")
    assert detail == "PERMISSION_DENIED: The user may not approve orders", detail
    stand_in.may_approve = True
    stand_in.not_forecast = 1
    driver.fails("change_order_state", {"error": "NotYet", "seconds": None}, order=ORDER, change="approve")
    assert driver.ok("order_state", order=ORDER) == "draft"
    states = [driver.ok("change_order_state", order=ORDER, change=change)
              for change in ("approve", "approve", "pause", "pause", "approve", "resume", "resume")]
    assert states == ["delivering", "delivering", "paused", "paused", "paused", "delivering", "delivering"], states
    assert all("Overbook" not in one["path"] for one in stand_in.seen)


check("approval without the right, without a forecast, and with both", approval)


def line_item_states():
    change = lambda name: driver.ok("change_line_item_state", order=ORDER, line_item=ITEM, change=name)
    before = stand_in.lists["lineItems"][f"{NETWORK}/lineItems/{ITEM}"]
    assert [change(name) for name in ("pause", "pause", "resume", "approve")] == [
        "paused", "paused", "delivering", "delivering"]
    assert before.display_name == "Acme, spring, display [mb_7f3a/pk_1]"
    added = driver.ok("create_line_item", order=ORDER, line_item=line_item(external_id="mb_7f3a/pk_2", package_id="pk_2"))
    # Nothing delivers before the approval, so that there is nothing to be paused.
    state = driver.ok("change_line_item_state", order=ORDER, line_item=added["id"], change="pause")
    assert state == "draft", state
    state = driver.ok("change_line_item_state", order=ORDER, line_item=added["id"], change="approve")
    # It has no creative yet.
    assert state == "ready", state
    assert driver.ok("change_line_item_state", order=ORDER, line_item=added["id"], change="cancel") == "canceled"
    verbs = [one["path"].rsplit(":", 1)[1] for one in stand_in.seen[-9:] if ":batch" in one["path"]]
    assert verbs == ["batchApprove", "batchPause", "batchArchive"], verbs


check("line items are paused, resumed, approved with their order, and archived", line_item_states)


def inspection():
    view = driver.ok("inspect", order=ORDER)[0]
    assert view == {
        "object": {"id": ITEM, "external_id": "mb_7f3a/pk_1", "state": "delivering"},
        "start_time": "2036-12-01T05:00:00Z", "end_time": "2036-12-31T05:00:00Z", "budget": None,
        "creatives": [CREATIVE],
    }, view


check("what was made is shown with its dates and creatives", inspection)


def change():
    changed = line_item(targeting={"geo_countries": ["US", "CA"], "geo_countries_exclude": ["MX"]}, budget=100,
                        goal={"unit": "impressions", "amount": 2836}, end_time="2036-12-30T05:00:00Z")
    driver.ok("change_line_item", order=ORDER, id=ITEM, line_item=changed)
    sent = last("PATCH", f"lineItems/{ITEM}")
    # The start is the same, and Google takes none in the past.
    assert sent["query"] == {
        "updateMask": "displayName,targetEndTime,rate,goal,creativePlaceholders,frequencyCaps,targeting"}, sent["query"]
    now = stand_in.lists["lineItems"][f"{NETWORK}/lineItems/{ITEM}"]
    assert now.goal.units == 2836 and not now.frequency_caps
    # Google refuses exceptions outside of what is targeted.
    assert list(now.targeting.geo_targeting.targeted_geos) == [f"{NETWORK}/geoTargets/2840", f"{NETWORK}/geoTargets/2124"]
    assert not now.targeting.geo_targeting.excluded_geos
    assert now.external_line_item_id == "mb_7f3a/pk_1"


check("a changed line item loses what is gone, and keeps the rest", change)


def at_once():
    item = line_item(external_id="mb_7f3a/pk_3", package_id="pk_3", start_time="2026-01-01T00:00:00.123Z")
    made = driver.ok("create_line_item", order=ORDER, line_item=item)
    start = datetime.fromisoformat(last("POST", "lineItems")["body"]["startTime"])
    # Google takes no start in the past.
    assert timedelta(0) < start - datetime.now(timezone.utc) < timedelta(minutes=3), start
    driver.ok("change_line_item", order=ORDER, id=made["id"], line_item=item)
    assert "startTime" not in last("PATCH", made["id"])["query"]["updateMask"]
    view = next(one for one in driver.ok("inspect", order=ORDER) if one["object"]["id"] == made["id"])
    assert view["start_time"] is None, view
    driver.ok("change_line_item_state", order=ORDER, line_item=made["id"], change="cancel")


check("what has to start at once starts in two minutes", at_once)


def availability():
    item = line_item(start_time="2036-07-01T04:30:00Z", end_time="2036-12-31T05:00:00Z", targeting=TARGETING)
    stand_in.not_forecast = 1
    driver.fails("availability", {"error": "NotYet", "seconds": None}, line_item=item)
    assert driver.ok("availability", line_item=item) == {"matched": 900000, "available": 400000}
    # Summer and winter in New York.
    assert stand_in.forecasts[-1] == ["2036-07-01T04:30:00+00:00", "2036-12-31T05:00:00+00:00"], stand_in.forecasts
    flat = line_item(pricing="flat_rate", goal=None)
    driver.fails("availability", {"error": "Refused", "reason": "Unsupported"}, line_item=flat)


check("a forecast is asked for in the hours of the network", availability)


def report():
    members = {"order": ORDER, "from": "2036-12-01", "to": "2036-12-02"}
    for day in (20361201, 20361202):
        stand_in.row(day, int(ITEM), 2000, 6, 70.5)
    stand_in.row(20361202, 5, 1, 0, 0)
    driver.fails("delivery", {"error": "NotYet", "seconds": None}, **members)
    row = lambda day, item, impressions, clicks, spend: {
        "line_item": item, "day": day, "impressions": impressions, "clicks": clicks, "completed_views": 0,
        "spend": spend, "is_final": False}
    assert driver.ok("delivery", **members) == [
        row("2036-12-02", "5", 1, 0, 0),
        row("2036-12-01", ITEM, 2000, 6, 70.5), row("2036-12-02", ITEM, 2000, 6, 70.5)]
    assert last("POST", "/reports")["body"] == {
        "displayName": f"Tradepost: delivery of order {ORDER}",
        "visibility": "HIDDEN",
        "reportDefinition": {
            "reportType": "HISTORICAL",
            "dimensions": ["DATE", "LINE_ITEM_ID"],
            "metrics": ["AD_SERVER_IMPRESSIONS", "AD_SERVER_CLICKS", "AD_SERVER_COMPLETED_VIEWS", "AD_SERVER_REVENUE"],
            "filters": [{"fieldFilter": {
                "field": {"dimension": "ORDER_ID"}, "operation": "IN", "values": [{"intValue": ORDER}]}}],
            "timeZoneSource": "PUBLISHER",
            "currencyCode": "USD",
            "dateRange": {"fixed": {
                "startDate": {"year": 2036, "month": 12, "day": 1}, "endDate": {"year": 2036, "month": 12, "day": 2}}},
        },
    }, json.dumps(last("POST", "/reports")["body"], indent=1)
    # A day later: the same report with other days, and a corrected day.
    members["to"] = "2036-12-03"
    stand_in.rows.clear()
    stand_in.row(20361202, int(ITEM), 1500, 5, 52.875)
    driver.fails("delivery", {"error": "NotYet", "seconds": None}, **members)
    assert driver.ok("delivery", **members) == [row("2036-12-02", ITEM, 1500, 5, 52.875)]
    assert len(stand_in.lists["reports"]) == 1


check("a report is made once, run for its days, and read when it is done", report)


def other_zone():
    berlin = Driver(program, stand_in.url, credential, timezone="Europe/Berlin")
    berlin.fails("delivery", {"error": "NotYet", "seconds": None}, order=ORDER, **{"from": "2036-12-01", "to": "2036-12-01"})
    berlin.close()
    definition = last("PATCH", last("POST", ":run")["path"].removesuffix(":run").rsplit("/", 1)[1])["body"]["reportDefinition"]
    assert (definition["timeZoneSource"], definition["timeZone"]) == ("PROVIDED", "Europe/Berlin"), definition


check("a report has the days of the publisher's time zone", other_zone)


def faults():
    one = order(external_id="mb_lost")
    stand_in.faults.append({"path": "orders:batchCreate", "code": 503, "acts": True})
    driver.fails("create_order", {"error": "Unanswered"}, order=one)
    found = driver.ok("find_order", id="mb_lost")
    assert driver.ok("create_order", order=one)["id"] == found["id"]
    named = [thing for thing in stand_in.lists["orders"].values() if thing.display_name.endswith("[mb_lost]")]
    assert len(named) == 1, named
    stand_in.faults.append({"path": "CreativeService", "code": 500, "acts": True})
    lost = creative(external_id="cr_lost@1")
    driver.fails("create_creative", {"error": "Unanswered"}, creative=lost)
    assert driver.ok("create_creative", creative=lost)["id"] == driver.ok("find_creative", id="cr_lost@1")["id"]
    stand_in.faults.append({"path": "orders:batchCreate", "code": 429, "status": "RESOURCE_EXHAUSTED", "retry_after": 7})
    driver.fails("create_order", {"error": "NotYet", "seconds": 7}, order=order(external_id="mb_busy"))
    stand_in.faults.append({"path": "orders:batchCreate", "code": 200, "acts": True, "body": "<html>"})
    driver.fails("create_order", {"error": "Garbled"}, order=order(external_id="mb_page"))
    driver.fails("order_state", {"error": "Refused", "reason": "Missing"}, order="99999")
    # A token that ended early is made anew, and the request that met it did nothing.
    stand_in.valid_tokens.clear()
    driver.fails("order_state", {"error": "NotYet", "seconds": None}, order=ORDER)
    assert driver.ok("order_state", order=ORDER) == "delivering"


check("500 and did it, 429, nonsense, gone, and a token that ended", faults)


def another_key():
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    text = other.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
    wrong = Driver(program, stand_in.url, json.dumps({**json.loads(credential), "private_key": text}))
    before = len(stand_in.seen)
    detail = wrong.fails("check", {"error": "Refused", "reason": "Credential"})
    wrong.close()
    assert detail == "no token for the service account: Invalid JWT Signature.", detail
    assert len(stand_in.seen) == before


check("nothing is sent with a key that is not the account's", another_key)


def googles_client():
    options = {"host": stand_in.url.removeprefix("http://"), "credentials": AnonymousCredentials(), "url_scheme": "http"}
    from google.ads.admanager_v1.services.line_item_creative_association_service import transports as associations
    from google.ads.admanager_v1.services.line_item_service import transports as items
    from google.ads.admanager_v1.services.order_service import transports as orders
    from google.ads.admanager_v1.services.report_service import transports as reports

    client = admanager.OrderServiceClient(transport=orders.OrderServiceRestTransport(**options))
    found = list(client.list_orders(request={"parent": NETWORK, "filter": 'displayName = "*[mb_7f3a]"'}))
    assert [one.display_name for one in found] == ["Acme, spring [mb_7f3a]"], found
    assert client.get_order(name=found[0].name).status == admanager.OrderStatusEnum.OrderStatus.APPROVED
    client = admanager.LineItemServiceClient(transport=items.LineItemServiceRestTransport(**options))
    listed = list(client.list_line_items(request={"parent": NETWORK, "filter": f'order = "{found[0].name}"'}))
    assert [(one.external_line_item_id, one.archived) for one in listed] == [("mb_7f3a/pk_1", False), ("mb_7f3a/pk_2", True), ("mb_7f3a/pk_3", True)]
    assert listed[0].line_item_type == admanager.LineItemTypeEnum.LineItemType.STANDARD
    transport = associations.LineItemCreativeAssociationServiceRestTransport(**options)
    client = admanager.LineItemCreativeAssociationServiceClient(transport=transport)
    shown = list(client.list_line_item_creative_associations(parent=listed[0].name))
    assert [one.creative for one in shown] == [f"{NETWORK}/creatives/{CREATIVE}"], shown
    client = admanager.ReportServiceClient(transport=reports.ReportServiceRestTransport(**options))
    made = list(client.list_reports(parent=NETWORK))
    assert [one.display_name for one in made] == [f"Tradepost: delivery of order {ORDER}"], made
    stand_in.rows.clear()
    stand_in.row(20361201, int(ITEM), 3, 1, 0.5)
    stand_in.row(20361202, int(ITEM), 4, 1, 0.5)
    stand_in.row(20361203, int(ITEM), 5, 1, 0.5)
    rows = list(client.fetch_report_result_rows(name=f"{made[0].name}/results/1"))
    assert [row.metric_value_groups[0].primary_values[0].int_value for row in rows] == [3, 4, 5]


check("Google's own client reads orders, line items, states, associations and reports", googles_client)


def cancel():
    states = [driver.ok("change_order_state", order=ORDER, change="cancel") for _ in range(2)]
    assert states == ["canceled", "canceled"], states
    driver.fails("change_order_state", {"error": "Refused", "reason": "Invalid"}, order=ORDER, change="resume")
    draft = driver.ok("find_order", id="mb_kinds")["id"]
    assert driver.ok("change_order_state", order=draft, change="cancel") == "canceled"


check("an order that was canceled is archived, and stays it", cancel)


def long_name():
    made = driver.ok("create_order", order=order(external_id="mb_long", name="ß" * 300))
    name = stand_in.lists["orders"][f"{NETWORK}/orders/{made['id']}"].display_name
    assert name == "ß" * 245 + " [mb_long]", name


check("a name of 300 characters is cut at 255 and keeps our id", long_name)


def again(verb, path, body, query=""):
    data = json.dumps(body).encode()
    request = urllib.request.Request(stand_in.url + path + query, data=data, method=verb)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def judged():
    tried = 0
    for verb, ending, member in (("POST", "orders:batchCreate", "requests"), ("POST", "lineItems", None), ("POST", "/reports", None)):
        sent = last(verb, ending)
        whole = sent["body"]
        inside = whole[member][0]["order"] if member else whole
        required = {"displayName", "advertiser", "trafficker"} if member else (
            {"order", "displayName", "startTime", "lineItemType", "costType", "rate", "creativePlaceholders",
             "creativeRotationType"} if ending == "lineItems" else {"reportDefinition"})
        for name in sorted(required):
            kept = inside.pop(name)
            assert again(verb, sent["path"], whole) == 400, f"{ending} without {name}"
            inside[name] = kept
            tried += 1
        for name, value in (("status", "PAUSED"), ("updateTime", "2036-01-01T00:00:00Z"), ("Budget", 1)):
            inside[name] = value
            assert again(verb, sent["path"], whole) == 400, f"{ending} with {name}"
            del inside[name]
            tried += 1
    assert tried > 15, tried


check("the judge refuses the same bodies without a required member, with one that is output only, or unknown", judged)


def every_request():
    assert len(stand_in.seen) > 150, len(stand_in.seen)
    assert not stand_in.faults


check("every request was one of Google's", every_request)

driver.close()
stand_in.stop()
print(f"{len(PASSED)} passed, {len(FAILED)} failed")
sys.exit(1 if FAILED else 0)
