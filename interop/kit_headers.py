"""Loaded into the official kit by `interop/kit`: its requests get the headers in KIT_HEADERS, for which
the kit has no option. A test that looks at what happens without them has none.
"""

import collections
import json
import os

import grpc
import httpx
import pytest

HEADERS = json.loads(os.environ['KIT_HEADERS'])
BARE = 'test_missing_required_extension'

added = {}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    added.clear()
    if not item.name.startswith(BARE):
        added.update(HEADERS)


class Details(
    collections.namedtuple(
        'Details', 'method timeout metadata credentials wait_for_ready compression'
    ),
    grpc.ClientCallDetails,
):
    """What gRPC knows of a call; its own class has no way to change the metadata."""


class Adder(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
):
    """Adds the headers to calls of gRPC, as metadata."""

    def call(self, go_on, details, request):
        metadata = [*(details.metadata or []), *((k.lower(), v) for k, v in added.items())]
        fields = {name: getattr(details, name, None) for name in Details._fields}
        return go_on(Details(**{**fields, 'metadata': metadata}), request)

    intercept_unary_unary = call
    intercept_unary_stream = call


plain_channel, plain_request = grpc.insecure_channel, httpx.Client.build_request


def channel(*args, **kwargs):
    return grpc.intercept_channel(plain_channel(*args, **kwargs), Adder())


def build_request(self, *args, **kwargs):
    request = plain_request(self, *args, **kwargs)
    for name, value in added.items():
        request.headers.setdefault(name, value)
    return request


grpc.insecure_channel, httpx.Client.build_request = channel, build_request
