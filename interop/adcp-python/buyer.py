"""A buyer on AdCP's own client for Python, one step for each call. Prints a line of JSON.

    python buyer.py URL TOKEN open                                   opens an account
    python buyer.py URL TOKEN buy ACCOUNT PRODUCT OPTION BUDGET      sends a creative, and buys with it
    python buyer.py URL TOKEN buys ACCOUNT                           the media buys of the account
    python buyer.py URL TOKEN delivery ACCOUNT MEDIA_BUY_ID          what was delivered
"""

import asyncio
import json
import sys
import uuid
from datetime import datetime, timedelta, timezone

from adcp import ADCPClient, AgentConfig
from adcp.types import (
    CreateMediaBuyRequest,
    GetMediaBuyDeliveryRequest,
    GetMediaBuysRequest,
    SyncAccountsRequest,
    SyncCreativesRequest,
)

BRAND = {'domain': 'acme.example'}


def plain(result):
    if result.data is None:
        return {'status': str(getattr(result.status, 'value', result.status)), 'error': result.error}
    return result.data.model_dump(mode='json', exclude_none=True)


async def open_account(client):
    account = {'brand': BRAND, 'operator': 'acme.example', 'billing': 'operator'}
    request = SyncAccountsRequest(idempotency_key=str(uuid.uuid4()), accounts=[account])
    return await client.sync_accounts(request)


async def buy(client, account, product, option, budget):
    account = {'account_id': account}
    image = {
        'asset_type': 'image', 'url': 'https://cdn.acme.example/banner.png', 'width': 300, 'height': 250,
    }
    click = {'asset_type': 'url', 'url': 'https://acme.example/spring', 'url_type': 'clickthrough'}
    creative = {
        'creative_id': 'banner', 'name': 'Spring banner', 'format_kind': 'image',
        'assets': {'image': image, 'click': click},
    }
    sent = await client.sync_creatives(SyncCreativesRequest(
        idempotency_key=str(uuid.uuid4()), account=account, creatives=[creative],
    ))
    if not sent.success:
        return sent
    end = datetime.now(timezone.utc) + timedelta(days=20)
    package = {
        'product_id': product, 'pricing_option_id': option, 'budget': float(budget),
        'creative_assignments': [{'creative_id': 'banner'}],
    }
    return await client.create_media_buy(CreateMediaBuyRequest(
        idempotency_key=str(uuid.uuid4()), account=account, brand=BRAND, start_time='asap',
        end_time=end.isoformat(), packages=[package],
    ))


async def buys(client, account):
    statuses = ['pending_creatives', 'pending_start', 'active', 'paused', 'completed']
    request = GetMediaBuysRequest(account={'account_id': account}, status_filter=statuses)
    return await client.get_media_buys(request)


async def delivery(client, account, media_buy_id):
    request = GetMediaBuyDeliveryRequest(account={'account_id': account}, media_buy_ids=[media_buy_id])
    return await client.get_media_buy_delivery(request)


STEPS = {'open': open_account, 'buy': buy, 'buys': buys, 'delivery': delivery}


async def main(url, token, step, *words):
    config = AgentConfig(
        id='gazette', agent_uri=f'{url}/mcp', protocol='mcp', auth_token=token,
        auth_header='Authorization', auth_type='bearer', timeout=60,
    )
    async with ADCPClient(config) as client:
        print(json.dumps(plain(await STEPS[step](client, *words))))


asyncio.run(main(*sys.argv[1:]))
