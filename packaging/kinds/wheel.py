"""Python wheels with the buyer's binary as a script: `pipx run tradepost`."""

import base64
import hashlib

from .release import DESCRIPTION, SUMMARY, zipped


def make(release):
    return [wheel(release, binary) for binary in release.buyers()]


def wheel(release, binary):
    tags = binary.fact("wheel")
    info = f"tradepost-{release.version}.dist-info"
    script = f"tradepost-{release.version}.data/scripts/tradepost"
    files = [
        (script, binary.data(), 0o755),
        (f"{info}/licenses/LICENSE", release.text("LICENSE"), 0o644),
        (f"{info}/METADATA", metadata(release).encode(), 0o644),
        (f"{info}/WHEEL", description(tags).encode(), 0o644),
    ]
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data, _ in files)
    files.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode(), 0o644))
    return release.write(f"tradepost-{release.version}-py3-none-{tags}.whl", zipped(files, release.moment))


def metadata(release):
    return f"""Metadata-Version: 2.4
Name: tradepost
Version: {release.version}
Summary: {SUMMARY}
License-Expression: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{DESCRIPTION}

`pipx run tradepost discover https://dealer.example`
"""


def description(tags):
    lines = ["Wheel-Version: 1.0", "Generator: tradepost packaging", "Root-Is-Purelib: false"]
    lines += [f"Tag: py3-none-{tag}" for tag in tags.split(".")]
    return "\n".join(lines) + "\n"


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
