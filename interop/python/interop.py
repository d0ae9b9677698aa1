"""A buyer written with the official Python client of A2A, against a running Tradepost.

    python interop.py http://127.0.0.1:8080

It uses nothing but what the client offers: its card resolver, its transport, its errors. One line
for each check; the exit code is 0 when all of them passed.

The client parses every answer into protobuf, where all numbers are floats: 20 is sent as 20.0, and
the seller has to take it for the integer that it is. Of an error it keeps the class and the
message, so the AAP code leads the message.
"""

import asyncio
import math
import sys
import uuid
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.helpers.proto_helpers import new_data_message
from a2a.types.a2a_pb2 import GetTaskRequest, Role, SendMessageConfiguration, SendMessageRequest
from a2a.utils.errors import InvalidParamsError, MethodNotFoundError, TaskNotFoundError
from google.protobuf.json_format import MessageToDict

from checks import Tally, expect, same

AAP = 'https://autoagentprotocol.org/extensions/aap/v1.1'

MEDIA_TYPES = {
    'dealer.information': 'dealer-information',
    'inventory.facets': 'inventory-facets',
    'inventory.search': 'inventory-search',
    'inventory.vehicle': 'vehicle-detail',
    'lead.submit': 'lead-submit',
}

RUN = uuid.uuid4()
NOW = datetime.now(timezone.utc)


def media_type(skill, direction):
    return f'application/vnd.autoagent.{MEDIA_TYPES[skill]}-{direction}+json'


class Buyer:
    """Speaks AAP through the client."""

    def __init__(self, client):
        self.client = client

    async def send(self, skill, members, context_id=None):
        """Sends a payload and gives the whole message that answers it."""
        known = skill in MEDIA_TYPES
        message = new_data_message(
            {'type': f'{skill}.request', **members},
            media_type=media_type(skill, 'request') if known else 'application/json',
            context_id=context_id,
            role=Role.ROLE_USER,
        )
        modes = [media_type(skill, 'response')] if known else ['application/json']
        request = SendMessageRequest(
            message=message,
            configuration=SendMessageConfiguration(accepted_output_modes=modes),
        )
        events = [event async for event in self.client.send_message(request)]
        same(len(events), 1)
        expect(events[0].HasField('message'), 'the answer is not a message')
        return events[0].message

    async def call(self, skill, **members):
        """Calls a skill and gives the `data` of its answer."""
        return (await self.converse(skill, members))[0]

    async def converse(self, skill, members, context_id=None):
        """The same, with the conversation that it belongs to."""
        message = await self.send(skill, members, context_id)
        same(message.role, Role.ROLE_AGENT)
        same(len(message.parts), 1)
        same(message.parts[0].media_type, media_type(skill, 'response'))
        payload = MessageToDict(message.parts[0].data)
        same(payload['type'], f'{skill}.response')
        return payload['data'], message.context_id

    async def refused(self, error_class, code, skill, **members):
        """Expects a refusal of this class whose message begins with the AAP code."""
        try:
            await self.send(skill, members)
        except Exception as error:
            same(type(error), error_class)
            text = str(error)
            # The general class of the client puts the JSON-RPC code in front.
            if error_class is A2AClientError:
                prefix = 'JSON-RPC Error -32000: '
                expect(text.startswith(prefix), text)
                text = text.removeprefix(prefix)
            expect(text.startswith(f'{code}: '), f'does not begin with {code}: {text}')
            return text
        raise AssertionError('the call was answered instead of refused')


def lead(**changes):
    return {
        'customer': {
            'first_name': 'Peter', 'last_name': 'Interop', 'email': f'py-{RUN}@buyer.example',
        },
        'consent': {
            'granted_at': (NOW - timedelta(minutes=1)).isoformat(),
            'expires_at': (NOW + timedelta(days=30)).isoformat(),
            'allowed_channels': ['email'],
            'consent_text': 'Yes, the dealer may answer me by e-mail about this vehicle.',
            'scope': ['lead_submission'],
        },
        'source_agent': {'name': 'tradepost-interop-python'},
        **changes,
    }


