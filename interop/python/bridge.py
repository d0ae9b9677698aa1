"""The official Python client of MCP, against the bridge in front of a running Tradepost.

    python bridge.py TRADEPOST DEALER_URL BRIDGE_URL

Once over standard input and output, for which the client starts the binary itself, and once over
streamable HTTP. The client checks results against the tools' output schemas.
"""

import asyncio
import sys

from mcp import Client, MCPError, StdioServerParameters
from mcp.types import ElicitResult

from checks import Tally, expect, same

TOOLS = [
    'aap_dealer_information',
    'aap_inventory_facets',
    'aap_inventory_search',
    'aap_inventory_vehicle',
    'aap_lead_submit',
]


class Shopper:
    """Calls tools, and expects them to succeed or to fail."""

    def __init__(self, client, over):
        self.client = client
        self.lead = {
            'customer': {
                'first_name': 'Joan',
                'last_name': 'Interop',
                'email': f'py-{over}@buyer.example',
            },
            'consent': {'allowed_channels': ['email']},
            'message': 'Is it still there?',
        }

    async def call(self, name, arguments, is_error=False):
        result = await self.client.call_tool(name, arguments)
        same(result.is_error, is_error)
        same(result.content[0].type, 'text')
        return result.structured_content

    async def tools(self):
        listed = await self.client.list_tools()
        same([tool.name for tool in listed.tools], TOOLS)
        for tool in listed.tools:
            same(tool.input_schema['type'], 'object')
            same(tool.annotations.read_only_hint, tool.name != 'aap_lead_submit')

    async def introduction(self):
        about = await self.call('aap_dealer_information', {})
        same(about['dealers'][0]['data']['name'], 'Larkspur Motors')

    async def facets(self):
        facets = await self.call('aap_inventory_facets', {'filters': {'condition': ['used']}})
        expect(facets['data']['makes'], 'no makes')

    async def search(self):
        page = await self.call('aap_inventory_search', {
            'filters': {'price_max': 60000},
            'sort': {'field': 'price', 'order': 'asc'},
            'pagination': {'limit': 5},
        })
        vehicles = page['data']['vehicles']
        same(len(vehicles), 5)
        prices = [vehicle['price'] for vehicle in vehicles]
        same(prices, sorted(prices))
        return vehicles[0]

    async def detail(self, vehicle):
        detail = await self.call('aap_inventory_vehicle', {'stock': vehicle['stock']})
        same(detail['data']['vehicle_id'], vehicle['vehicle_id'])

    async def problems(self):
        arguments = {'filters': {'maek': ['Honda'], 'year_min': 'x'}, 'dealers': ['y']}
        error = await self.call('aap_inventory_search', arguments, is_error=True)
        same(error['code'], 'INVALID_ARGUMENTS')
        fields = sorted(problem['field'] for problem in error['problems'])
        same(fields, ['/dealers/0', '/filters/maek', '/filters/year_min'])

    async def refusal(self):
        arguments = {'vin': '1ZZZZZZZZZZZZZZZZ'}
        error = await self.call('aap_inventory_vehicle', arguments, is_error=True)
        same(error['code'], 'VEHICLE_NOT_FOUND')

    async def submit(self, vehicle):
        lead = {**self.lead, 'vehicle_of_interest': {'vin': vehicle['vin']}}
        first = await self.call('aap_lead_submit', lead)
        same(first['status'], 'confirmation_required')
        expect(lead['customer']['email'] in first['consent_text'], first['consent_text'])
        agreed = {'confirmation': first['confirmation'], 'consent_shown_to_user': True}
        changed = {**lead, 'message': 'Other', **agreed}
        error = await self.call('aap_lead_submit', changed, is_error=True)
        same(error['code'], 'CONFIRMATION_INVALID')
        sent = await self.call('aap_lead_submit', {**lead, **agreed})
        same(sent['data']['status'], 'received')
        again = await self.call('aap_lead_submit', {**lead, **agreed})
        same(again['data']['lead_id'], sent['data']['lead_id'])

    async def unknown(self):
        try:
            await self.client.call_tool('aap_buy', {})
        except MCPError as error:
            same(error.error.code, -32602)
        else:
            raise AssertionError('the call was answered instead of refused')


async def shop(tally, client):
    check, shopper = tally.check, Shopper(client, tally.over)
    await check('the tools are listed', shopper.tools())
    await check('the dealer introduces itself', shopper.introduction())
    await check('facets say what there is', shopper.facets())
    vehicle = await check('a search finds vehicles in order', shopper.search())
    await check('a vehicle is told in detail', shopper.detail(vehicle))
    await check('what is wrong is listed at once', shopper.problems())
    await check("the dealer's refusal keeps its code", shopper.refusal())
    await check(
        'a lead is sent only with the text that the user has seen', shopper.submit(vehicle))
    await check('a tool that does not exist is -32602', shopper.unknown())


async def connect(tally, server):
    async with Client(server) as client:
        await shop(tally, client)


class Person:
    """Reads forms, and answers each the same."""

    def __init__(self, action, content=None):
        self.answer = ElicitResult(action=action, content=content)
        self.read = []

    async def ask(self, _context, params):
        self.read.append(params.message)
        return self.answer

    async def submit(self, server, over, mode):
        lead = {
            'customer': {
                'first_name': 'Joan',
                'last_name': 'Interop',
                'email': f'py-{over}-{mode}@buyer.example',
            },
            'consent': {'allowed_channels': ['email']},
            'message': 'Is it still there?',
        }
        async with Client(server, elicitation_callback=self.ask, mode=mode) as client:
            result = await client.call_tool('aap_lead_submit', lead)
            return result.structured_content


async def agreed(server, over, mode):
    person = Person('accept', {'agree': True})
    sent = await person.submit(server, over, mode)
    same(sent.get('status'), 'sent')
    same(len(person.read), 1)
    expect(person.read[0].startswith(sent['consent']['consent_text']), person.read[0])


async def declined(server, over, mode):
    for person in [Person('decline'), Person('cancel'), Person('accept', {'agree': False})]:
        refused = await person.submit(server, over, mode)
        same(refused.get('code'), 'DECLINED')
        same(len(person.read), 1)


async def main(tradepost, dealer, bridge):
    tally = Tally()
    servers = [
        ('stdio', StdioServerParameters(command=tradepost, args=['mcp', dealer])),
        ('http', bridge),
    ]
    for over, server in servers:
        tally.over = over
        await tally.check('the client connects and leaves', connect(tally, server))
        # Once by a request during the call, and once by its result (2026-07-28).
        for mode in ['legacy', '2026-07-28']:
            await tally.check(
                f'a person who agrees in the form sends the lead, {mode}', agreed(server, over, mode))
            await tally.check(
                f'a person who says no sends nothing, {mode}', declined(server, over, mode))
    return tally.close()


if __name__ == '__main__':
    if len(sys.argv) != 4:
        sys.exit('usage: python bridge.py TRADEPOST DEALER_URL BRIDGE_URL')
    sys.exit(asyncio.run(main(*sys.argv[1:])))
