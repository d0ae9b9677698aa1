"""Container images from scratch, as archives of an OCI layout: of the full program and of the buyer's half. An image has
the binary, a user, a folder for data, and nothing else. `skopeo copy oci-archive:FILE docker://…` publishes one, and
`docker load` or `podman load` takes it, too: for a docker that reads no OCI layout there is a `manifest.json` beside it."""

import json

from .release import gzipped, sha256, tar

USER = 65532
KINDS = {
    "manifest": "application/vnd.oci.image.manifest.v1+json",
    "config": "application/vnd.oci.image.config.v1+json",
    "layer": "application/vnd.oci.image.layer.v1.tar+gzip",
    "index": "application/vnd.oci.image.index.v1+json",
}


def make(release):
    written = []
    for name, binaries in [("tradepost", release.fulls()), ("tradepost-buyer", release.buyers())]:
        binaries = [binary for binary in binaries if binary.fact("oci")]
        if binaries:
            written.append(image(release, name, binaries))
    return written


def image(release, name, binaries):
    blobs = {}

    def put(kind, data):
        digest = sha256(data)
        blobs[digest] = data
        return {"mediaType": KINDS[kind], "digest": f"sha256:{digest}", "size": len(data)}

    manifests = []
    for binary in binaries:
        platform = {"os": "linux", "architecture": binary.fact("oci")}
        layer = tar(layer_files(binary), release.moment)
        config = {
            "created": rfc3339(release.moment),
            **platform,
            "config": {
                "User": f"{USER}:{USER}",
                "Entrypoint": ["/usr/bin/tradepost"],
                "WorkingDir": "/data",
                "Volumes": {"/data": {}},
                "ExposedPorts": {"8080/tcp": {}} if binary.is_full else {},
                "Labels": {
                    "org.opencontainers.image.title": name,
                    "org.opencontainers.image.version": release.version,
                    "org.opencontainers.image.licenses": "Apache-2.0",
                },
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(layer)}"]},
            "history": [{"created": rfc3339(release.moment), "created_by": "packaging/package"}],
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": KINDS["manifest"],
            "config": put("config", encoded(config)),
            "layers": [put("layer", gzipped(layer))],
        }
        manifests.append({**put("manifest", encoded(manifest)), "platform": platform})
    # Programs that load images look for one manifest or one index at the top.
    if len(manifests) == 1:
        [top] = manifests
    else:
        index = {"schemaVersion": 2, "mediaType": KINDS["index"], "manifests": manifests}
        top = put("index", encoded(index))
    tag = f"{name}:{release.version}"
    names = {"org.opencontainers.image.ref.name": release.version, "io.containerd.image.name": f"docker.io/library/{tag}"}
    top = {**top, "annotations": names}
    layout = {"schemaVersion": 2, "mediaType": KINDS["index"], "manifests": [top]}
    # It has one image for a name, and the most usual processor is the first.
    first = json.loads(blobs[manifests[0]["digest"].removeprefix("sha256:")])
    docker = [{"Config": place(first["config"]), "RepoTags": [tag], "Layers": [place(one) for one in first["layers"]]}]
    files = [("oci-layout", encoded({"imageLayoutVersion": "1.0.0"}), 0o644, 0), ("index.json", encoded(layout), 0o644, 0)]
    files += [("manifest.json", encoded(docker), 0o644, 0)]
    files += [("blobs", None, 0o755, 0), ("blobs/sha256", None, 0o755, 0)]
    files += [(f"blobs/sha256/{digest}", data, 0o644, 0) for digest, data in sorted(blobs.items())]
    return release.write(f"{name}-{release.version}.oci.tar", tar(files, release.moment))


def place(descriptor):
    """Returns the path of a blob in the archive."""
    return "blobs/" + descriptor["digest"].replace(":", "/")


def layer_files(binary):
    passwd = f"root:x:0:0:root:/:/sbin/nologin\ntradepost:x:{USER}:{USER}:tradepost:/data:/sbin/nologin\n"
    return [
        ("data", None, 0o700, USER),
        ("etc", None, 0o755, 0),
        ("etc/passwd", passwd.encode(), 0o644, 0),
        ("tmp", None, 0o1777, 0),
        ("usr", None, 0o755, 0),
        ("usr/bin", None, 0o755, 0),
        ("usr/bin/tradepost", binary.data(), 0o755, 0),
    ]


def rfc3339(moment):
    from datetime import datetime, timezone

    return datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def encoded(document):
    return json.dumps(document, separators=(",", ":")).encode()
