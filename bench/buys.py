#!/usr/bin/env python3
"""Gives the buyers of a publisher many times what they have: what making it over the wire would leave, without
doing it a hundred thousand times. Media buys with their creatives, property lists and tasks are copied under ids of
their own.

    bench/buys.py DATA TIMES

Nobody may use the folder meanwhile. What things are found and counted by is copied with them.
"""

import json
import os
import sqlite3
import sys

COPIED = ("media_buy", "creative", "property_list", "task")


def names(kind, thing_id, body):
    """The ids in a body that a copy has of its own."""
    if kind == "media_buy":
        packages = body["packages"]
        assigned = [one for package in packages for one in package.get("creative_assignments", [])]
        return [thing_id, *(one["package_id"] for one in packages), *(one["creative_id"] for one in assigned)]
    if kind == "property_list":
        return [thing_id]
    return [body[f"{kind}_id"]]


def main():
    data, times = sys.argv[1], int(sys.argv[2])
    database = sqlite3.connect(os.path.join(data, "tradepost.sqlite"), isolation_level=None)
    database.execute("PRAGMA synchronous = off")
    database.execute("PRAGMA cache_size = -262144")
    columns = [row[1] for row in database.execute("PRAGMA table_info(publisher_things)")]
    columns.remove("place")
    database.execute("BEGIN")
    marks = ", ".join("?" for _ in columns)
    sql = f"INSERT INTO publisher_things ({', '.join(columns)}) VALUES ({marks}) RETURNING place"
    things = database.execute(
        f"SELECT place, {', '.join(columns)} FROM publisher_things WHERE kind IN {COPIED} ORDER BY place"
    ).fetchall()
    terms = {}
    for publisher, kind, field, value, owner, thing in database.execute(
        "SELECT publisher, kind, field, value, owner, thing FROM publisher_terms"
    ):
        terms.setdefault(thing, []).append((publisher, kind, field, value, owner))
    for copy in range(1, times):
        for place, *values in things:
            thing = dict(zip(columns, values))
            body = thing["body"]
            own = set(names(thing["kind"], thing["id"], json.loads(body)))
            for name in own:
                body = body.replace(f'"{name}"', f'"{name}x{copy}"')
            # A microsecond later, each: what is bought one by one is not created at the same moment.
            thing.update(id=f"{thing['id']}x{copy}", body=body, created_at=thing["created_at"] + copy)
            new = database.execute(sql, [thing[column] for column in columns]).fetchone()[0]
            for publisher, kind, field, value, owner in terms.get(place, []):
                value = f"{value}x{copy}" if value in own else value
                database.execute(
                    "INSERT INTO publisher_terms (publisher, kind, field, value, owner, thing) VALUES (?, ?, ?, ?, ?, ?)",
                    (publisher, kind, field, value, owner, new),
                )
    database.execute("DELETE FROM publisher_counts")
    database.execute(
        "INSERT INTO publisher_counts SELECT publisher, kind, owner, coalesce(account, ''), state, class, count(*) "
        "FROM publisher_things GROUP BY 1, 2, 3, 4, 5, 6"
    )
    database.execute("COMMIT")
    count = "SELECT count(*) FROM publisher_things WHERE kind = 'media_buy'"
    print(database.execute(count).fetchone()[0], "media buys", file=sys.stderr)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


if __name__ == "__main__":
    main()
