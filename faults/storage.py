"""What happens to the data folder."""

import os
import random
import resource
import shutil
import sqlite3
import stat
import subprocess
import threading

from harness import DATABASE, at_once, eventually, lead

LOST = "the database was deleted or replaced; nothing is taken until a restart"


def killed(bench):
    """It is killed while leads are on their way: what was acknowledged is stored, once."""
    acknowledged = {}
    chance = random.Random(1)
    rounds, doubtful = 20, 0
    for number in range(rounds):
        server = bench.start()
        broken = []

        def buy(buyer, number=number, server=server, broken=broken):
            for count in range(1_000):
                key = f"k-{number}-{buyer}-{count}"
                try:
                    acknowledged[key] = server.lead(key).receipt["lead_id"]
                except ConnectionRefusedError:
                    return
                except Exception:  # The connection broke, or half an answer came.
                    broken.append(key)
                    return

        timer = threading.Timer(chance.uniform(0.01, 0.2), server.process.kill)
        timer.start()
        at_once(4, buy)
        timer.join()
        server.kill()
        doubtful += len(broken)
    stored = bench.stored()
    bench.check(f"{rounds} kills met requests on their way", doubtful >= rounds // 2, doubtful)
    missing = set(acknowledged.values()) - set(stored)
    bench.check(f"{len(acknowledged)} acknowledged leads are stored", not missing, missing)
    bench.check("no lead is stored twice", len(stored) == len(set(stored)))


def small_disk(bench):
    """A disk of 8 MiB; None where this machine permits none."""
    disk = bench.folder("disk")
    os.mkdir(disk)
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk]
    mounted = shutil.which("mount") and subprocess.run(mount, capture_output=True, check=False)
    return disk if mounted and mounted.returncode == 0 else None


def fill(server, prefix):
    """Sends leads until one is refused; gives the acknowledged ones and the refusal."""
    acknowledged = []
    for number in range(5_000):
        answer = server.lead(f"{prefix}-{number}", "x" * 2_000)
        if answer.error:
            return acknowledged, answer
        acknowledged.append(answer.receipt["lead_id"])
    return acknowledged, None


def disk_full(bench):
    """The disk is full: leads are refused with a wait and nothing that was acknowledged is lost."""
    disk = small_disk(bench)
    if disk is None:
        limited_file(bench)
        return
    try:
        data = os.path.join(disk, "data")
        server = bench.start("min_free_space = 0", data=data)
        bench.check("it is ready", server.ready().status == 200)
        ballast = os.path.join(disk, "ballast")
        with open(ballast, "wb") as file:
            free = os.statvfs(disk)
            file.write(b"\0" * (free.f_bavail * free.f_frsize - 512 * 1024))
        acknowledged, refused = fill(server, "full")
        bench.check("a lead is refused", refused is not None)
        bench.check("it may be sent again", refused.error == "INTERNAL_ERROR", refused)
        bench.check("it is said when", refused.wait == 5, refused)
        ready = server.ready()
        bench.check("it is not ready", ready.status == 503, ready)
        bench.check("what only reads is answered", server.ask().error is None)
        os.unlink(ballast)
        bench.check("with room it is ready again", eventually(lambda: server.ready().status == 200))
        after = server.lead("after")
        bench.check("and takes leads", after.error is None, after)
        missing = {*acknowledged, after.receipt["lead_id"]} - set(bench.stored(data))
        bench.check(f"{len(acknowledged) + 1} acknowledged leads are stored", not missing, missing)
        server.kill()
    finally:
        for server in bench.servers:
            server.kill()
        subprocess.run(["umount", disk], capture_output=True, check=False)


