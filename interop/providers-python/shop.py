"""Libraries of assistants shop at a dealer, of whom they know the address alone.

    python shop.py DEALER_URL MAIL_FOLDER [CUSTOMER...]

Each library lists the tools, searches, reads the details of two vehicles to compare them, and sends a lead after the
consent text was shown: by the texts of the results, which are all that a model sees. Each lead has to arrive in
MAIL_FOLDER, where a mail server writes its messages, as ADF about the vehicle that was chosen. So do the leads that
other clients have sent for each CUSTOMER, an e-mail address.
"""

import asyncio
import email
import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

from agents import Agent, RunConfig, Runner
from agents.mcp import MCPServerStreamableHttp
from agents.testing import ScriptedModel, assistant_message, function_call
from anthropic.lib.tools.mcp import async_mcp_tool
from google.genai._adapters import McpToGenAiToolAdapter
from google.genai.types import FunctionCall
from mcp import Client

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / 'python'))
from checks import Tally, expect, same  # noqa: E402

TOOLS = {
    'aap_dealer_information',
    'aap_inventory_facets',
    'aap_inventory_search',
    'aap_inventory_vehicle',
    'aap_lead_submit',
}
SEARCH = {'filters': {'make': ['Honda']}, 'sort': {'field': 'price', 'order': 'asc'}, 'pagination': {'limit': 2}}


class Library:
    """A library with its connection to a server of MCP."""

    def __init__(self, connection):
        self.connection = connection

    async def __aenter__(self):
        await self.connection.__aenter__()
        return self

    async def __aexit__(self, *ended):
        await self.connection.__aexit__(*ended)


class OpenAi(Library):
    """`openai-agents`: a whole run of an agent, whose model is a script."""

    def __init__(self, url):
        super().__init__(MCPServerStreamableHttp(params={'url': url}))

    async def names(self):
        return {tool.name for tool in await self.connection.list_tools()}

    async def call(self, name, arguments):
        model = ScriptedModel([[function_call(name, json.dumps(arguments), call_id='1')], [assistant_message('done')]])
        agent = Agent(name='shopper', model=model, mcp_servers=[self.connection])
        await Runner.run(agent, 'Shop.', run_config=RunConfig(tracing_disabled=True))
        shown = [item for item in model.last_call.input if item.get('type') == 'function_call_output']
        return text_of(shown[-1]['output'])


class Anthropic(Library):
    """`anthropic`: its tools as `tool_runner` calls them."""

    def __init__(self, url):
        super().__init__(Client(url))

    async def names(self):
        listed = (await self.connection.list_tools()).tools
        self.tools = {tool.name: async_mcp_tool(tool, self.connection) for tool in listed}
        return set(self.tools)

    async def call(self, name, arguments):
        return text_of(await self.tools[name].call(arguments))


class Google(Library):
    """`google-genai`: function calls as its automatic function calling performs them."""

    def __init__(self, url):
        super().__init__(Client(url))

    async def names(self):
        self.adapter = McpToGenAiToolAdapter(self.connection, await self.connection.list_tools())
        return {declared.name for tool in self.adapter.tools for declared in tool.function_declarations}

    async def call(self, name, arguments):
        result = await self.adapter.call_tool(FunctionCall(name=name, args=arguments))
        return ''.join(block.text for block in result.content)


def text_of(output):
    """The text of a result, however a library hands it on."""
    if isinstance(output, str):
        try:
            return text_of(json.loads(output))
        except ValueError:
            return output
    if isinstance(output, dict):
        return output.get('text', '')
    return ''.join(text_of(block) for block in output)


def mails(folder):
    """The ADF documents that have arrived, by the e-mail address of the customer."""
    found = {}
    for file in folder.iterdir() if folder.exists() else ():
        message = email.message_from_bytes(file.read_bytes())
        for part in message.walk():
            text = (part.get_payload(decode=True) or b'').decode('utf-8', 'replace')
            if '</adf>' in text:
                document = ElementTree.fromstring(text[text.index('<adf>'):text.index('</adf>') + len('</adf>')])
                found.setdefault(document.findtext('.//customer/contact/email'), []).append(document)
    return found


async def arrives(folder, customer, vin=None):
    for _ in range(300):
        documents = mails(folder).get(customer, [])
        if documents:
            break
        await asyncio.sleep(0.1)
    same(len(documents), 1)
    if vin is not None:
        same(documents[0].findtext('.//vehicle/vin'), vin)
    comments = documents[0].findtext('.//customer/comments')
    expect('CONSENT TEXT: I agree' in comments and comments.endswith('Is it still there?'), comments)


async def shop(tally, library, folder, customer):
    async def lists():
        same(await library.names(), TOOLS)

    async def searches():
        text = await library.call('aap_inventory_search', SEARCH)
        vins = re.findall(r'vin ([A-HJ-NPR-Z0-9]{17})', text)
        same(len(vins), 2)
        expect('https://' in text and 'Larkspur' in text, text)
        return vins

    async def compares(vins):
        prices = []
        for vin in vins:
            text = await library.call('aap_inventory_vehicle', {'vin': vin})
            expect(vin in text and 'Honda' in text, text)
            prices.append(int(re.search(r'\$([\d,]+)', text)[1].replace(',', '')))
        expect(prices[0] <= prices[1], prices)

    async def sends(vin):
        lead = {
            'customer': {'first_name': 'Joan', 'last_name': 'Host', 'email': customer},
            'consent': {'allowed_channels': ['email']},
            'vehicle_of_interest': {'vin': vin},
            'message': 'Is it still there?',
        }
        text = await library.call('aap_lead_submit', lead)
        expect('I agree that the car dealer' in text and customer in text, text)
        same(mails(folder).get(customer), None)
        confirmation = re.search(r'confirmation (\S+)$', text.strip())[1]
        agreed = {**lead, 'consent_shown_to_user': True, 'confirmation': confirmation}
        sent = await library.call('aap_lead_submit', agreed)
        expect('received' in sent, sent)

    await tally.check('the tools are listed', lists())
    vins = await tally.check('a search finds vehicles with links', searches())
    if vins is None:
        return
    await tally.check('two vehicles are compared', compares(vins))
    await tally.check('a lead is sent after consent', sends(vins[0]))
    await tally.check('the lead arrives at the mail server as ADF', arrives(folder, customer, vins[0]))


async def main(dealer, folder, *customers):
    tally = Tally()
    url = dealer.rstrip('/') + '/mcp'
    for library in [OpenAi, Anthropic, Google]:
        tally.over = library.__doc__.split(':')[0].strip('`')
        name = library.__name__.lower()
        async with library(url) as opened:
            await shop(tally, opened, Path(folder), f'{name}@buyer.example')
    tally.over = ''
    for customer in customers:
        await tally.check(f'the lead for {customer} arrives at the mail server as ADF', arrives(Path(folder), customer))
    return tally.close()


if __name__ == '__main__':
    if len(sys.argv) < 3:
        sys.exit('usage: python shop.py DEALER_URL MAIL_FOLDER [CUSTOMER...]')
    sys.exit(asyncio.run(main(*sys.argv[1:])))
