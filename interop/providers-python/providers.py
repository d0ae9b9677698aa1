"""The bridge's tools, converted by the Python SDKs of providers of models.

    python providers.py TRADEPOST

Lists the tools of dealers and those of sellers of advertising, for which nobody has to be there, and has each SDK
convert all of them by its own code.
"""

import asyncio
import sys
from pathlib import Path

from agents.mcp import MCPServerStdio
from agents.mcp.util import MCPUtil
from anthropic.lib.tools.mcp import async_mcp_tool
from google.genai import types
from google.genai._mcp_utils import mcp_to_gemini_tool
from mcp import Client, StdioServerParameters

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / 'python'))
from checks import Tally, expect, same  # noqa: E402

ARGUMENTS = [
    'mcp', 'https://one.example', 'https://two.example',
    '--adcp', 'https://one.example/mcp', '--adcp', 'https://two.example/mcp',
]
COUNT = 17


async def google(tool):
    converted = mcp_to_gemini_tool(tool)
    declaration = converted.function_declarations[0]
    same(declaration.name, tool.name)
    same(set(declaration.parameters.properties), set(tool.input_schema['properties']))
    # The same by the class that callers fill in themselves, which knows no other keyword than those of Gemini.
    types.Schema.model_validate(upper(tool.input_schema))


def upper(schema):
    """A schema with the types spelled as Gemini's own."""
    out = dict(schema)
    out['type'] = schema['type'].upper()
    if 'properties' in schema:
        out['properties'] = {name: upper(member) for name, member in schema['properties'].items()}
    if 'items' in schema:
        out['items'] = upper(schema['items'])
    return out


async def openai(tool, server, strict):
    converted = MCPUtil.to_function_tool(tool, server, strict)
    same(converted.name, tool.name)
    # Where the SDK cannot make a schema strict, it says nothing and sends it as it is.
    same(converted.strict_json_schema, strict)
    same(set(converted.params_json_schema['properties']), set(tool.input_schema['properties']))


async def anthropic(tool):
    converted = async_mcp_tool(tool, None).to_dict()
    same(converted['name'], tool.name)
    same(converted['input_schema'], tool.input_schema)


async def main(tradepost):
    tally = Tally()
    async with Client(StdioServerParameters(command=tradepost, args=ARGUMENTS)) as client:
        tools = (await client.list_tools()).tools

    async def all_there():
        expect(len(tools) == COUNT, f'{len(tools)} tools')

    await tally.check('both tool lists are there', all_there())
    server = MCPServerStdio(params={'command': tradepost, 'args': ARGUMENTS})
    for tool in tools:
        await tally.check(f'google-genai converts {tool.name}', google(tool))
        for strict in [False, True]:
            how = 'strictly' if strict else 'as it is'
            await tally.check(
                f'openai-agents converts {tool.name} {how}', openai(tool, server, strict))
        await tally.check(f'anthropic converts {tool.name}', anthropic(tool))
    return tally.close()


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit('usage: python providers.py TRADEPOST')
    sys.exit(asyncio.run(main(sys.argv[1])))
