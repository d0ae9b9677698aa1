"""Archives of a binary with its manual pages and completions, which Homebrew, cargo binstall and people download."""

from .release import gzipped, tar


def name(release, binary):
    program = "tradepost" if binary.is_full else "tradepost-buyer"
    return f"{program}-{release.version}-{binary.target}"


def make(release):
    return [release.write(f"{name(release, binary)}.tar.gz", packed(release, binary)) for binary in release.binaries]


def packed(release, binary):
    folder = name(release, binary)
    files = {"tradepost": (binary.data(), 0o755)}
    for extra, data in release.extras(binary).items():
        kind, _, rest = extra.partition("/")
        files[f"completions/tradepost.{rest}" if kind == "completions" else extra] = (data, 0o644)
    documents = ["README.md", "LICENSE", "CHANGELOG.md"] + (["packaging/tradepost.service"] if binary.is_full else [])
    for document in documents:
        files[document.rsplit("/")[-1]] = (release.text(document), 0o644)
    entries = [(f"{folder}/{file}", data, mode, 0) for file, (data, mode) in sorted(files.items())]
    return gzipped(tar(entries, release.moment))
