"""What happens to the machine's clock."""

import datetime
import email.utils
import glob
import os
import subprocess
import sys

LIBRARY = "/usr/lib/*/faketime/libfaketime.so.1"
INSTEAD = "the test a_clock_set_wrong_for_a_moment_locks_nobody_out turns the clock inside the process"


def set_clock(path, offset):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(offset + "\n")
    os.replace(path + ".new", path)


def ahead_of_the_machine(answer):
    """How far the clock of the server was ahead of the machine's when it answered."""
    headers = {name.lower(): value for name, value in answer.headers.items()}
    shown = email.utils.parsedate_to_datetime(headers["date"])
    return shown - datetime.datetime.now(datetime.timezone.utc)


def jumped(bench):
    """The clock is a day ahead for a moment: nobody is locked out for a day."""
    found = glob.glob(LIBRARY)
    if not found:
        bench.skip("the clock that jumps", f"libfaketime is not installed; {INSTEAD}")
        return
    offset = os.path.join(bench.work, "offset")
    set_clock(offset, "+0")
    faked = {
        "LD_PRELOAD": found[0],
        "FAKETIME_TIMESTAMP_FILE": offset,
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    shown = subprocess.run([sys.executable, "-c", "import time; print(int(time.time()))"],
                           env={**os.environ, **faked}, capture_output=True, check=False)
    if shown.returncode != 0:
        bench.skip("the clock that jumps", "libfaketime does not work here")
        return
    server = bench.start(requests=3_600, environment=faked)
    bench.check("it answers", server.ask().error is None)
    set_clock(offset, "+1d")
    answer = server.request("GET", "/healthz")
    if ahead_of_the_machine(answer) < datetime.timedelta(hours=23):
        bench.skip("the clock that jumps", "LD_PRELOAD with libfaketime does not move the server's clock, "
                   f"as with every static binary; {INSTEAD}")
        return
    bench.check("it answers a day ahead", answer.status == 200 and server.ask().error is None)
    # The whole allowance is used up while the clock is ahead.
    refused = next((a for a in (server.ask() for _ in range(4_000)) if a.error), None)
    bench.check("the limit holds", refused is not None and refused.error == "RATE_LIMITED", refused)
    set_clock(offset, "+0")
    refused = next((a for a in (server.ask() for _ in range(50)) if a.error), None)
    waits = refused is None or refused.wait <= 2
    bench.check("nobody has to wait for a day", waits, refused)