def opening_time(rooftop, days_ahead, hour):
    """The moment when the rooftop's clocks show `hour` on a day it is open then."""
    week = next(s['value'] for s in rooftop['schedules'] if s['name'] == 'sales')
    zone = ZoneInfo(rooftop['timezone'])
    today = NOW.astimezone(zone).date()
    for days in range(days_ahead, days_ahead + 10):
        day = today + timedelta(days=days)
        hours = week.get(day.strftime('%A').lower())
        open_then = hours and hours['open'] <= f'{hour}:00' and f'{hour}:59' < hours['close']
        if open_then and (day.month, day.day) not in [(12, 25), (1, 1)]:
            return datetime(day.year, day.month, day.day, hour, tzinfo=zone)
    raise AssertionError(f'{rooftop["name"]} is not open at {hour}:00 on any day')


def moment(text):
    return datetime.fromisoformat(text.replace('Z', '+00:00'))


async def discover(base, http):
    card = await A2ACardResolver(http, base).get_agent_card()
    expect(card.name, 'the card has no name')
    extensions = {extension.uri: extension for extension in card.capabilities.extensions}
    expect(AAP in extensions, f'no AAP 1.1 among {list(extensions)}')
    same(sorted(skill.id for skill in card.skills), sorted(MEDIA_TYPES))
    schemas = MessageToDict(extensions[AAP].params)['skills']
    expect(
        schemas['lead.submit']['request_schema'].endswith('lead-submit-request.schema.json'),
        schemas['lead.submit'],
    )
    same([i.protocol_binding for i in card.supported_interfaces], ['JSONRPC'])
    expect(not card.capabilities.streaming, 'the card declares streaming')
    return ClientFactory(ClientConfig(httpx_client=http)).create(card)


async def dealer_information(buyer):
    data = await buyer.call('dealer.information')
    expect(data['name'], 'the dealer has no name')
    for rooftop in data['rooftops']:
        ZoneInfo(rooftop['timezone'])
        expect(any(s['name'] == 'sales' for s in rooftop['schedules']), 'no opening hours')
        expect(all(phone['value'].startswith('+') for phone in rooftop['phones']), 'not E.164')
    return data


async def search_everything(buyer):
    data = await buyer.call('inventory.search', pagination={'skip': 0, 'limit': 5})
    expect(data['total'] > 0, 'the inventory is empty')
    same((data['skip'], data['limit']), (0, 5))
    same(len(data['vehicles']), min(5, data['total']))
    for vehicle in data['vehicles']:
        expect(vehicle['status'] in ('available', 'intransit', 'pending'), vehicle['status'])
        moment(vehicle['updated_at'])
        expect(None not in vehicle.values(), 'absent values are left out')
    return data['total']


async def search_filtered(buyer, total):
    data = await buyer.call(
        'inventory.search',
        filters={'condition': ['used'], 'year_min': 2005, 'price_max': 60000},
        sort={'field': 'price', 'order': 'desc'},
        privacy={'anonymous': True},
    )
    expect(0 < data['total'] < total, f'{data["total"]} of {total}')
    same(data['limit'], 20)
    prices = [vehicle['price'] for vehicle in data['vehicles']]
    same(prices, sorted(prices, reverse=True))
    for vehicle in data['vehicles']:
        same(vehicle['condition'], 'used')
        expect(vehicle['year'] >= 2005, vehicle['year'])
        expect(vehicle['price'] <= 60000 and vehicle['price'].is_integer(), vehicle['price'])
    available = [v for v in data['vehicles'] if v['status'] == 'available']
    return (available or data['vehicles'])[0]


async def detail(buyer, vehicle):
    data = await buyer.call('inventory.vehicle', stock=vehicle['stock'])
    same(data.get('vehicle', data), vehicle)


async def facets(buyer, vehicle, total):
    everything = await buyer.call('inventory.facets')
    same(math.fsum(term['count'] for term in everything['statuses']), total)
    filters = {'make': [vehicle['make']]}
    some = await buyer.call('inventory.facets', filters=filters)
    found = await buyer.call('inventory.search', filters=filters)
    same(some['makes'], [{'value': vehicle['make'], 'count': found['total']}])


