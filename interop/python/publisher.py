"""The official Python client of MCP, against the demo publisher.

    python publisher.py BASE_URL
"""

import asyncio
import json
import sys

import httpx
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from checks import Tally, expect, same

# A credential of the demo, which is no secret.
CREDENTIAL = {'Authorization': 'Bearer demo-acme-outdoor-v1'}


async def tools(client):
    listed = await client.list_tools()
    names = [tool.name for tool in listed.tools]
    for name in ('get_adcp_capabilities', 'get_products', 'create_media_buy'):
        expect(name in names, name)


async def capabilities(client):
    result = await client.call_tool('get_adcp_capabilities', {})
    same(result.is_error, False)
    same(result.structured_content['status'], 'completed')
    same(json.loads(result.content[0].text), result.structured_content)


async def refusal(client):
    arguments = {'buying_mode': 'barter', 'context': {'n': 1}}
    result = await client.call_tool('get_products', arguments)
    same(result.is_error, True)
    said = result.structured_content
    same(said['adcp_error']['code'], 'VALIDATION_ERROR')
    same(said['errors'][0], said['adcp_error'])
    same(said['context'], {'n': 1})


async def unknown(client):
    try:
        await client.call_tool('nothing', {})
    except MCPError as error:
        same(error.error.code, -32602)
    else:
        raise AssertionError('the call was answered instead of refused')


async def shop(tally, url):
    async with httpx.AsyncClient(headers=CREDENTIAL) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            await tally.check('the tools are listed', tools(client))
            await tally.check('the capabilities are told', capabilities(client))
            await tally.check('a refusal stands in both layers', refusal(client))
            await tally.check('a tool that does not exist is -32602', unknown(client))


async def main(base):
    tally = Tally()
    tally.over = 'mcp'
    await tally.check('the client connects and leaves', shop(tally, f'{base}/mcp'))
    return tally.close()


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit('usage: python publisher.py BASE_URL')
    sys.exit(asyncio.run(main(sys.argv[1])))
