"""The official Python client of MCP, against the endpoint of a dealer itself.

    python dealer_mcp.py DEALER_URL

The session of each release is opened by the client; `2026-07-28` has none.
"""

import asyncio
import sys

from mcp import Client
from mcp.types import ElicitResult

from checks import Tally, expect, same

TOOLS = [
    'aap_dealer_information',
    'aap_inventory_facets',
    'aap_inventory_search',
    'aap_inventory_vehicle',
    'aap_lead_submit',
]
MODES = ['legacy', '2026-07-28']


def lead(email):
    return {
        'customer': {'first_name': 'Joan', 'last_name': 'Interop', 'email': email},
        'consent': {'allowed_channels': ['email']},
        'message': 'Is it still there?',
    }


async def call(client, name, arguments, is_error=False):
    result = await client.call_tool(name, arguments)
    same(result.is_error, is_error)
    same(result.content[0].type, 'text')
    return result


async def tools(client):
    listed = await client.list_tools()
    same([tool.name for tool in listed.tools], TOOLS)
    for tool in listed.tools:
        same(tool.annotations.read_only_hint, tool.name != 'aap_lead_submit')


async def search(client):
    wanted = {'sort': {'field': 'price', 'order': 'asc'}, 'pagination': {'limit': 3}}
    found = await call(client, 'aap_inventory_search', wanted)
    vehicles = found.structured_content['data']['vehicles']
    same(len(vehicles), 3)
    text = found.content[0].text
    expect(all(vehicle['stock'] in text for vehicle in vehicles), text)
    return vehicles[0]


async def detail(client, vehicle):
    found = await call(client, 'aap_inventory_vehicle', {'stock': vehicle['stock']})
    same(found.structured_content['data']['vehicle_id'], vehicle['vehicle_id'])


async def problems(client):
    wrong = {'filters': {'maek': ['Honda'], 'year_min': 'x'}}
    error = (await call(client, 'aap_inventory_search', wrong, is_error=True)).structured_content
    same((error['type'], error['code']), ('aap.error', 'SCHEMA_VALIDATION_FAILED'))
    places = sorted(problem['instanceLocation'] for problem in error['details']['errors'])
    same(places, ['/filters/maek', '/filters/year_min'])


async def two_calls(client, vehicle, mode):
    request = {**lead(f'py-two-{mode}@buyer.example'), 'vehicle_of_interest': {'vin': vehicle['vin']}}
    first = (await call(client, 'aap_lead_submit', request)).structured_content
    same(first['status'], 'confirmation_required')
    agreed = {'confirmation': first['confirmation'], 'consent_shown_to_user': True}
    other = {**request, **agreed, 'message': 'Other'}
    error = (await call(client, 'aap_lead_submit', other, is_error=True)).structured_content
    same(error['code'], 'INVALID_CONSENT')
    sent = (await call(client, 'aap_lead_submit', {**request, **agreed})).structured_content
    same(sent['data']['status'], 'received')
    again = (await call(client, 'aap_lead_submit', {**request, **agreed})).structured_content
    same(again, sent)


async def shop(tally, server, mode):
    async with Client(server, mode=mode) as client:
        await tally.check('the tools are listed', tools(client))
        vehicle = await tally.check('a search finds vehicles in order', search(client))
        await tally.check('a vehicle is told in detail', detail(client, vehicle))
        await tally.check('what is wrong is listed at once', problems(client))
        await tally.check('two calls send one lead', two_calls(client, vehicle, mode))


async def by_form(server, mode, name, answer):
    """Submits a lead through a client that shows forms; returns what it read and the result."""
    read = []

    async def ask(_context, params):
        read.append(params.message)
        return answer

    async with Client(server, elicitation_callback=ask, mode=mode) as client:
        result = await client.call_tool('aap_lead_submit', lead(f'py-{name}-{mode}@buyer.example'))
    same(len(read), 1)
    expect(read[0].startswith('I agree that the car dealer'), read[0])
    return result.structured_content


async def agreed(server, mode):
    sent = await by_form(server, mode, 'yes', ElicitResult(action='accept', content={'agree': True}))
    same(sent['data']['status'], 'received')


async def declined(server, mode):
    for answer in [ElicitResult(action='decline'), ElicitResult(action='cancel')]:
        refused = await by_form(server, mode, 'no', answer)
        same(refused['code'], 'CONTACT_CONSENT_REQUIRED')


async def main(dealer):
    tally = Tally()
    server = dealer.rstrip('/') + '/mcp'
    for mode in MODES:
        tally.over = f'dealer, {mode}'
        await tally.check('the client connects and leaves', shop(tally, server, mode))
        await tally.check('a person who agrees in the form sends the lead', agreed(server, mode))
        await tally.check('a person who says no sends nothing', declined(server, mode))
    return tally.close()


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit('usage: python dealer_mcp.py DEALER_URL')
    sys.exit(asyncio.run(main(*sys.argv[1:])))
