"""fastmcp, in each of its modes, against the bridge (over standard input and output and over HTTP), a dealer and a publisher.

python client.py bridge TRADEPOST DEALER_URL BRIDGE_URL
python client.py dealer DEALER_URL
python client.py publisher PUBLISHER_URL
"""

import asyncio
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'python'))

from checks import Tally, expect, same  # noqa: E402
from fastmcp import Client  # noqa: E402
from fastmcp.client.elicitation import ElicitResult  # noqa: E402
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport  # noqa: E402

MODES = ('legacy', 'auto', '2026-07-28')
LEAD = {
    'customer': {'first_name': 'Joan', 'last_name': 'Interop', 'email': 'fastmcp@buyer.example'},
    'consent': {'allowed_channels': ['email']},
    'message': 'Is it still there?',
}


async def agree(_message, response_type, _params, _context):
    """Answers a form as a person who agrees."""
    return ElicitResult(action='accept', content=response_type(agree=True))


async def visit(tally, client):
    async def lists():
        same(len(await client.list_tools()), 5)

    async def searches():
        found = await client.call_tool('aap_inventory_search', {'pagination': {'limit': 2}})
        same(len(found.structured_content['data']['vehicles']), 2)

    async def is_refused():
        wrong = {'filters': {'maek': ['Honda'], 'year_min': 'x'}}
        found = await client.call_tool('aap_inventory_search', wrong, raise_on_error=False)
        expect(found.is_error, found)
        same(found.structured_content['code'], 'SCHEMA_VALIDATION_FAILED')

    async def sends():
        sent = await client.call_tool('aap_lead_submit', LEAD, raise_on_error=False)
        same(sent.structured_content['data']['status'], 'received')

    await tally.check('the tools are listed', lists())
    await tally.check('a search finds vehicles', searches())
    await tally.check('what is wrong is listed at once', is_refused())
    await tally.check('a person who agrees in the form sends the lead', sends())


async def shop(tally, client):
    async def lists():
        same(len(await client.list_tools()), 5)

    async def searches():
        found = await client.call_tool('aap_inventory_search', {'pagination': {'limit': 2}})
        vehicles = found.structured_content['data']['vehicles']
        same(len(vehicles), 2)
        return vehicles[0]

    async def looks(vehicle):
        found = await client.call_tool('aap_inventory_vehicle', {'stock': vehicle['stock']})
        same(found.structured_content['data']['vehicle_id'], vehicle['vehicle_id'])

    async def is_refused():
        wrong = {'filters': {'maek': ['Honda'], 'year_min': 'x'}}
        found = await client.call_tool('aap_inventory_search', wrong, raise_on_error=False)
        expect(found.is_error, found)
        fields = sorted(problem['field'] for problem in found.structured_content['problems'])
        same(fields, ['/filters/maek', '/filters/year_min'])

    async def sends():
        sent = await client.call_tool('aap_lead_submit', LEAD, raise_on_error=False)
        same(sent.structured_content.get('status'), 'sent')

    await tally.check('the tools are listed', lists())
    vehicle = await tally.check('a search finds vehicles', searches())
    if vehicle is not None:
        await tally.check('a vehicle is told in detail', looks(vehicle))
    await tally.check('what is wrong is listed at once', is_refused())
    await tally.check('a person who agrees in the form sends the lead', sends())


async def buy(tally, client):
    async def lists():
        names = {tool.name for tool in await client.list_tools()}
        expect({'get_products', 'create_media_buy'} <= names, names)

    async def reads():
        resources = await client.list_resources()
        uri = next(resource.uri for resource in resources if resource.name == 'get_products')
        contents = await client.read_resource(uri)
        same(json.loads(contents[0].text)['type'], 'object')

    async def finds():
        brief = {'buying_mode': 'brief', 'brief': 'banners beside hiking stories'}
        found = await client.call_tool('get_products', brief)
        expect(found.structured_content['products'], found)

    async def is_refused():
        found = await client.call_tool('get_products', {'buying_mode': 'barter'}, raise_on_error=False)
        expect(found.is_error, found)
        same(found.structured_content['adcp_error']['code'], 'VALIDATION_ERROR')

    await tally.check('the tools are listed', lists())
    await tally.check('the whole schema of a tool is a resource', reads())
    await tally.check('products are found', finds())
    await tally.check('a refusal stands in both layers', is_refused())


def transports(subject, addresses):
    """What opens a connection, by the name of the transport."""
    if subject == 'publisher':
        headers = {'Authorization': 'Bearer demo-acme-outdoor-v1'}
        return {'http': lambda: StreamableHttpTransport(addresses[0].rstrip('/') + '/mcp', headers=headers)}
    if subject == 'dealer':
        return {'http': lambda: StreamableHttpTransport(addresses[0].rstrip('/') + '/mcp')}
    tradepost, dealer, bridge = addresses
    return {
        'stdio': lambda: StdioTransport(tradepost, ['mcp', dealer]),
        'http': lambda: StreamableHttpTransport(bridge),
    }


async def main(subject, addresses):
    tally = Tally()
    work = {'bridge': shop, 'dealer': visit, 'publisher': buy}[subject]
    for transport, opened in transports(subject, addresses).items():
        for mode in MODES:
            tally.over = f'fastmcp {transport}, {mode}'
            try:
                async with Client(opened(), mode=mode, elicitation_handler=agree) as client:
                    await work(tally, client)
            except Exception as error:  # whatever it is, the client did not connect
                async def fails(error=error):
                    raise error

                await tally.check('the client connects', fails())
    return tally.close()


if __name__ == '__main__':
    if len(sys.argv) < 3 or len(sys.argv) != {'bridge': 5, 'dealer': 3, 'publisher': 3}.get(sys.argv[1]):
        sys.exit(__doc__)
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2:])))
