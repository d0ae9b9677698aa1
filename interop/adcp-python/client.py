"""AdCP's own client for Python against the demo publisher: discovery, products, a buy and its errors, and every
method with its defaults, over MCP and over A2A, in each release that it can speak.

    python client.py http://127.0.0.1:8080
"""

import asyncio
import logging
import sys
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path

from adcp import ADCPClient, AgentConfig
from adcp.exceptions import IdempotencyConflictError
from adcp.types import (
    CreateMediaBuyRequest,
    GetAdcpCapabilitiesRequest,
    GetMediaBuysRequest,
    GetProductsRequest,
)

sys.path.append(str(Path(__file__).parent.parent / 'python'))
from checks import Tally, expect, same  # noqa: E402
from methods import walk_methods  # noqa: E402

# Not 3.0: this client (adcp 9.2.0) puts the `status` of later releases into answers of 3.0 before it checks them
# (validation/schema_validator.py, `_normalize_response_for_validation`), and takes the buy that was made for a failure.
# The same answers fit the schemas of 3.0 that come with it. The client for JavaScript takes 3.0.
VERSIONS = ('3.1', '3.2')

# A credential of the demo, which is no secret.
TOKEN = 'demo-acme-outdoor-v1'
BRAND = {'domain': 'acmeoutdoor.example'}
ACCOUNT = {'brand': BRAND, 'operator': 'acmeoutdoor.example'}


def done(result):
    """What a task that was carried out has given."""
    expect(result.success, f'{result.status}: {result.error}')
    return result.data


def code(result):
    """The code by which a task was refused."""
    expect(not result.success, 'the seller has taken it')
    return result.adcp_error['code'] if result.adcp_error else result.error


class Story:
    """A buyer's way through one seller."""

    def __init__(self, client):
        self.client = client
        self.product = None
        self.order = None
        self.media_buy_id = None

    async def discovers(self):
        capabilities = done(await self.client.get_adcp_capabilities(GetAdcpCapabilitiesRequest()))
        protocols = [getattr(name, 'value', name) for name in capabilities.supported_protocols]
        expect('media_buy' in protocols, f'{protocols}')

    async def finds(self):
        request = GetProductsRequest(brief='outdoor display', buying_mode='brief', brand=BRAND)
        found = done(await self.client.get_products(request)).products
        expect(found, 'there are no products')
        self.product = found[0]

    def buy(self, **other):
        option = self.product.pricing_options[0]
        option = getattr(option, 'root', option)
        start = datetime.now(timezone.utc) + timedelta(days=2)
        package = {
            'product_id': self.product.product_id,
            'pricing_option_id': option.pricing_option_id,
            'budget': 5000.0,
        }
        return {
            'account': ACCOUNT,
            'brand': BRAND,
            'idempotency_key': str(uuid.uuid4()),
            'packages': [{**package, **other}],
            'start_time': start.isoformat(),
            'end_time': (start + timedelta(days=30)).isoformat(),
        }

    async def sends(self, order):
        return await self.client.create_media_buy(CreateMediaBuyRequest(**order))

    async def buys(self):
        self.order = self.buy()
        self.media_buy_id = done(await self.sends(self.order)).media_buy_id
        request = GetMediaBuysRequest(account=ACCOUNT, media_buy_ids=[self.media_buy_id])
        known = done(await self.client.get_media_buys(request)).media_buys
        same([buy.media_buy_id for buy in known], [self.media_buy_id])

    async def repeats(self):
        same(done(await self.sends(self.order)).media_buy_id, self.media_buy_id)

    async def conflicts(self):
        other = {**self.buy(budget=6000.0), 'idempotency_key': self.order['idempotency_key']}
        try:
            result = await self.sends(other)
        except IdempotencyConflictError:  # raised over MCP alone
            return
        same(code(result), 'IDEMPOTENCY_CONFLICT')

    async def is_refused(self):
        same(code(await self.sends(self.buy(product_id='nobody_sells_this'))), 'PRODUCT_NOT_FOUND')


async def walk(check, url, protocol, version):
    path = '/mcp' if protocol == 'mcp' else ''
    config = AgentConfig(
        id='demo', agent_uri=f'{url}{path}', protocol=protocol, auth_token=TOKEN,
        auth_header='Authorization', auth_type='bearer', timeout=60,
    )
    async with ADCPClient(config, adcp_version=version) as client:
        story = Story(client)
        over = f'{protocol} {version}'
        await check(f'{over}: finds out what the seller can do', story.discovers())
        await check(f'{over}: finds products', story.finds())
        await check(f'{over}: buys, and sees the buy', story.buys())
        await check(f'{over}: sends the same again and has bought once', story.repeats())
        await check(f'{over}: hears of a key for something else', story.conflicts())
        await check(f'{over}: hears what is wrong with a buy', story.is_refused())
        await walk_methods(check, client, over, version)


async def main(url):
    tally = Tally()
    for protocol in ('mcp', 'a2a'):
        for version in VERSIONS:
            await walk(tally.check, url, protocol, version)
    return tally.close()


if __name__ == '__main__':
    if len(sys.argv) != 2:
        print('usage: python client.py BASE_URL', file=sys.stderr)
        sys.exit(2)
    logging.disable(logging.WARNING)
    sys.exit(asyncio.run(main(sys.argv[1].rstrip('/'))))
