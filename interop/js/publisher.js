// The official JavaScript clients of MCP and A2A, against the demo publisher.
//
//   node publisher.js BASE_URL

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import { ClientFactory, DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { check, close } from './checks.js';

const [base] = process.argv.slice(2);
if (base === undefined) {
  console.error('usage: node publisher.js BASE_URL');
  process.exit(2);
}

/** A credential of the demo, which is no secret. */
const credential = { Authorization: 'Bearer demo-acme-outdoor-v1' };

/** The extension without which the agent answers no message. */
const profile = 'https://adcontextprotocol.org/extensions/adcp/v3';

async function connected(headers) {
  const url = new URL('/mcp', base);
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } });
  const client = new Client({ name: 'tradepost-interop', version: '0.0.0' });
  await client.connect(transport);
  return client;
}

let tools = [];
const client = await check('mcp: the client connects', () => connected(credential));
await check('mcp: the tools are listed', async () => {
  ({ tools } = await client.listTools());
  for (const name of ['get_adcp_capabilities', 'get_products', 'create_media_buy']) {
    assert.ok(tools.some((tool) => tool.name === name), name);
  }
});
await check('mcp: the whole schema of a tool is a resource', async () => {
  const { resources } = await client.listResources();
  assert.deepEqual(resources.map((resource) => resource.name), tools.map((tool) => tool.name));
  const { uri } = resources.find((resource) => resource.name === 'create_media_buy');
  const { contents } = await client.readResource({ uri });
  assert.ok('io_acceptance' in JSON.parse(contents[0].text).properties);
});
await check('mcp: whoever shows no credential sees the same tools', async () => {
  const stranger = await connected({});
  assert.deepEqual((await stranger.listTools()).tools, tools);
  await assert.rejects(stranger.callTool({ name: 'list_creatives', arguments: {} }), /401|AUTH_MISSING/);
});
await check('mcp: the capabilities are told', async () => {
  const result = await client.callTool({ name: 'get_adcp_capabilities', arguments: {} });
  assert.equal(result.isError, false);
  assert.equal(result.structuredContent.status, 'completed');
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
});
await check('mcp: a refusal stands in both layers', async () => {
  const args = { buying_mode: 'barter', context: { n: 1 } };
  const result = await client.callTool({ name: 'get_products', arguments: args });
  assert.equal(result.isError, true);
  const { adcp_error: error, errors, context } = result.structuredContent;
  assert.equal(error.code, 'VALIDATION_ERROR');
  assert.deepEqual(errors[0], error);
  assert.deepEqual(context, { n: 1 });
});
await check('mcp: a tool that does not exist is -32602', async () => {
  await assert.rejects(client.callTool({ name: 'nothing', arguments: {} }), { code: -32602 });
});
await client?.close();

const card = await check('a2a: the card is read', () => new DefaultAgentCardResolver().resolve(base));
await check('a2a: the skills are the tools', async () => {
  assert.deepEqual(card.skills.map((skill) => skill.id), tools.map((tool) => tool.name));
});

/** The headers of every request. */
const fetchAsBuyer = (url, init) => {
  const headers = new Headers(init?.headers);
  headers.set('Authorization', credential.Authorization);
  headers.set('A2A-Extensions', profile);
  return fetch(url, { ...init, headers });
};

/** A message as the older clients of AdCP send it, and what comes back. */
async function older(skill, parameters) {
  const message = {
    kind: 'message', messageId: randomUUID(), role: 'user',
    parts: [{ kind: 'data', data: { skill, parameters } }],
  };
  const body = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } };
  const headers = { ...credential, 'Content-Type': 'application/json' };
  const sent = await fetch(card.url ?? new URL('/a2a', base), {
    method: 'POST', headers, body: JSON.stringify(body),
  });
  return (await sent.json()).result;
}

await check('a2a 0.3: a call is answered with a task of that release', async () => {
  const task = await older('get_adcp_capabilities', {});
  assert.equal(task.kind, 'task');
  assert.equal(task.status.state, 'completed');
  const failed = await older('get_products', { buying_mode: 'barter' });
  assert.equal(failed.status.state, 'failed');
  const data = failed.artifacts[0].parts.find((part) => part.kind === 'data');
  assert.equal(data.data.adcp_error.code, 'VALIDATION_ERROR');
});
await check('a2a 1.0: a call and a refusal', async () => {
  const { JsonRpcTransportFactory } = await import('@a2a-js/sdk/client');
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl: fetchAsBuyer })],
  });
  const agent = await factory.createFromAgentCard(card);
  const send = (skill, input) => agent.sendMessage({
    tenant: '', configuration: undefined, metadata: undefined,
    message: {
      messageId: randomUUID(), contextId: '', taskId: '', role: 1,
      parts: [{
        content: { $case: 'data', value: { skill, input } }, metadata: undefined, filename: '', mediaType: 'application/json',
      }],
      metadata: undefined, extensions: [], referenceTaskIds: [],
    },
  });
  const done = await send('get_adcp_capabilities', {});
  assert.equal(done.status.state, 3);
  const failed = await send('get_products', { buying_mode: 'barter' });
  assert.equal(failed.status.state, 4);
});

close();