def limited_file(bench):
    """Without a disk of its own: files that may not grow."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * 1024, 1024 * 1024))

    # Python ignores SIGXFSZ, and so does what it starts.
    server = bench.start("min_free_space = 0", preexec_fn=limit, restore_signals=False)
    acknowledged, refused = fill(server, "full")
    bench.check("a lead is refused", refused is not None)
    bench.check("it may be sent again", refused.error == "INTERNAL_ERROR", refused)
    bench.check("it is said when", refused.wait == 5, refused)
    bench.check("it is not ready", server.ready().status == 503)
    bench.check("what only reads is answered", server.ask().error is None)
    server.kill()
    server = bench.start()
    bench.check("with room it takes leads", server.lead("after").error is None)
    missing = set(acknowledged) - set(bench.stored())
    bench.check(f"{len(acknowledged)} acknowledged leads are stored", not missing, missing)


# Between a program and its files: while there is a file of that name, the database cannot be written.
READ_ONLY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_refused(int file) {
    const char *flag = getenv("READ_ONLY_WHILE");
    if (!flag || access(flag, F_OK) != 0) return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    if (!strstr(path, "/tradepost.sqlite")) return 0;
    errno = EROFS;
    return 1;
}

#define GUARD(result, name, declared, passed)                                                  \
    result name declared {                                                                     \
        static result (*real) declared;                                                        \
        if (!real) real = (result(*) declared)dlsym(RTLD_NEXT, #name);                          \
        return is_refused(file) ? -1 : real passed;                                             \
    }

GUARD(ssize_t, write, (int file, const void *bytes, size_t size), (file, bytes, size))
GUARD(ssize_t, pwrite, (int file, const void *bytes, size_t size, off_t at), (file, bytes, size, at))
GUARD(ssize_t, pwrite64, (int file, const void *bytes, size_t size, off64_t at), (file, bytes, size, at))
GUARD(int, ftruncate, (int file, off_t size), (file, size))
GUARD(int, ftruncate64, (int file, off64_t size), (file, size))
"""


def read_only(bench):
    """The database can only be read, as on a disk with errors: leads wait, and nothing is half stored."""
    compiler = shutil.which("cc")
    library, flag = os.path.join(bench.work, "readonly.so"), os.path.join(bench.work, "readonly")
    if compiler is None:
        bench.skip("the database that can only be read", "there is no C compiler")
        return
    subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", library, "-ldl"],
                   input=READ_ONLY, text=True, check=True)
    environment = {"LD_PRELOAD": library, "READ_ONLY_WHILE": flag}
    server = bench.start(environment=environment)
    before = server.lead("before")
    bench.check("a lead is taken", before.error is None, before)
    with open(flag, "w", encoding="utf-8"):
        pass
    payload = lead("late")
    late = server.call(payload)
    if late.error is None:
        bench.skip("the database that can only be read", "nothing comes between this binary and its files")
        return
    bench.check("a lead is refused, and may be sent again",
                (late.error, late.wait) == ("INTERNAL_ERROR", 5), late)
    ready = server.ready()
    failing = (503, "the store cannot be written")
    bench.check("it is not ready", (ready.status, ready.message) == failing, ready)
    bench.check("what only reads is answered", server.ask().error is None)
    others = [server.lead(f"late-{number}").error for number in range(20)]
    bench.check("20 more leads are refused", set(others) == {"INTERNAL_ERROR"}, others)
    bench.check("nothing of them is stored", bench.stored() == [before.receipt["lead_id"]])
    bench.check("it is alive", server.alive())
    os.unlink(flag)
    healed = eventually(lambda: server.ready().status == 200)
    bench.check("once it can be written, it is ready again", healed)
    again = server.call(payload)
    bench.check("what is sent again is taken", again.error is None, again)
    expected = {before.receipt["lead_id"], again.receipt["lead_id"]}
    bench.check("and is stored once", sorted(bench.stored()) == sorted(expected))


def little_space(bench):
    """There is less room than is to be kept free: leads are refused before the disk is full."""
    server = bench.start(f"min_free_space = {1 << 50}")
    refused = server.lead("late")
    bench.check("a lead is refused", refused.error == "INTERNAL_ERROR", refused)
    bench.check("it is said when to come back", refused.wait == 5, refused)
    bench.check("nothing is stored", bench.stored() == [])
    ready = server.ready()
    bench.check("it is not ready", ready.message == "there is too little free space", ready)
    bench.check("what only reads is answered", server.ask().error is None)


