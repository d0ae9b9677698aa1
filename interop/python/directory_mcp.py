"""The official Python client of MCP, against the endpoint of a directory of two dealers.

    python directory_mcp.py DIRECTORY_URL

The dealers are `north.example` and `south.example`, and have one car in common.
"""

import asyncio
import json
import sys
import urllib.request

from mcp import Client
from mcp.types import ElicitResult

from checks import Tally, expect, same
from dealer_mcp import MODES, TOOLS, call, lead

NORTH = 'north.example'
SOUTH = 'south.example'


async def tools(client):
    listed = await client.list_tools()
    same([tool.name for tool in listed.tools], TOOLS)
    required = {tool.name: tool.input_schema.get('required', []) for tool in listed.tools}
    expect('dealer' in required['aap_lead_submit'], required)


async def names(client):
    listed = await call(client, 'aap_dealer_information', {'names_only': True})
    same(listed.structured_content['dealers'], [{'dealer': NORTH}, {'dealer': SOUTH}])


async def search(client):
    wanted = {'sort': {'field': 'price', 'order': 'asc'}}
    found = await call(client, 'aap_inventory_search', wanted)
    vehicles = found.structured_content['data']['vehicles']
    same({vehicle['dealer'] for vehicle in vehicles}, {NORTH, SOUTH})
    doubtful = [vehicle for vehicle in vehicles if 'doubtful' in vehicle]
    same({vehicle['vin'] for vehicle in doubtful}, {'1HGCY2F57RA000001'})
    same(vehicles[-len(doubtful):], doubtful)
    same(doubtful[0]['doubtful'], ['2 dealers list this VIN'])
    same(found.structured_content['errors'], [])


async def counts(client):
    counted = await call(client, 'aap_inventory_facets', {})
    makes = {make['value']: make['count'] for make in counted.structured_content['data']['makes']}
    same(makes['Honda'], 2)


async def detail(client):
    found = await call(client, 'aap_inventory_vehicle', {'dealer': SOUTH, 'stock': 'SO2'})
    same(found.structured_content['dealer'], SOUTH)
    error = await call(client, 'aap_inventory_vehicle', {'dealer': NORTH, 'stock': 'SO2'}, is_error=True)
    same((error.structured_content['dealer'], error.structured_content['code']), (NORTH, 'VEHICLE_NOT_FOUND'))


async def problems(client):
    wrong = {'dealer': 'nobody.example', 'customer': {'first_name': 7}}
    error = (await call(client, 'aap_lead_submit', wrong, is_error=True)).structured_content
    places = sorted(problem['instanceLocation'] for problem in error['details']['errors'])
    expect('/dealer' in places and '/customer/first_name' in places, places)


async def two_calls(client, mode):
    request = {**lead(f'py-directory-{mode}@buyer.example'), 'dealer': SOUTH}
    first = (await call(client, 'aap_lead_submit', request)).structured_content
    same((first['status'], first['dealer']), ('confirmation_required', SOUTH))
    expect(f'at {SOUTH}' in first['consent_text'], first)
    agreed = {'confirmation': first['confirmation'], 'consent_shown_to_user': True}
    other = {**request, **agreed, 'dealer': NORTH}
    error = (await call(client, 'aap_lead_submit', other, is_error=True)).structured_content
    same(error['code'], 'INVALID_CONSENT')
    sent = (await call(client, 'aap_lead_submit', {**request, **agreed})).structured_content
    same((sent['data']['status'], sent['dealer']), ('received', SOUTH))
    again = (await call(client, 'aap_lead_submit', {**request, **agreed})).structured_content
    same(again, sent)


async def shop(tally, server, mode):
    async with Client(server, mode=mode) as client:
        await tally.check('the tools are listed', tools(client))
        await tally.check('the dealers are named', names(client))
        await tally.check('a search joins the dealers', search(client))
        await tally.check('counts are added up', counts(client))
        await tally.check('a vehicle is that of its dealer', detail(client))
        await tally.check('what is wrong is listed at once', problems(client))
        await tally.check('two calls send one lead to one dealer', two_calls(client, mode))


async def by_form(server, mode, answer):
    """Submits a lead through a client that shows forms; returns what it read and the result."""
    read = []

    async def ask(_context, params):
        read.append(params.message)
        return answer

    async with Client(server, elicitation_callback=ask, mode=mode) as client:
        request = {**lead(f'py-directory-form-{mode}@buyer.example'), 'dealer': NORTH}
        result = await client.call_tool('aap_lead_submit', request)
    same(len(read), 1)
    expect(f'at {NORTH}' in read[0], read[0])
    return result.structured_content


async def agreed(server, mode):
    sent = await by_form(server, mode, ElicitResult(action='accept', content={'agree': True}))
    same((sent['data']['status'], sent['dealer']), ('received', NORTH))


async def declined(server, mode):
    refused = await by_form(server, mode, ElicitResult(action='decline'))
    same(refused['code'], 'CONTACT_CONSENT_REQUIRED')


async def found(directory):
    request = urllib.request.Request(directory, headers={'Accept': 'application/json'})
    home = json.loads(urllib.request.urlopen(request).read())
    same(home['mcp'], directory.rstrip('/') + '/mcp')
    same(home['directory'], '/.well-known/api-catalog')
    text = urllib.request.urlopen(directory.rstrip('/') + '/llms.txt').read().decode()
    expect(home['mcp'] in text, text)


async def main(directory):
    tally = Tally()
    server = directory.rstrip('/') + '/mcp'
    tally.over = 'directory'
    await tally.check('the endpoint is found', found(directory))
    for mode in MODES:
        tally.over = f'directory, {mode}'
        await tally.check('the client connects and leaves', shop(tally, server, mode))
        await tally.check('a person who agrees in the form sends the lead', agreed(server, mode))
        await tally.check('a person who says no sends nothing', declined(server, mode))
    return tally.close()


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit('usage: python directory_mcp.py DIRECTORY_URL')
    sys.exit(asyncio.run(main(*sys.argv[1:])))
