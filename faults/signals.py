"""Signals."""

import os
import signal
import threading

from harness import eventually


def name_of(server):
    return server.ask().receipt["name"]


def hangup(bench):
    """SIGHUP: what is safe is read again, nothing ends, and a mistake changes nothing."""
    server = bench.start()
    config = os.path.join(bench.work, "tradepost.toml")
    with open(config, encoding="utf-8") as file:
        text = file.read()

    def write(changed):
        with open(config, "w", encoding="utf-8") as file:
            file.write(changed)
        server.signal(signal.SIGHUP)

    bench.check("it has its name", name_of(server) == "Bare Motors")
    write(text.replace('"Bare Motors"', '"Dressed Motors"').replace("[server]", "[server]\nmax_connections = 7"))
    bench.check("the new name is taken", eventually(lambda: name_of(server) == "Dressed Motors"))
    bench.check("the log says what waits", eventually(lambda: "server.max_connections" in server.log()))
    write("[server]\nlisten = 1\n")
    stays = "the configuration stays as it was"
    bench.check("a mistake changes nothing", eventually(lambda: stays in server.log()))
    for _ in range(50):
        server.signal(signal.SIGHUP)
    bench.check("a lead is taken among fifty of them", server.lead("one").error is None)
    bench.check("the name is still there", name_of(server) == "Dressed Motors")
    bench.check("it ends well", server.stop() == 0)


def stopped(bench):
    """SIGTERM: requests that have begun are answered."""
    server = bench.start()
    outcomes = []

    def buy(number):
        count = 0
        while True:
            try:
                outcomes.append(server.lead(f"k-{number}-{count}").receipt["lead_id"])
            except (ConnectionRefusedError, ConnectionResetError):
                return
            count += 1

    buyers = [threading.Thread(target=buy, args=(number,)) for number in range(4)]
    for buyer in buyers:
        buyer.start()
    eventually(lambda: len(outcomes) > 20)
    bench.check("it ends well", server.stop() == 0)
    for buyer in buyers:
        buyer.join()
    missing = set(outcomes) ^ set(bench.stored())
    bench.check(f"{len(outcomes)} leads were answered, and these are stored", not missing, missing)
