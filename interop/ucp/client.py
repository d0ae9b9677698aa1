"""A dealer's catalog, judged by what UCP has published: the models of its Python SDK, and its JSON Schemas.

    python client.py DEALER_URL

The dealer is one of `tradepost serve --demo`. UCP_SPECIFICATION is a folder with the published `schemas` and `services` of
2026-04-08, as https://ucp.dev/2026-04-08 has them (the folder `2026-04-08` of the branch `gh-pages` of
Universal-Commerce-Protocol/ucp). Without it the JSON Schemas judge nothing, and a line says so.
"""

import asyncio
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import jsonschema
import referencing
from mcp import Client
from ucp_sdk.models.schemas.shopping import catalog_lookup, catalog_search
from ucp_sdk.models.schemas.shopping.types.error_response import ErrorResponse
from ucp_sdk.models.schemas.ucp import BusinessSchema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'python'))

from checks import Tally, expect, same  # noqa: E402

VERSION = '2026-04-08'
PROFILE = 'https://platform.example/.well-known/ucp'
PATHS = {
    'search_catalog': '/catalog/search',
    'lookup_catalog': '/catalog/lookup',
    'get_product': '/catalog/product',
}
SCHEMAS = {
    'search_catalog': 'shopping/catalog_search.json#/$defs/search_response',
    'lookup_catalog': 'shopping/catalog_lookup.json#/$defs/lookup_response',
    'get_product': 'shopping/catalog_lookup.json#/$defs/get_product_response',
    'error': 'shopping/types/error_response.json',
    'profile': 'discovery/profile.json#/$defs/business_profile',
}
REQUESTS = {
    'search_catalog': 'shopping/catalog_search.json#/$defs/search_request',
    'lookup_catalog': 'shopping/catalog_lookup.json#/$defs/lookup_request',
    'get_product': 'shopping/catalog_lookup.json#/$defs/get_product_request',
}
MODELS = {
    'search_catalog': catalog_search.SearchResponse,
    'lookup_catalog': catalog_lookup.LookupResponse,
    'get_product': catalog_lookup.GetProductResponse,
    'error': ErrorResponse,
}


class Published:
    """The published JSON Schemas."""

    def __init__(self, folder):
        def documents():
            for path in pathlib.Path(folder, 'schemas').rglob('*.json'):
                document = json.loads(path.read_text())
                yield document['$id'], referencing.Resource.from_contents(document)

        self.registry = referencing.Registry().with_resources(documents())
        expect(len(list(self.registry)) > 50, f'the schemas are not in {folder}')
        self.judged = 0

    def judge(self, name, document):
        """Fails with every violation."""
        schema = {'$ref': f'https://ucp.dev/{VERSION}/schemas/{name}'}
        kind = jsonschema.Draft202012Validator
        judge = kind(schema, registry=self.registry, format_checker=kind.FORMAT_CHECKER)
        wrong = [f'{error.json_path}: {error.message}' for error in judge.iter_errors(document)]
        expect(not wrong, '\n'.join(wrong))
        self.judged += 1


class Dealer:
    """A dealer's catalog over REST, with every answer judged."""

    def __init__(self, base, published):
        self.base = base
        self.published = published

    def judge(self, kind, document):
        """Judges an answer by the SDK's model, and by the JSON Schema where there is one."""
        MODELS[kind].model_validate(document)
        if self.published:
            self.published.judge(SCHEMAS[kind], document)

    def get(self, path):
        with urllib.request.urlopen(self.base + path) as answer:
            return json.load(answer), answer.headers

    def post(self, operation, body, is_valid=True):
        """The status and the body of an answer."""
        if self.published and is_valid:
            self.published.judge(REQUESTS[operation], body)
        request = urllib.request.Request(
            f'{self.base}/ucp{PATHS[operation]}',
            json.dumps(body).encode(),
            {'Content-Type': 'application/json', 'UCP-Agent': f'profile="{PROFILE}"'},
        )
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            if refused.code == 429:
                # Other clients may have used up the rate limit of this address.
                time.sleep(int(refused.headers['Retry-After']))
                return self.post(operation, body, is_valid)
            return refused.code, json.load(refused)

    def ask(self, operation, body):
        """The answer to a right request."""
        status, answer = self.post(operation, body)
        same(status, 200)
        self.judge('error' if answer['ucp'].get('status') == 'error' else operation, answer)
        same(answer['ucp']['version'], VERSION)
        return answer


