"""npm packages: `npx tradepost mcp URL`. The main package has a launcher, and as optional dependencies a package with
the buyer's binary for each platform, of which npm installs the one that fits."""

import json

from .release import DESCRIPTION, SUMMARY, gzipped, tar

COMMON = {"license": "Apache-2.0", "engines": {"node": ">=18"}}


def make(release):
    written = []
    platforms = {}
    for binary in release.buyers():
        platform = binary.fact("npm")
        name = f"@tradepost/{platform['os']}-{platform['cpu']}"
        platforms[name] = release.version
        manifest = {
            "name": name,
            "version": release.version,
            "description": f"The binary of tradepost for {platform['os']} on {platform['cpu']}",
            **COMMON,
            "os": [platform["os"]],
            "cpu": [platform["cpu"]],
            "files": ["tradepost"],
            # Bundlers and archives of node_modules would lose the mode of the file.
            "preferUnplugged": True,
        }
        files = [("package/tradepost", binary.data(), 0o755)]
        written.append(packed(release, manifest, files))
    manifest = {
        "name": "tradepost",
        "version": release.version,
        "description": SUMMARY,
        "keywords": ["a2a", "mcp", "aap", "adcp", "agents"],
        **COMMON,
        "bin": {"tradepost": "launch.js"},
        "files": ["launch.js"],
        "optionalDependencies": platforms,
    }
    files = [
        ("package/launch.js", release.text("packaging/npm/launch.js"), 0o755),
        ("package/README.md", f"# tradepost\n\n{DESCRIPTION}\n".encode(), 0o644),
    ]
    written.append(packed(release, manifest, files))
    return written


def packed(release, manifest, files):
    """Writes a package as `npm pack` does."""
    document = json.dumps(manifest, indent=2) + "\n"
    entries = [("package/package.json", document.encode(), 0o644), ("package/LICENSE", release.text("LICENSE"), 0o644)]
    entries += files
    data = gzipped(tar([(name, data, mode, 0) for name, data, mode in entries], release.moment))
    name = manifest["name"].lstrip("@").replace("/", "-")
    return release.write(f"{name}-{release.version}.tgz", data)