def test_drive(vehicle, at):
    return {
        'vehicle_of_interest': {'vin': vehicle['vin'], 'year': vehicle['year']},
        'appointment': {'appointment_type': 'test_drive', 'appointment_at': at.isoformat()},
    }


async def book(buyer, rooftop, vehicle, wanted):
    data = await buyer.call(
        'lead.submit', **lead(idempotency_key=f'py-{RUN}', **test_drive(vehicle, wanted)))
    same(data['status'], 'received')
    expect(data['lead_id'], 'the lead has no id')
    same(data['appointment']['status'], 'confirmed')
    same(moment(data['appointment']['confirmed_at']), wanted)
    expect(data['dealer']['phone'] in [phone['value'] for phone in rooftop['phones']], data['dealer'])
    return data


async def replay(buyer, vehicle, wanted, first):
    again = await buyer.call('lead.submit', **lead(
        idempotency_key=f'py-{RUN}',
        submitted_at=datetime.now(timezone.utc).isoformat(),
        **test_drive(vehicle, wanted),
    ))
    same(again, first)


async def choose_a_proposal(buyer, vehicle, wanted):
    customer = {
        'first_name': 'Paula', 'last_name': 'Interop', 'email': f'py2-{RUN}@buyer.example',
    }
    night = wanted - timedelta(hours=11)
    at_night = lead(customer=customer, **test_drive(vehicle, night))
    first, conversation = await buyer.converse('lead.submit', at_night)
    same(first['appointment']['status'], 'proposed')
    proposed = first['appointment']['proposed_times'][0]
    # Whoever knows the customer's address is somebody else; who goes on with the conversation is not.
    stranger = await buyer.call('lead.submit', **at_night)
    same(stranger['status'], 'received')
    expect(stranger['lead_id'] != first['lead_id'], stranger['lead_id'])
    at_that_time = lead(customer=customer, **test_drive(vehicle, moment(proposed)))
    chosen, _ = await buyer.converse('lead.submit', at_that_time, conversation)
    same(chosen['lead_id'], first['lead_id'])
    same(chosen['appointment']['status'], 'confirmed')
    same(chosen['appointment']['confirmed_at'], proposed)


async def keep_context(buyer):
    context_id = str(uuid.uuid4())
    message = await buyer.send('dealer.information', {}, context_id)
    same(message.context_id, context_id)
    fresh = await buyer.send('dealer.information', {})
    expect(fresh.context_id not in ('', context_id), fresh.context_id)


async def several_problems(buyer):
    text = await buyer.refused(
        InvalidParamsError, 'SCHEMA_VALIDATION_FAILED', 'inventory.search',
        filters={'maek': ['Honda'], 'year_min': '2020', 'condition': ['good']},
        pagination={'limit': 0},
    )
    # In whatever order: protobuf shuffles the members, and the problems follow the document.
    for problem in ('/filters/maek', '/filters/year_min', '/filters/condition/0', '/pagination/limit'):
        expect(f'{problem}: ' in text, f'does not name {problem}: {text}')


async def sold_stock_numbers(buyer, total):
    """Numbers missing among the stock numbers on offer: units that may have been sold."""
    on_offer = []
    while len(on_offer) < total:
        page = await buyer.call(
            'inventory.search', sort={'field': 'stock', 'order': 'asc'},
            pagination={'skip': len(on_offer), 'limit': 100})
        expect(page['vehicles'], 'the last page is empty')
        on_offer += [vehicle['stock'] for vehicle in page['vehicles']]
    same(len(set(on_offer)), total)
    numbers = {int(stock[1:]) for stock in on_offer}
    missing = sorted(set(range(min(numbers), max(numbers))) - numbers)
    return [f'{rooftop}{n}' for n in missing for rooftop in sorted({s[0] for s in on_offer})]


async def sold(buyer, candidates):
    for stock in candidates:
        try:
            await buyer.send('inventory.vehicle', {'stock': stock})
        except A2AClientError as error:
            if 'VEHICLE_NOT_FOUND: ' not in str(error):
                break
    await buyer.refused(A2AClientError, 'VEHICLE_UNAVAILABLE', 'inventory.vehicle', stock=stock)
    await buyer.refused(
        A2AClientError, 'VEHICLE_UNAVAILABLE', 'lead.submit',
        **lead(vehicle_of_interest={'stock': stock}, appointment={'appointment_type': 'test_drive'}))