async def profile(dealer):
    document, headers = dealer.get('/.well-known/ucp')
    expect('public' in headers['Cache-Control'], headers['Cache-Control'])
    BusinessSchema.model_validate(document['ucp'])
    if dealer.published:
        dealer.published.judge(SCHEMAS['profile'], document)
    same(list(document['ucp']['services']), ['dev.ucp.shopping'])
    same(
        list(document['ucp']['capabilities']),
        ['dev.ucp.shopping.catalog.search', 'dev.ucp.shopping.catalog.lookup'],
    )
    same(document['ucp']['payment_handlers'], {})
    for service in document['ucp']['services']['dev.ucp.shopping']:
        expect(service['endpoint'].startswith(dealer.base), service)
    card, _ = dealer.get('/.well-known/agent-card.json')
    lead = document['org.autoagentprotocol.lead']
    same(lead['agent_card'], f'{dealer.base}/.well-known/agent-card.json')
    expect('no checkout' in lead['content'], lead)
    return card


async def pages(dealer):
    """Walks a search to its end; every product comes once."""
    body = {'filters': {'price': {'min': 0}}, 'context': {'currency': 'USD'}}
    page = {'limit': 50}
    found = []
    while True:
        answer = dealer.ask('search_catalog', {**body, 'pagination': page})
        found += answer['products']
        if not answer['pagination']['has_next_page']:
            break
        page = {'limit': 50, 'cursor': answer['pagination']['cursor']}
    same(len(found), answer['pagination']['total_count'])
    same(len({product['id'] for product in found}), len(found))
    expect(len(found) > 100, f'only {len(found)} products')
    return found


async def words(dealer):
    answer = dealer.ask('search_catalog', {'query': 'suv under 30k', 'pagination': {'limit': 3}})
    same(len(answer['products']), 3)
    for product in answer['products']:
        expect(product['price_range']['max']['amount'] <= 3_000_000, product['price_range'])
    nothing = dealer.ask('search_catalog', {'query': 'a ferrari testarossa', 'filters': {'price': {'max': 1}}})
    same(nothing['products'], [])
    ignored = dealer.ask('search_catalog', {'filters': {'maek': ['Honda'], 'price': {'max': 9}},
                                            'context': {'currency': 'EUR'}})
    same([message['code'] for message in ignored['messages']], ['filter_ignored', 'filter_ignored'])


async def lookups(dealer, products):
    variants = [product['variants'][0] for product in products[:9]]
    ids = [products[0]['id'], variants[0]['sku'], *[variant['id'] for variant in variants], 'nothing']
    answer = dealer.ask('lookup_catalog', {'ids': ids})
    same([product['id'] for product in answer['products']], [product['id'] for product in products[:9]])
    same(len(answer['products'][0]['variants'][0]['inputs']), 2)
    same([message['code'] for message in answer['messages']], ['not_found'])
    same(dealer.ask('lookup_catalog', {'ids': ['nothing', 'at all']})['products'], [])


async def details(dealer, products):
    for product in products[:20]:
        found = dealer.ask('get_product', {'id': product['id'], 'preferences': ['Color'],
                                           'selected': [{'name': 'Color', 'label': 'Red'}]})
        same(found['product']['price_range'], product['price_range'])
        same(found['messages'][0]['code'], 'contact_dealer')
    urls = [product.get('url') for product in products]
    expect(any(urls), 'no product leads to the page of its vehicle')
    for missing in ['nothing', 'x' * 200]:
        answer = dealer.ask('get_product', {'id': missing})
        same(answer['messages'][0]['code'], 'not_found')


WRONG = [
    ('search_catalog', {}, 1),
    ('search_catalog', {'query': 1, 'filters': {'price': {'min': -1, 'max': 'x'}}, 'pagination': {'limit': 0}}, 4),
    ('lookup_catalog', {'ids': [], 'signals': {'ip': 1}}, 2),
    ('lookup_catalog', {'ids': [str(number) for number in range(51)]}, 1),
    ('get_product', {'id': 7, 'selected': [{'label': 1}]}, 3),
    ('get_product', [], 1),
]


