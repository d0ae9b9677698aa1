#!/usr/bin/env python3
"""Fills a dealer with leads, and asks for the pages of the console.

    bench/console.py send ADDRESS KEY NUMBER            sends leads over the wire
    bench/console.py copy DATA TIMES                    copies them over the past year, under ids of their own
    bench/console.py measure ADDRESS PASSWORD ROUNDS GOAL

`copy` writes what taking the leads would leave; nobody may use the folder meanwhile. Of the copies most have been worked
on, as the leads of a dealer are after a year. The chain of consents of the copies does not verify.
"""

import datetime
import http.client
import json
import os
import re
import sqlite3
import sys
import time
import urllib.parse

YEAR = 365 * 24 * 3600 * 1000
MINUTE = 60 * 1000
AGENTS = ["shopper", "planner", "assistant", "wheels", "concierge", "finder"]
NAMES = ["Ada", "Grace", "Edsger", "Alan", "Barbara", "Donald", "Frances", "Kathleen"]
OWNERS = ["bench", "bench", None]

PAGES = [
    "", "/leads", "/leads?owner=bench", "/leads?q=lovelace+ada", "/leads/LEAD", "/appointments", "/appointments?view=day", "/appointments?view=list", "/inventory", "/inventory?q=blue+suv+under+30k",
    "/inventory?amiss=any", "/inventory/ask?question=blue+suv+under+30k", "/inventory/vehicle?vehicle_id=VEHICLE", "/week",
    "/week?week=WEEK", "/feeds", "/buyers", "/refusals", "/card", "/checklist", "/probe", "/people", "/account", "/audit",
]


def lead(number, granted):
    payload = {
        "type": "lead.submit.request",
        "idempotency_key": f"key-{number}",
        "customer": {
            "first_name": NAMES[number % len(NAMES)], "last_name": "Lovelace",
            "email": f"ada-{number:09}@example.com",
        },
        "consent": {
            "granted_at": granted, "allowed_channels": ["email"], "scope": ["lead_submission"],
            "consent_text": "You may answer me by e-mail about this vehicle.",
        },
        "message": "Is it still there, and can I see it on Saturday?",
        "source_agent": {"name": AGENTS[number % len(AGENTS)]},
    }
    if number % 4 == 0:
        payload["appointment"] = {"appointment_type": "sales"}
    message = {"messageId": f"m-{number}", "role": "ROLE_USER", "parts": [{"data": payload}]}
    return {"jsonrpc": "2.0", "id": number, "method": "SendMessage", "params": {"message": message}}


def send(address, key, count):
    granted = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=1)
    granted = granted.strftime("%Y-%m-%dT%H:%M:%SZ")
    connection = http.client.HTTPConnection(address)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    for number in range(int(count)):
        connection.request("POST", "/a2a", json.dumps(lead(number, granted)), headers)
        answer = connection.getresponse().read().decode()
        if '"status":"received"' not in answer:
            sys.exit(f"a lead was not taken: {answer}")


def rows(database, table):
    cursor = database.execute(f"SELECT * FROM {table}")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor.fetchall()]


def add(database, table, row):
    marks = ", ".join("?" for _ in row)
    database.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def earlier(row, by, *columns):
    """The times of a row, so many milliseconds earlier."""
    return {name: row[name] - by for name in columns if row.get(name) is not None}


def stage_of(place):
    """What has become of a lead: most have been worked on."""
    return ["sold", "lost", "lost", "working", "lost"][place % 5] if place % 50 else None


