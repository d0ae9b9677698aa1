"""The official Python clients of A2A and MCP, against the demo publisher.

    python publisher.py http://127.0.0.1:8080

The client of A2A is used as it comes: it names no extension, which the demo does not insist on.
"""

import asyncio
import sys
import uuid
from datetime import datetime, timedelta, timezone

import httpx
import httpx2
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.helpers.proto_helpers import new_data_message
from a2a.types.a2a_pb2 import GetTaskRequest, Role, SendMessageRequest, TaskState
from a2a.utils.errors import InvalidParamsError
from google.protobuf.json_format import MessageToDict
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from checks import Tally, expect, same

# A credential of the demo, which is no secret.
TOKEN = 'demo-acme-outdoor-v1'
PROFILE = 'https://adcontextprotocol.org/extensions/adcp/v3'
BRAND = {'domain': 'acmeoutdoor.example'}
ACCOUNT = {'brand': BRAND, 'operator': 'acmeoutdoor.example'}
RUN = uuid.uuid4()


class Buyer:
    """Calls tasks of AdCP through the client."""

    def __init__(self, client):
        self.client = client

    async def send(self, skill, arguments):
        """The task that a message comes to."""
        message = new_data_message(
            {'skill': skill, 'input': arguments},
            media_type='application/json',
            role=Role.ROLE_USER,
        )
        events = [e async for e in self.client.send_message(SendMessageRequest(message=message))]
        same(len(events), 1)
        expect(events[0].HasField('task'), 'the answer is not a task')
        return events[0].task

    async def call(self, skill, arguments, state=TaskState.TASK_STATE_COMPLETED):
        """The document of AdCP in the one artifact of that task."""
        task = await self.send(skill, arguments)
        same(task.status.state, state)
        same(len(task.artifacts), 1)
        data = [part.data for part in task.artifacts[0].parts if part.HasField('data')]
        same(len(data), 1)
        return MessageToDict(data[0])


async def discover(base, http, seen):
    card = await A2ACardResolver(http, base).get_agent_card()
    extensions = {extension.uri: extension for extension in card.capabilities.extensions}
    expect(PROFILE in extensions, f'no AdCP among {list(extensions)}')
    expect(not extensions[PROFILE].required, 'the extension is required')
    expect('create_media_buy' in [skill.id for skill in card.skills], 'nothing can be bought')

    async def note(response):
        seen.append((response.request.headers.get('a2a-extensions'),
                     response.headers.get('a2a-extensions')))

    http.event_hooks['response'].append(note)
    return ClientFactory(ClientConfig(httpx_client=http)).create(card)


async def capabilities(buyer):
    document = await buyer.call('get_adcp_capabilities', {})
    same(document['status'], 'completed')
    expect('media_buy' in document['supported_protocols'], document['supported_protocols'])


async def products(buyer):
    brief = {'buying_mode': 'brief', 'brief': 'banners beside hiking stories'}
    document = await buyer.call('get_products', brief)
    found = {product['product_id']: product for product in document['products']}
    return found['outdoor_display']


async def buy(buyer, product):
    price = next(p for p in product['pricing_options'] if p['pricing_option_id'] == 'cpm_auction')
    request = {
        'idempotency_key': f'interop-{RUN}',
        'account': ACCOUNT,
        'brand': BRAND,
        'start_time': 'asap',
        'end_time': (datetime.now(timezone.utc) + timedelta(days=30)).isoformat(),
        'packages': [{
            'product_id': product['product_id'],
            'pricing_option_id': price['pricing_option_id'],
            'bid_price': 5,
            'budget': 2000,
        }],
    }
    first = await buyer.call('create_media_buy', request)
    expect(first['media_buy_id'], 'the buy has no id')
    same(first['packages'][0]['product_id'], product['product_id'])
    # The same again is the same buy.
    second = await buyer.call('create_media_buy', request)
    same(second['media_buy_id'], first['media_buy_id'])
    return first['media_buy_id']


