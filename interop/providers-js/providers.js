// The bridge's tools, converted by the JavaScript SDKs of providers of models:
//
//     node providers.js TRADEPOST
//
// Lists the tools of dealers and those of sellers of advertising, for which nobody has to be there, and has each SDK
// convert all of them by its own code.

import assert from 'node:assert/strict';

import { mcpTools } from '@anthropic-ai/sdk/helpers/beta/mcp';
import { mcpToTool } from '@google/genai';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { MCPServerStdio, mcpToFunctionTool } from '@openai/agents';

import * as checks from '../js/checks.js';

const [tradepost] = process.argv.slice(2);
if (tradepost === undefined) {
  console.error('usage: node providers.js TRADEPOST');
  process.exit(2);
}

const args = [
  'mcp', 'https://one.example', 'https://two.example',
  '--adcp', 'https://one.example/mcp', '--adcp', 'https://two.example/mcp',
];
const client = new Client({ name: 'tradepost-interop', version: '0.0.0' });
await client.connect(new StdioClientTransport({ command: tradepost, args }));
const { tools } = await client.listTools();

await checks.check('both tool lists are there', () => assert.equal(tools.length, 17));

await checks.check('@google/genai converts all tools', async () => {
  const { functionDeclarations } = await mcpToTool(client).tool();
  assert.deepEqual(
    functionDeclarations.map((one) => [one.name, one.parametersJsonSchema]),
    tools.map((tool) => [tool.name, tool.inputSchema]));
});

await checks.check('@anthropic-ai/sdk converts all tools', () => {
  const converted = mcpTools(tools, client);
  assert.deepEqual(
    converted.map((one) => [one.name, one.input_schema]),
    tools.map((tool) => [tool.name, tool.inputSchema]));
});

const server = new MCPServerStdio({ command: tradepost, args });
for (const tool of tools) {
  for (const strict of [false, true]) {
    const how = strict ? 'strictly' : 'as it is';
    await checks.check(`@openai/agents converts ${tool.name} ${how}`, () => {
      const converted = mcpToFunctionTool(tool, server, strict);
      assert.equal(converted.name, tool.name);
      // Where the SDK cannot make a schema strict, it says nothing and sends it as it is.
      assert.equal(converted.strict, strict);
      assert.deepEqual(
        Object.keys(converted.parameters.properties), Object.keys(tool.inputSchema.properties));
    });
  }
}

await client.close();
checks.close();