def copy(data, times):
    times = int(times)
    database = sqlite3.connect(os.path.join(data, "tradepost.sqlite"), isolation_level=None)
    database.execute("PRAGMA synchronous = off")
    database.execute("PRAGMA cache_size = -262144")
    tables = ["lead_submissions", "leads", "appointments", "lead_events", "consent_log", "consent_evidence"]
    kept = {table: rows(database, table) for table in tables}
    highest = {table: max(row["seq"] for row in kept[table]) for table in ["lead_submissions", "lead_events", "consent_log"]}
    arrivals = {row["seq"]: row["received_at"] for row in kept["lead_submissions"]}
    place = 0
    database.execute("BEGIN")
    for number in range(1, times):
        # The oldest copy first, so that numbers grow with the time.
        by = (times - number) * YEAR // times
        again = f"x{number}"
        submissions = number * highest["lead_submissions"]
        for row in kept["lead_submissions"]:
            payload = re.sub(r"(ada-\d{9})@", rf"\1{again}@", row["payload"])
            add(database, "lead_submissions", {
                **row, **earlier(row, by, "received_at"), "seq": row["seq"] + submissions,
                "lead_id": row["lead_id"] + again, "payload": payload})
        for row in kept["appointments"]:
            # Those of the past have got a time, and some were cancelled.
            starts = arrivals[row["submission"]] - by + 24 * 60 * MINUTE
            state = "cancelled" if (row["submission"] + number) % 3 == 0 else "confirmed"
            add(database, "appointments", {
                **row, "state": state, "starts_at": starts, "ends_at": starts + 30 * MINUTE,
                "appointment_id": row["appointment_id"] + again, "submission": row["submission"] + submissions})
        for row in kept["leads"]:
            place += 1
            own = {name: value for name, value in row.items() if name != "seq"}
            moved = earlier(row, by, "received_at", "changed_at")
            stage = stage_of(place)
            add(database, "leads", {
                **own, **moved, "lead_id": row["lead_id"] + again, "person": row["person"] + again,
                "submission": row["submission"] + submissions, "stage": stage or "new",
                "owner": OWNERS[place % len(OWNERS)], "lost_reason": "bought_elsewhere" if stage == "lost" else None,
                "appointment_id": row["appointment_id"] and row["appointment_id"] + again})
            if stage:
                arrived = moved["received_at"]
                add(database, "lead_progress", {
                    "lead_id": row["lead_id"] + again, "dealer_id": row["dealer_id"],
                    "changed_at": arrived + (place % 97) * 10 * MINUTE, "changed_by": "bench",
                    "seen_at": arrived + (place % 37) * MINUTE, "answered_at": arrived + (place % 61) * 2 * MINUTE})
        for row in kept["lead_events"]:
            add(database, "lead_events", {
                **row, **earlier(row, by, "at", "appointment_starts_at", "appointment_ends_at"),
                "seq": row["seq"] + number * highest["lead_events"], "lead_id": row["lead_id"] + again,
                "submission": row["submission"] + submissions,
                "appointment_id": row["appointment_id"] and row["appointment_id"] + again})
        for row in kept["consent_log"]:
            add(database, "consent_log", {
                **row, **earlier(row, by, "at"), "seq": row["seq"] + number * highest["consent_log"],
                "lead_id": row["lead_id"] + again})
        for row in kept["consent_evidence"]:
            add(database, "consent_evidence", {
                **row, **earlier(row, by, "at"), "submission": row["submission"] + submissions,
                "seq": row["seq"] + number * highest["consent_log"]})
    database.execute("COMMIT")
    count = database.execute("SELECT count(*) FROM leads").fetchone()[0]
    print(count, "leads", file=sys.stderr)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class Browser:
    """Somebody who has signed in."""

    def __init__(self, address, password):
        self.connection = http.client.HTTPConnection(address)
        self.cookie = ""
        page = self.get("/sign-in")
        self.cookie = self.answer.getheader("set-cookie").split(";")[0]
        proof = re.search(r'name="proof" value="([^"]*)"', page)[1]
        fields = urllib.parse.urlencode({"proof": proof, "name": "bench", "password": password})
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": self.cookie}
        self.connection.request("POST", "/console/sign-in", fields, headers)
        answer = self.connection.getresponse()
        answer.read()
        if answer.status != 303:
            sys.exit(f"the sign-in was answered with {answer.status}")
        cookies = [value for name, value in answer.getheaders() if name.lower() == "set-cookie"]
        self.cookie = "; ".join(cookie.split(";")[0] for cookie in cookies)

    def get(self, path):
        self.connection.request("GET", f"/console{path}", headers={"Cookie": self.cookie})
        self.answer = self.connection.getresponse()
        return self.answer.read().decode()


def measure(address, password, rounds, goal):
    browser = Browser(address, password)
    lead_id = re.search(r'href="/console/leads/([^"/?]+)"', browser.get("/leads"))[1]
    vehicle = re.search(r'vehicle_id=([^"&]+)"', browser.get("/inventory"))[1]
    year, week, _ = (datetime.date.today() - datetime.timedelta(days=70)).isocalendar()
    named = {"LEAD": lead_id, "VEHICLE": vehicle, "WEEK": f"{year}-W{week:02}"}
    took = {page: [] for page in PAGES}
    size = {}
    # In turns, so that a slow moment of the machine does not fall on one page. The first round fills caches.
    for turn in range(int(rounds) + 1):
        for page in PAGES:
            path = page
            for name, value in named.items():
                path = path.replace(name, value)
            begun = time.perf_counter()
            body = browser.get(path)
            passed = (time.perf_counter() - begun) * 1000
            if browser.answer.status != 200:
                sys.exit(f"{path} was answered with {browser.answer.status}")
            size[page] = len(body.encode())
            if turn:
                took[page].append(passed)
    missed = 0
    for page, times in took.items():
        times.sort()
        median, most = times[(len(times) - 1) // 2], times[(len(times) * 9 + 9) // 10 - 1]
        is_missed = median > float(goal)
        missed += is_missed
        said = "**missed**" if is_missed else ""
        print(f"| `/console{page}` | {median:.1f} | {most:.1f} | {size[page]} | {goal} | {said} |")
    print(f"\n{len(PAGES) - missed} of {len(PAGES)} pages within {goal} ms at the median.")


if __name__ == "__main__":
    {"send": send, "copy": copy, "measure": measure}[sys.argv[1]](*sys.argv[2:])
