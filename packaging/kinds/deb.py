"""Debian packages: `tradepost` with the server and its systemd unit, and `tradepost-buyer`. Both are static, so that they
depend on nothing; both have /usr/bin/tradepost, so that one of them is installed at a time. dpkg-deb makes them."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .release import DESCRIPTION, SUMMARY, gzipped

COMPLETIONS = {
    "completions/bash": "usr/share/bash-completion/completions/tradepost",
    "completions/zsh": "usr/share/zsh/vendor-completions/_tradepost",
    "completions/fish": "usr/share/fish/vendor_completions.d/tradepost.fish",
}
FULL = """Server and client of sellers that AI agents can buy from
 Tradepost puts car dealers (AAP) and publishers (AdCP) online for AI agents, over A2A and MCP, and has the client,
 the MCP server and the prober for those who buy."""
RELOAD = """#!/bin/sh
set -e
# The unit is new or gone; it is neither enabled nor started, because it needs a configuration first.
if [ -d /run/systemd/system ]; then
  systemctl --system daemon-reload >/dev/null || true
fi
"""


def make(release):
    binaries = [binary for binary in release.binaries if binary.fact("deb")]
    if binaries and not shutil.which("dpkg-deb"):
        print("skipped: Debian packages, for want of dpkg-deb")
        return []
    return [package(release, binary) for binary in binaries]


def package(release, binary):
    name = "tradepost" if binary.is_full else "tradepost-buyer"
    files = {"usr/bin/tradepost": (binary.data(), 0o755)}
    for extra, data in release.extras(binary).items():
        if extra in COMPLETIONS:
            files[COMPLETIONS[extra]] = (data, 0o644)
        else:
            files[f"usr/share/man/man1/{extra.removeprefix('man/')}.gz"] = (gzipped(data), 0o644)
    documents = f"usr/share/doc/{name}"
    files[f"{documents}/copyright"] = (release.text("LICENSE"), 0o644)
    files[f"{documents}/changelog.gz"] = (gzipped(release.text("CHANGELOG.md")), 0o644)
    if binary.is_full:
        files["lib/systemd/system/tradepost.service"] = (release.text("packaging/tradepost.service"), 0o644)
        files["DEBIAN/postinst"] = (RELOAD.encode(), 0o755)
        files["DEBIAN/postrm"] = (RELOAD.encode(), 0o755)
    size = sum(len(data) for data, _ in files.values()) // 1024
    files["DEBIAN/control"] = (control(release, binary, name, size).encode(), 0o644)
    with tempfile.TemporaryDirectory() as folder:
        if binary.is_full:
            Path(folder, "etc/tradepost").mkdir(parents=True)
        for file, (data, mode) in files.items():
            path = Path(folder, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(mode)
        for path in Path(folder).rglob("*"):
            if path.is_dir():
                path.chmod(0o755)
        os.chmod(folder, 0o755)
        out = release.out / f"{name}_{release.version}_{binary.fact('deb')}.deb"
        # It gives every file this time at most, and no names of people.
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(release.moment)}
        command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", folder, out]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return out


def control(release, binary, name, size):
    other = "tradepost-buyer" if binary.is_full else "tradepost"
    # The full program can do all that the buyer's can.
    provides = f"Provides: {other}\n" if binary.is_full else ""
    text = FULL if binary.is_full else SUMMARY + "\n" + folded(DESCRIPTION)
    return (
        f"Package: {name}\nVersion: {release.version}\nArchitecture: {binary.fact('deb')}\n"
        f"Maintainer: The Tradepost contributors <tradepost@localhost>\nInstalled-Size: {size}\nSection: net\n"
        f"Priority: optional\n{provides}Conflicts: {other}\nReplaces: {other}\nDescription: {text}\n"
    )


def folded(text):
    """Returns a text in lines of 76 characters at most, each after a blank."""
    import textwrap

    return "\n".join(f" {line}" for line in textwrap.wrap(text, 76))