def locked(bench):
    """Another program holds the database's lock: everybody is answered, and nothing is lost."""
    server = bench.start()
    other = sqlite3.connect(os.path.join(bench.folder(), DATABASE), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ready = server.ready()
    bench.check("readiness is told within 2 seconds", ready.took < 2, ready)
    bench.check("it is not ready", ready.message == "the store does not answer", ready)
    bench.check("it is alive", server.alive())
    payload = lead("late")
    late = server.call(payload)
    bench.check("a lead is answered within 7 seconds", late.took < 7, late)
    bench.check("it may be sent again", (late.error, late.wait) == ("INTERNAL_ERROR", 5), late)
    bench.check("leads can be listed meanwhile", bench.stored() == [])
    other.execute("ROLLBACK")
    bench.check("it is ready again", eventually(lambda: server.ready().status == 200))
    again = server.call(payload)
    bench.check("what is sent again is taken", again.error is None, again)
    bench.check("and is stored once", bench.stored() == [again.receipt["lead_id"]])


def lose(bench, change):
    """Takes the database away under the server."""
    server = bench.start()
    bench.check("a lead is taken", server.lead("before").error is None)
    path = os.path.join(bench.folder(), DATABASE)
    change(path)
    logged = eventually(lambda: "the store is lost" in server.log())
    bench.check("the log says so without anybody asking", logged)
    refused = server.lead("after")
    bench.check("a lead is refused", (refused.error, refused.wait) == ("INTERNAL_ERROR", 5), refused)
    ready = server.ready()
    bench.check("it is not ready", (ready.status, ready.message) == (503, LOST), ready)
    bench.check("what only reads is answered", server.ask().error is None)
    os.replace(path + ".away", path)
    bench.check("being back is not enough", server.lead("back").error == "INTERNAL_ERROR")
    server.kill()
    server = bench.start()
    bench.check("after a restart leads are taken", server.lead("restarted").error is None)
    bench.check("and the first one is there", len(bench.stored()) == 2)


def deleted(bench):
    """The database's file is deleted."""
    lose(bench, lambda path: os.rename(path, path + ".away"))


def replaced(bench):
    """The database's file is replaced by a copy."""

    def change(path):
        os.rename(path, path + ".away")
        shutil.copy(path + ".away", path)

    lose(bench, change)


def overwritten(bench):
    """The database's file is overwritten with something else."""
    server = bench.start()
    path = os.path.join(bench.folder(), DATABASE)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with open(path, "r+b") as file:
        file.write(b"Z" * os.path.getsize(path))
    ready = server.ready()
    damaged = "the database is damaged; nothing is taken until a restart"
    bench.check("it is not ready", (ready.status, ready.message) == (503, damaged), ready)
    bench.check("a lead is refused", server.lead("late").error == "INTERNAL_ERROR")
    bench.check("it is alive", server.alive())


def second_server(bench):
    """A second server, also of a newer version, comes to the same folder: it changes nothing."""
    server = bench.start()
    database = sqlite3.connect(os.path.join(bench.folder(), DATABASE), isolation_level=None)
    newest = database.execute("PRAGMA user_version").fetchone()[0]
    # It says that it is of the version before; nothing else is looked at first.
    database.execute(f"PRAGMA user_version = {newest - 1}")
    for arguments in (["serve", "--demo", "--listen", "127.0.0.1:0"], ["migrate"]):
        refused = bench.command(*arguments)
        bench.check(f"{arguments[0]} is refused", refused.returncode == 1, refused)
        said = "another server uses the data folder" in refused.stderr
        bench.check("and says why", said, refused.stderr)
    refused = bench.command("leads", "list")
    bench.check("a newer command is refused", refused.returncode == 1, refused)
    bench.check("and says what to do", "`tradepost migrate`" in refused.stderr, refused.stderr)
    version = database.execute("PRAGMA user_version").fetchone()[0]
    bench.check("the schema is as it was", version == newest - 1, version)
    bench.check("the first server works", server.stop() == 0)
    database.execute(f"PRAGMA user_version = {newest}")
    bench.check("then its folder is free", bench.command("migrate").returncode == 0)
    bench.check("and commands work", bench.command("leads", "list").returncode == 0)


def modes(bench):
    """Folder and mask let everybody read: the files are their owner's alone."""
    os.mkdir(bench.folder())
    os.chmod(bench.folder(), 0o755)
    server = bench.start(preexec_fn=lambda: os.umask(0))
    bench.check("a lead is taken", server.lead("one").error is None)
    names = sorted(os.listdir(bench.folder()))
    wrong = [
        name for name in names
        if stat.S_IMODE(os.stat(os.path.join(bench.folder(), name)).st_mode) != 0o600
    ]
    bench.check(f"{', '.join(names)} have the mode 0600", not wrong and DATABASE in names, wrong)
