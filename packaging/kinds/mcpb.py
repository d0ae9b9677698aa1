"""Bundles for hosts of MCP servers (MCPB): the buyer's binary as a local server, which a host installs by a click and
asks for the addresses of dealers."""

import json

from .release import DESCRIPTION, SUMMARY, zipped

PLATFORMS = {"linux": "linux", "darwin": "darwin"}


def make(release):
    return [bundle(release, binary) for binary in release.buyers()]


def bundle(release, binary):
    platform = binary.fact("npm")
    files = [
        ("manifest.json", (json.dumps(manifest(release, platform), indent=2) + "\n").encode(), 0o644),
        ("LICENSE", release.text("LICENSE"), 0o644),
        ("server/tradepost", binary.data(), 0o755),
    ]
    name = f"tradepost-{release.version}-{platform['os']}-{platform['cpu']}.mcpb"
    return release.write(name, zipped(files, release.moment))


def manifest(release, platform):
    return {
        "manifest_version": "0.3",
        "name": "tradepost",
        "display_name": "Tradepost",
        "version": release.version,
        "description": SUMMARY,
        "long_description": DESCRIPTION,
        "author": {"name": "The Tradepost contributors"},
        "license": "Apache-2.0",
        "keywords": ["a2a", "aap", "adcp", "dealers"],
        "server": {
            "type": "binary",
            "entry_point": "server/tradepost",
            "mcp_config": {
                "command": "${__dirname}/server/tradepost",
                "args": ["mcp", "${user_config.dealers}"],
                "env": {"TRADEPOST_TOKEN": "${user_config.token}"},
            },
        },
        # They depend on what the sellers offer, so that the host asks the server.
        "tools_generated": True,
        "user_config": {
            "dealers": {
                "type": "string",
                "multiple": True,
                "title": "Dealers",
                "description": "Addresses of dealers, or of a directory of them",
                "required": True,
            },
            "token": {
                "type": "string",
                "title": "Token",
                "description": "Bearer token, if there is one dealer and it demands one",
                "sensitive": True,
                "required": False,
                "default": "",
            },
        },
        "compatibility": {"platforms": [PLATFORMS[platform["os"]]]},
    }
