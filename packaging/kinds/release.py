"""What all kinds of packages share: the release, its binaries, and archives that are the same bytes each time."""

import gzip
import hashlib
import io
import os
import subprocess
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path

# How each target is called by the package managers.
TARGETS = {
    "x86_64-unknown-linux-musl": {
        "npm": {"os": "linux", "cpu": "x64"},
        "wheel": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
        "deb": "amd64",
        "oci": "amd64",
        "brew": ("on_linux", "on_intel"),
    },
    "aarch64-unknown-linux-musl": {
        "npm": {"os": "linux", "cpu": "arm64"},
        "wheel": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
        "deb": "arm64",
        "oci": "arm64",
        "brew": ("on_linux", "on_arm"),
    },
    "x86_64-apple-darwin": {
        "npm": {"os": "darwin", "cpu": "x64"},
        "wheel": "macosx_11_0_x86_64",
        "brew": ("on_macos", "on_intel"),
    },
    "aarch64-apple-darwin": {
        "npm": {"os": "darwin", "cpu": "arm64"},
        "wheel": "macosx_11_0_arm64",
        "brew": ("on_macos", "on_arm"),
    },
}

SUMMARY = "Find and call sellers that AI agents can buy from, and check them"
DESCRIPTION = (
    "Tradepost's buyer: a client for agents of car dealers (AAP) and publishers (AdCP) over A2A and MCP, an MCP server "
    "that lets a language model search and contact them, and a prober that grades them."
)
SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True)
class Binary:
    """Program for one target. `is_full` tells the server with all commands from the buyer's half."""

    target: str
    path: Path
    is_full: bool

    def data(self):
        return self.path.read_bytes()

    def fact(self, name):
        return TARGETS[self.target].get(name)


@dataclass(frozen=True)
class Release:
    """Version with its binaries, and the folder for its packages. `moment` (seconds since 1970) is the time of every
    file; `url` the address at which the packages will be downloaded, if it is known."""

    version: str
    root: Path
    out: Path
    moment: int
    url: str | None
    binaries: tuple

    def buyers(self):
        return [binary for binary in self.binaries if not binary.is_full]

    def fulls(self):
        return [binary for binary in self.binaries if binary.is_full]

    def text(self, name):
        return (self.root / name).read_bytes()

    def write(self, name, data):
        path = self.out / name
        path.write_bytes(data)
        return path

    @cached_property
    def _extras(self):
        return {}

    def extras(self, binary):
        """Returns the manual pages and completions of a program by their names. A binary for another machine cannot be
        asked, so that the one for this machine answers for it: they are the same."""
        if binary.is_full not in self._extras:
            same = [one for one in self.binaries if one.is_full == binary.is_full]
            self._extras[binary.is_full] = next(filter(None, map(asked, same)), None)
        found = self._extras[binary.is_full]
        if found is None:
            kind = "full" if binary.is_full else "buyer's"
            raise SystemExit(f"none of the {kind} binaries runs on this machine, which manual pages need")
        return found


def asked(binary):
    """Returns what a program writes of itself, or None if it cannot be run here."""
    with tempfile.TemporaryDirectory() as folder:
        man = Path(folder, "man")
        man.mkdir()
        try:
            subprocess.run([binary.path, "man", man], check=True, stderr=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError):
            return None
        files = {f"man/{page.name}": page.read_bytes() for page in sorted(man.iterdir())}
        for shell in SHELLS:
            script = subprocess.run([binary.path, "completions", shell], check=True, capture_output=True)
            files[f"completions/{shell}"] = script.stdout
        return files


def gzipped(data):
    """Compresses without a name and a time."""
    return gzip.compress(data, compresslevel=9, mtime=0)


def tar(files, moment):
    """Makes an archive. `files` are (name, bytes or None for a folder, mode, owner), and get one time and no names of
    people."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data, mode, owner in files:
            entry = tarfile.TarInfo(name)
            entry.mtime = moment
            entry.mode = mode
            entry.uid = entry.gid = owner
            if data is None:
                entry.type = tarfile.DIRTYPE
                archive.addfile(entry)
            else:
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def zipped(files, moment):
    """Makes an archive of (name, bytes, mode)."""
    # The format has no times before 1980.
    when = datetime.fromtimestamp(max(moment, 315_619_200), timezone.utc).timetuple()[:6]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data, mode in files:
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, data)
    return out.getvalue()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def moment_of(root):
    """Returns the time of the release: SOURCE_DATE_EPOCH, or that of the last commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    log = subprocess.run(["git", "-C", root, "log", "-1", "--format=%ct"], capture_output=True, text=True)
    return int(log.stdout.strip() or 0)
