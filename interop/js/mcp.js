// The official JavaScript client of MCP, against the bridge in front of a running Tradepost.
//
//   node mcp.js TRADEPOST DEALER_URL BRIDGE_URL
//
// Once over standard input and output, for which the client starts the binary itself, and once
// over streamable HTTP. The client checks results against the tools' output schemas.

import assert from 'node:assert/strict';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

import * as checks from './checks.js';

const [tradepost, dealer, bridge] = process.argv.slice(2);
if (bridge === undefined) {
  console.error('usage: node mcp.js TRADEPOST DEALER_URL BRIDGE_URL');
  process.exit(2);
}

let over = '';

/** A check, said to be over this transport. */
const check = (name, work) => checks.check(`${over}: ${name}`, work);

async function shop(client) {
  const call = async (name, args, isError = false) => {
    const result = await client.callTool({ name, arguments: args });
    assert.equal(result.isError, isError, JSON.stringify(result));
    assert.equal(result.content[0].type, 'text');
    assert.ok(result.content[0].text.length > 0);
    return result.structuredContent;
  };
  await check('the tools are listed', async () => {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), [
      'aap_dealer_information', 'aap_inventory_facets', 'aap_inventory_search',
      'aap_inventory_vehicle', 'aap_lead_submit',
    ]);
    for (const tool of tools) {
      assert.equal(tool.inputSchema.type, 'object');
      assert.equal(tool.annotations.readOnlyHint, tool.name !== 'aap_lead_submit');
    }
  });
  await check('the dealer introduces itself', async () => {
    const { dealers, errors } = await call('aap_dealer_information', {});
    assert.equal(dealers[0].data.name, 'Larkspur Motors');
    assert.deepEqual(errors, []);
  });
  await check('facets say what there is', async () => {
    const { data } = await call('aap_inventory_facets', { filters: { condition: ['used'] } });
    assert.ok(data.makes.length > 0);
  });
  const vehicle = await check('a search finds vehicles in order', async () => {
    const { data, next_skip: next } = await call('aap_inventory_search', {
      filters: { price_max: 60000 }, sort: { field: 'price', order: 'asc' },
      pagination: { limit: 5 },
    });
    assert.equal(data.vehicles.length, 5);
    assert.equal(next, 5);
    const prices = data.vehicles.map((found) => found.price);
    assert.deepEqual(prices, [...prices].sort((a, b) => a - b));
    return data.vehicles[0];
  });
  await check('a vehicle is told in detail', async () => {
    const { data } = await call('aap_inventory_vehicle', { stock: vehicle.stock });
    assert.equal(data.vehicle_id, vehicle.vehicle_id);
  });
  await check('what is wrong is listed at once', async () => {
    const error = await call(
      'aap_inventory_search', { filters: { maek: ['Honda'], year_min: 'x' }, dealers: ['y'] }, true);
    assert.equal(error.code, 'INVALID_ARGUMENTS');
    assert.deepEqual(
      error.problems.map((problem) => problem.field).sort(),
      ['/dealers/0', '/filters/maek', '/filters/year_min']);
  });
  await check("the dealer's refusal keeps its code", async () => {
    const error = await call('aap_inventory_vehicle', { vin: '1ZZZZZZZZZZZZZZZZ' }, true);
    assert.equal(error.code, 'VEHICLE_NOT_FOUND');
  });
  const lead = {
    customer: { first_name: 'Joan', last_name: 'Interop', email: `js-${over}@buyer.example` },
    consent: { allowed_channels: ['email'] },
    vehicle_of_interest: { vin: vehicle?.vin },
    message: 'Is it still there?',
  };
  await check('a lead is sent only with the text that the user has seen', async () => {
    const first = await call('aap_lead_submit', lead);
    assert.equal(first.status, 'confirmation_required');
    assert.ok(first.consent_text.includes(lead.customer.email));
    const { confirmation } = first;
    const early = await call('aap_lead_submit', { ...lead, confirmation }, true);
    assert.equal(early.problems[0].field, '/consent_shown_to_user');
    const agreed = { confirmation, consent_shown_to_user: true };
    const changed = await call('aap_lead_submit', { ...lead, message: 'Other', ...agreed }, true);
    assert.equal(changed.code, 'CONFIRMATION_INVALID');
    const sent = await call('aap_lead_submit', { ...lead, ...agreed });
    assert.equal(sent.data.status, 'received');
    const again = await call('aap_lead_submit', { ...lead, ...agreed });
    assert.equal(again.data.lead_id, sent.data.lead_id);
  });
  await check('a tool that does not exist is -32602', async () => {
    await assert.rejects(client.callTool({ name: 'aap_buy', arguments: {} }), { code: -32602 });
  });
}

/** What a person who reads the form and answers so comes to; what they read is kept in `read`. */
async function asked(transport, answer, read) {
  const info = { name: 'tradepost-interop', version: '0.0.0' };
  const client = new Client(info, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    read.push(params.message);
    return answer;
  });
  await client.connect(transport);
  const lead = {
    customer: { first_name: 'Joan', last_name: 'Interop', email: `js-${over}-asked@buyer.example` },
    consent: { allowed_channels: ['email'] },
    message: 'Is it still there?',
  };
  const result = await client.callTool({ name: 'aap_lead_submit', arguments: lead });
  await client.close();
  return result.structuredContent;
}

const transports = [
  ['stdio', () => new StdioClientTransport({ command: tradepost, args: ['mcp', dealer] })],
  ['http', () => new StreamableHTTPClientTransport(new URL(bridge))],
];
for (const [name, open] of transports) {
  over = name;
  const client = new Client({ name: 'tradepost-interop', version: '0.0.0' });
  const connected = await check('the client connects', async () => {
    await client.connect(open());
    return true;
  });
  if (connected) {
    await shop(client);
    await client.close();
  }
  await check('a person who agrees in the form sends the lead', async () => {
    const read = [];
    const sent = await asked(open(), { action: 'accept', content: { agree: true } }, read);
    assert.equal(sent.status, 'sent', JSON.stringify(sent));
    assert.ok(read.length === 1 && read[0].startsWith(sent.consent.consent_text), read[0]);
  });
  await check('a person who says no, or ticks nothing, sends nothing', async () => {
    for (const answer of [
      { action: 'decline' }, { action: 'cancel' }, { action: 'accept', content: { agree: false } },
    ]) {
      assert.equal((await asked(open(), answer, [])).code, 'DECLINED');
    }
  });
}

checks.close();