async def refusals(dealer):
    for operation, body, problems in WRONG:
        status, answer = dealer.post(operation, body, is_valid=False)
        same(status, 400)
        dealer.judge('error', answer)
        same(len(answer['messages']), problems)


def arguments(body):
    return {'meta': {'ucp-agent': {'profile': PROFILE}}, 'catalog': body}


async def over_mcp(dealer, products):
    # The client of MCP does not wait when it is limited; this gives back the requests that it needs, whoever has asked
    # the dealer before.
    await asyncio.sleep(20)
    async with Client(f'{dealer.base}/ucp/mcp', mode='legacy') as client:
        listed = await client.list_tools()
        same([tool.name for tool in listed.tools], list(PATHS))
        for operation, body in [
            ('search_catalog', {'query': 'honda', 'pagination': {'limit': 2}}),
            ('lookup_catalog', {'ids': [products[0]['id'], 'nothing']}),
            ('get_product', {'id': products[0]['id']}),
            ('get_product', {'id': 'nothing'}),
        ]:
            result = await client.call_tool(operation, arguments(body))
            same(result.is_error, False)
            over_rest = dealer.ask(operation, body)
            same(result.structured_content, over_rest)
            same(json.loads(result.content[0].text), over_rest)
        for wrong, said in [
            ({'catalog': {'query': 'a'}}, 'name your profile'),
            (arguments({'query': ''}), '$.catalog.query: must not be empty'),
        ]:
            try:
                await client.call_tool('search_catalog', wrong)
            except Exception as refused:  # whichever kind the release of the client has
                expect(said in str(refused), str(refused))
            else:
                raise AssertionError(f'nothing was wrong with {wrong}')


async def runner(dealer, products):
    """The checks of an independent runner about profiles, catalogs and their tools: none may deviate.

    It takes a business with a product for one with a checkout; those checks are left out.
    """
    # It does not wait when it is limited; half a minute gives back the requests that it needs.
    await asyncio.sleep(30)
    areas = ('catalog.', 'discovery.', 'mcp.', 'profile.', 'negotiation.')
    known = products[0]['id']
    config = {'product_id': known, 'currency': 'USD', 'catalog': {'variant_id': known, 'max_batch': 50}}
    with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
        json.dump(config, file)
        file.flush()
        program = str(pathlib.Path(sys.executable).parent / 'spck-conformance')
        command = [program, '--server', dealer.base, '--config', file.name, '--json']
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    expect(done.stdout.strip().startswith('{'), done.stderr[-2000:])
    checks = [one for one in json.loads(done.stdout)['checks'] if one['id'].startswith(areas)]
    clean = [one['id'] for one in checks if one['status'] == 'clean-pass']
    wrong = [one['id'] for one in checks if one['status'] == 'deviation']
    print(f'      spck-conformance: {len(clean)} checks passed, {len(wrong)} deviate')
    same(wrong, [])
    expect(len(clean) > 20, clean)


async def main(base):
    tally = Tally()
    tally.over = 'UCP'
    folder = os.environ.get('UCP_SPECIFICATION')
    published = Published(folder) if folder else None
    if not published:
        print('without UCP_SPECIFICATION: the JSON Schemas judge nothing, the models of the SDK alone do')
    dealer = Dealer(base.rstrip('/'), published)
    await tally.check('the profile is one of a business without a checkout', profile(dealer))
    products = await tally.check('a search has pages', pages(dealer)) or []
    await tally.check('a search reads words and filters', words(dealer))
    await tally.check('identifiers lead to products', lookups(dealer, products))
    await tally.check('a product has all details', details(dealer, products))
    await tally.check('wrong requests are error responses', refusals(dealer))
    await tally.check('MCP answers as REST does', over_mcp(dealer, products))
    await tally.check('an independent runner finds no deviation', runner(dealer, products))
    if published:
        print(f'      {published.judged} documents were judged by the published JSON Schemas')
    return tally.close()


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit('usage: python client.py DEALER_URL')
    sys.exit(asyncio.run(main(sys.argv[1])))
