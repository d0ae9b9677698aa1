#!/usr/bin/env python3
"""Gives every dealer of a data folder the inventory that one has: what importing the same feed into each would
leave, without doing it thousands of times. But listings go on naming FROM as their dealer.

    bench/copies.py DATA FROM PATTERN FIRST LAST      # PATTERN as d{}: each number in the place of the brackets

Rows are copied in the database, and the snapshot, whose name begins with whose it is, beside it. Nobody may use
the folder meanwhile. The dealer with the number FIRST has to have imported the feed by itself: what it has is
compared with what it would be given, and stays.
"""

import hashlib
import os
import shutil
import sqlite3
import sys

# What a listing has whoever imported it, and when. Bodies tell moments, and are packed.
SAME = "vehicle_id, vin, stock, make, model, status, removed_at IS NULL"


def columns(database, table):
    return [row[1] for row in database.execute(f"PRAGMA table_info({table})")]


def main():
    data, source, pattern, first, last = sys.argv[1:]
    numbers = range(int(first), int(last) + 1)
    database = sqlite3.connect(os.path.join(data, "tradepost.sqlite"), isolation_level=None)
    database.execute("PRAGMA synchronous = off")
    database.execute("PRAGMA cache_size = -262144")
    have = lambda dealer: database.execute(
        f"SELECT {SAME} FROM listings WHERE dealer_id = ? ORDER BY vehicle_id", (dealer,)
    ).fetchall()
    size = lambda dealer: database.execute(
        "SELECT sum(length(body)) FROM listings WHERE dealer_id = ?", (dealer,)
    ).fetchone()[0]
    wanted = have(source)
    imported = pattern.replace("{}", first)
    if not wanted or have(imported) != wanted or abs(size(imported) / size(source) - 1) > 0.01:
        sys.exit(f"{imported} has not what {source} has: import the same feed into both first")
    (snapshot,) = database.execute(
        "SELECT snapshot FROM inventories WHERE dealer_id = ? AND snapshot_of = generation", (source,)
    ).fetchone()
    content = snapshot.split("-", 1)[1]
    folder = os.path.join(data, "inventories")
    for number in numbers[1:]:
        dealer = pattern.replace("{}", str(number))
        name = f"{hashlib.sha256(dealer.encode()).digest()[:8].hex()}-{content}"
        shutil.copyfile(os.path.join(folder, snapshot), os.path.join(folder, name))
        database.execute("BEGIN")
        for table in ("inventories", "listings"):
            rest = [column for column in columns(database, table) if column != "dealer_id"]
            values = ["?" if column == "snapshot" else column for column in rest]
            database.execute(
                f"INSERT INTO {table} (dealer_id, {', '.join(rest)})"
                f" SELECT ?, {', '.join(values)} FROM {table} WHERE dealer_id = ?",
                (dealer, *([name] if "snapshot" in rest else []), source),
            )
        database.execute("COMMIT")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    print(f"{len(numbers) - 1} dealers have {len(wanted)} rows each, as {source} and {imported}")


if __name__ == "__main__":
    main()
