// Version 2 of the official JavaScript client of MCP, in each of its modes, against the bridge (over standard input and
// output and over HTTP) and against a publisher.
//
//   node mcp.js bridge TRADEPOST DEALER_URL BRIDGE_URL
//   node mcp.js publisher PUBLISHER_URL

import assert from 'node:assert/strict';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { check, close } from '../js/checks.js';

const [subject, ...addresses] = process.argv.slice(2);
const wanted = { bridge: 3, publisher: 1 }[subject];
if (wanted === undefined || addresses.length !== wanted) {
  console.error('usage: node mcp.js bridge TRADEPOST DEALER_URL BRIDGE_URL | publisher PUBLISHER_URL');
  process.exit(2);
}

/** The modes of version 2: the handshake of 2025, asking which release there is, and the new release alone. */
const modes = {
  legacy: { mode: 'legacy' },
  auto: { mode: 'auto' },
  pinned: { mode: { pin: '2026-07-28' } },
};

/** A client in a mode, and what a person answers to its forms. */
function newClient(mode, answer) {
  const capabilities = answer === undefined ? {} : { elicitation: { form: {} } };
  const options = { capabilities, versionNegotiation: modes[mode] };
  const client = new Client({ name: 'tradepost-interop', version: '0.0.0' }, options);
  if (answer !== undefined) {
    client.setRequestHandler('elicitation/create', () => answer);
  }
  return client;
}

async function shop(over, client) {
  const call = async (name, args, isError = false) => {
    const result = await client.callTool({ name, arguments: args });
    assert.equal(result.isError ?? false, isError, JSON.stringify(result));
    return result.structuredContent;
  };
  await check(`${over}: the tools are listed`, async () => {
    const { tools } = await client.listTools();
    assert.equal(tools.length, 5);
  });
  const vehicle = await check(`${over}: a search finds vehicles`, async () => {
    const { data } = await call('aap_inventory_search', { pagination: { limit: 2 } });
    assert.equal(data.vehicles.length, 2);
    return data.vehicles[0];
  });
  await check(`${over}: a vehicle is told in detail`, async () => {
    const { data } = await call('aap_inventory_vehicle', { stock: vehicle.stock });
    assert.equal(data.vehicle_id, vehicle.vehicle_id);
  });
  await check(`${over}: what is wrong is listed at once`, async () => {
    const error = await call('aap_inventory_search', { filters: { maek: ['Honda'], year_min: 'x' } }, true);
    assert.deepEqual(error.problems.map((problem) => problem.field).sort(), ['/filters/maek', '/filters/year_min']);
  });
}

async function leadByForm(over, open, mode) {
  const lead = {
    customer: { first_name: 'Joan', last_name: 'Interop', email: 'js-v2@buyer.example' },
    consent: { allowed_channels: ['email'] },
    message: 'Is it still there?',
  };
  for (const [answer, status] of [
    [{ action: 'accept', content: { agree: true } }, 'sent'],
    [{ action: 'decline' }, 'declined'],
  ]) {
    await check(`${over}: a person who answers ${answer.action} in the form has the lead ${status}`, async () => {
      const client = newClient(mode, answer);
      await client.connect(open());
      const result = await client.callTool({ name: 'aap_lead_submit', arguments: lead });
      await client.close();
      assert.equal(result.structuredContent.status ?? result.structuredContent.code.toLowerCase(), status,
        JSON.stringify(result.structuredContent));
    });
  }
}

async function buy(over, client) {
  await check(`${over}: the tools are listed`, async () => {
    const { tools } = await client.listTools();
    assert.ok(tools.some((tool) => tool.name === 'create_media_buy'));
  });
  await check(`${over}: the whole schema of a tool is a resource`, async () => {
    const { resources } = await client.listResources();
    const { uri } = resources.find((resource) => resource.name === 'get_products');
    const { contents } = await client.readResource({ uri });
    assert.equal(JSON.parse(contents[0].text).type, 'object');
  });
  await check(`${over}: products are found`, async () => {
    const args = { buying_mode: 'brief', brief: 'banners beside hiking stories' };
    const result = await client.callTool({ name: 'get_products', arguments: args });
    assert.equal(result.isError ?? false, false, JSON.stringify(result));
    assert.ok(result.structuredContent.products.length > 0);
  });
  await check(`${over}: a refusal stands in both layers`, async () => {
    const result = await client.callTool({ name: 'get_products', arguments: { buying_mode: 'barter' } });
    assert.equal(result.isError, true);
    assert.equal(result.structuredContent.adcp_error.code, 'VALIDATION_ERROR');
  });
}

function transports() {
  if (subject === 'publisher') {
    const headers = { Authorization: 'Bearer demo-acme-outdoor-v1' };
    const url = new URL('/mcp', addresses[0]);
    return { http: () => new StreamableHTTPClientTransport(url, { requestInit: { headers } }) };
  }
  const [tradepost, dealer, bridge] = addresses;
  return {
    stdio: () => new StdioClientTransport({ command: tradepost, args: ['mcp', dealer] }),
    http: () => new StreamableHTTPClientTransport(new URL(bridge)),
  };
}

for (const [transport, open] of Object.entries(transports())) {
  for (const mode of Object.keys(modes)) {
    const over = `${transport}, ${mode}`;
    const client = newClient(mode);
    const isConnected = await check(`${over}: the client connects`, async () => {
      await client.connect(open());
      return true;
    });
    if (!isConnected) continue;
    if (subject === 'publisher') {
      await buy(over, client);
    } else {
      await shop(over, client);
      await leadByForm(over, open, mode);
    }
    await client.close();
  }
}
close();
