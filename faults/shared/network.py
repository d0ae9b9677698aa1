"""Where replicas live: on this machine, or in network namespaces that can be cut apart."""

import os
import shutil
import subprocess

PREFIX = f"tp{os.getpid() % 10_000}"


def ip(*arguments, check=True):
    return subprocess.run(["ip", *arguments], check=check, capture_output=True, text=True)


def is_possible():
    if os.geteuid() != 0 or not shutil.which("ip"):
        return False
    made = ip("netns", "add", f"{PREFIX}-try", check=False).returncode == 0
    ip("netns", "del", f"{PREFIX}-try", check=False)
    return made


class Here:
    """All on the loopback address."""

    database = own = "127.0.0.1"

    def open(self, count):
        pass

    def host(self, _):
        return "127.0.0.1"

    def prefix(self, _):
        return []

    def cut(self, number, chance):
        raise NotImplementedError

    def mend(self, number):
        pass

    def close(self):
        pass


class Namespaces:
    """Each in a namespace of its own, on a bridge to the database and to the proxy."""

    net = f"10.{77 + os.getpid() % 100}.{os.getpid() // 100 % 250}"
    # From one address the buyers come, at the other one is the database.
    own, database = f"{net}.1", f"{net}.2"

    def open(self, count):
        self.count = count
        bridge = f"{PREFIX}b"
        ip("link", "add", bridge, "type", "bridge")
        for address in (self.own, self.database):
            ip("addr", "add", f"{address}/24", "dev", bridge)
        ip("link", "set", bridge, "up")
        for number in range(count):
            name, near, far = self.name(number), f"{PREFIX}n{number}", f"{PREFIX}f{number}"
            ip("netns", "add", name)
            ip("link", "add", near, "type", "veth", "peer", "name", far)
            ip("link", "set", near, "master", bridge, "up")
            ip("link", "set", far, "netns", name)
            ip("-n", name, "addr", "add", f"{self.host(number)}/24", "dev", far)
            ip("-n", name, "link", "set", far, "up")
            ip("-n", name, "link", "set", "lo", "up")

    def name(self, number):
        return f"{PREFIX}-{number}"

    def host(self, number):
        return f"{self.net}.{10 + number}"

    def prefix(self, number):
        return ["ip", "netns", "exec", self.name(number)]

    def cut(self, number, chance):
        """Cuts one off from everybody, or from the database alone: buyers still reach it."""
        if chance.random() < 0.5:
            ip("link", "set", f"{PREFIX}n{number}", "down")
            return "from everybody"
        ip("-n", self.name(number), "route", "add", "blackhole", f"{self.database}/32")
        return "from the database"

    def mend(self, number):
        ip("link", "set", f"{PREFIX}n{number}", "up")
        ip("-n", self.name(number), "route", "del", "blackhole", f"{self.database}/32", check=False)

    def close(self):
        for number in range(getattr(self, "count", 0)):
            ip("netns", "del", self.name(number), check=False)
            ip("link", "del", f"{PREFIX}n{number}", check=False)
        ip("link", "del", f"{PREFIX}b", check=False)
