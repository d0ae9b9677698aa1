"""A PostgreSQL of the bench's own: started, killed and asked."""

import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time


def programs():
    """Where PostgreSQL's programs are; None where there are none."""
    found = shutil.which("initdb")
    if found:
        return os.path.dirname(os.path.realpath(found))
    places = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    return os.path.dirname(places[-1]) if places else None


def user():
    """As whom it runs: it refuses to be root's."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


def is_possible():
    return programs() is not None and (os.geteuid() != 0 or user() is not None)


def free_port(host="127.0.0.1"):
    with socket.socket() as free:
        free.bind((host, 0))
        return free.getsockname()[1]


class Cluster:
    """One, with a database called `shop`."""

    def __init__(self, host):
        self.host, self.port = host, free_port(host)
        self.work = tempfile.mkdtemp(prefix="cluster-")
        self.data = os.path.join(self.work, "data")
        self.user = user()
        if self.user:
            os.chown(self.work, self.user.pw_uid, self.user.pw_gid)
        self.run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "--no-sync")
        with open(os.path.join(self.data, "pg_hba.conf"), "a", encoding="utf-8") as file:
            file.write("host all all 0.0.0.0/0 trust\n")
        self.start()
        self.ask("CREATE DATABASE shop", database="postgres")

    @property
    def url(self):
        return f"postgres://postgres@{self.host}:{self.port}/shop?sslmode=disable"

    def run(self, program, *arguments):
        def become():
            if self.user:
                os.setgroups([])
                os.setgid(self.user.pw_gid)
                os.setuid(self.user.pw_uid)

        subprocess.run(
            [os.path.join(programs(), program), *arguments], check=True, cwd="/", preexec_fn=become,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )

    def start(self):
        settings = f"-p {self.port} -k {self.work} -c listen_addresses={self.host},127.0.0.1 " \
                   "-c max_connections=200"
        log = os.path.join(self.work, "log")
        self.run("pg_ctl", "-D", self.data, "-w", "-l", log, "-o", settings, "start")

    def stop(self):
        """Without a word: what was not committed is gone."""
        self.run("pg_ctl", "-D", self.data, "-m", "immediate", "stop")

    def ask(self, sql, database="shop"):
        """The rows of a query, as lists of texts."""
        command = [os.path.join(programs(), "psql"), "-XAtq", "-F", "\t", "-h", self.work,
                   "-p", str(self.port), "-U", "postgres", "-c", sql, database]
        said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if said.returncode != 0:
            raise RuntimeError(said.stderr)
        return [line.split("\t") for line in said.stdout.splitlines()]

    def cut(self):
        """Ends every connection of the replicas."""
        return self.ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                        "WHERE application_name = 'tradepost'")

    def restart(self, away):
        self.stop()
        time.sleep(away)
        self.start()

    def close(self):
        try:
            self.stop()
        except subprocess.CalledProcessError:
            pass
        shutil.rmtree(self.work, ignore_errors=True)