async def bought(buyer, media_buy_id):
    document = await buyer.call('get_media_buys', {'account': ACCOUNT, 'media_buy_ids': [media_buy_id]})
    expect(media_buy_id in [buy['media_buy_id'] for buy in document['media_buys']], document)


async def refused(buyer):
    wrong = {'buying_mode': 'barter', 'filters': {'is_fixed_price': 'yes'}}
    document = await buyer.call('get_products', wrong, TaskState.TASK_STATE_FAILED)
    error = document['adcp_error']
    same(error['code'], 'VALIDATION_ERROR')
    same({issue['pointer'] for issue in error['issues']}, {'/buying_mode', '/filters/is_fixed_price'})


async def no_skill(buyer):
    try:
        await buyer.send('sell_media_buy', {})
    except InvalidParamsError as error:
        expect('message.parts[0].data.skill' in str(error), str(error))
        return
    raise AssertionError('a task that does not exist was answered')


async def kept(buyer):
    task = await buyer.send('list_accounts', {})
    again = await buyer.client.get_task(GetTaskRequest(id=task.id))
    same(again.id, task.id)
    same(again.artifacts, task.artifacts)


async def said(seen):
    expect(seen, 'nothing was asked')
    same({asked for asked, _ in seen}, {None})
    same({answered for _, answered in seen}, {PROFILE})


async def tools(client):
    listed = (await client.list_tools()).tools
    for tool in listed:
        expect(tool.description, f'{tool.name} is not described')
        same(tool.input_schema['type'], 'object')
    return {tool.name for tool in listed}


async def schemas(client, names):
    resources = (await client.list_resources()).resources
    same({resource.name for resource in resources}, names)
    uri = next(r.uri for r in resources if r.name == 'create_media_buy')
    contents = (await client.read_resource(uri)).contents
    same(len(contents), 1)
    expect('io_acceptance' in contents[0].text, 'the schema is not whole')


async def called(client):
    result = await client.call_tool('get_products', {'buying_mode': 'wholesale'})
    same(result.is_error, False)
    expect(result.structured_content['products'], 'nothing is on offer')
    result = await client.call_tool('get_products', {'buying_mode': 'barter'})
    same(result.is_error, True)
    same(result.structured_content['adcp_error']['code'], 'VALIDATION_ERROR')


async def over_mcp(base, check):
    headers = {'Authorization': f'Bearer {TOKEN}'}
    async with httpx2.AsyncClient(timeout=20, headers=headers) as http:
        transport = streamable_http_client(f'{base}/mcp', http_client=http)
        async with Client(transport) as client:
            names = await check('mcp: every tool is described', tools(client))
            await check('mcp: the whole schemas are resources', schemas(client, names))
            await check('mcp: a call and a refusal', called(client))


async def main(base):
    tally = Tally()
    check = tally.check
    headers = {'Authorization': f'Bearer {TOKEN}'}
    seen = []
    async with httpx.AsyncClient(timeout=20, headers=headers) as http:
        client = await check('a2a: the card is read', discover(base, http, seen))
        if client is None:
            return tally.close()
        buyer = Buyer(client)
        await check('a2a: the capabilities are told', capabilities(buyer))
        product = await check('a2a: products are found by a brief', products(buyer))
        if product is not None:
            media_buy_id = await check('a2a: a buy, and the same buy again', buy(buyer, product))
            await check('a2a: the buy is listed', bought(buyer, media_buy_id))
        await check('a2a: a refusal lists every problem', refused(buyer))
        await check('a2a: a task that there is not is the protocol\'s error', no_skill(buyer))
        await check('a2a: the task of an answer can be asked for', kept(buyer))
        await check('a2a: the answers name the profile, which was not asked for', said(seen))
    await over_mcp(base, check)
    return tally.close()


if __name__ == '__main__':
    if len(sys.argv) != 2:
        print('usage: python publisher.py BASE_URL', file=sys.stderr)
        sys.exit(2)
    sys.exit(asyncio.run(main(sys.argv[1].rstrip('/'))))