async def no_task(buyer):
    try:
        await buyer.client.get_task(GetTaskRequest(id=str(uuid.uuid4())))
    except TaskNotFoundError:
        return
    raise AssertionError('a task was found')


async def main(base):
    tally = Tally()
    check = tally.check
    async with httpx.AsyncClient(timeout=20) as http:
        client = await check('the card resolver reads the card', discover(base, http))
        if client is None:
            return tally.close()
        buyer = Buyer(client)

        # The five skills.
        dealer = await check(
            'dealer.information tells rooftops with opening hours', dealer_information(buyer))
        total = await check('inventory.search finds what is on offer', search_everything(buyer))
        vehicle = await check(
            'inventory.search filters, sorts and limits', search_filtered(buyer, total))
        if dealer is None or vehicle is None:
            print('the other checks need a dealer and a vehicle')
            return tally.close()
        await check('inventory.vehicle details the vehicle found', detail(buyer, vehicle))
        await check('inventory.facets counts the same vehicles', facets(buyer, vehicle, total))
        rooftop = next(r for r in dealer['rooftops'] if r['name'] == vehicle['rooftop'])
        wanted = opening_time(rooftop, 8, 14)
        first = await check(
            'lead.submit books a test drive within opening hours',
            book(buyer, rooftop, vehicle, wanted))
        await check(
            'lead.submit answers the same key with the same answer',
            replay(buyer, vehicle, wanted, first))
        await check(
            'lead.submit proposes other times, and one of them can be booked',
            choose_a_proposal(buyer, vehicle, wanted))
        await check('a conversation keeps its context id', keep_context(buyer))

        # Refusals.
        await check(
            'SCHEMA_VALIDATION_FAILED leads the message, several problems follow',
            several_problems(buyer))
        await check('MISSING_REQUIRED_FIELD leads the message', buyer.refused(
            InvalidParamsError, 'MISSING_REQUIRED_FIELD', 'inventory.vehicle'))
        await check('INVALID_CONDITION leads the message', buyer.refused(
            InvalidParamsError, 'INVALID_CONDITION', 'lead.submit',
            **lead(vehicle_of_interest={'vin': vehicle['vin'], 'condition': 'good'})))
        await check('VEHICLE_NOT_FOUND leads the message', buyer.refused(
            A2AClientError, 'VEHICLE_NOT_FOUND', 'inventory.vehicle', vin='1ZZZZZZZZZZZZZZZZ'))
        candidates = await check(
            'inventory.search goes through all pages', sold_stock_numbers(buyer, total))
        if candidates:
            await check('VEHICLE_UNAVAILABLE leads the message', sold(buyer, candidates))
        else:
            print('skip  py  VEHICLE_UNAVAILABLE: no gap among the stock numbers tells of a sale')
        bare = lead()
        del bare['consent']
        await check('CONTACT_CONSENT_REQUIRED leads the message', buyer.refused(
            A2AClientError, 'CONTACT_CONSENT_REQUIRED', 'lead.submit', **bare))
        expired = lead()
        expired['consent']['expires_at'] = (NOW - timedelta(seconds=30)).isoformat()
        await check('INVALID_CONSENT leads the message', buyer.refused(
            A2AClientError, 'INVALID_CONSENT', 'lead.submit', **expired))
        await check('IDEMPOTENCY_CONFLICT leads the message', buyer.refused(
            A2AClientError, 'IDEMPOTENCY_CONFLICT', 'lead.submit',
            **lead(idempotency_key=f'py-{RUN}', message='Something else.')))
        await check('UNSUPPORTED_SKILL leads the message', buyer.refused(
            MethodNotFoundError, 'UNSUPPORTED_SKILL', 'vehicle.reserve'))
        await check(
            "an operation of A2A that AAP has no use for is A2A's own error", no_task(buyer))
    return tally.close()


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit('usage: python interop.py BASE_URL')
    sys.exit(asyncio.run(main(sys.argv[1])))
