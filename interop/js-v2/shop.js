// Version 2 of the official JavaScript client of MCP shops at a dealer, of whom it knows the address alone: it searches,
// compares two vehicles, and sends a lead to which the person agrees in the client's form.
//
//   node shop.js DEALER_URL CUSTOMER

import assert from 'node:assert/strict';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

import { check, close } from '../js/checks.js';

const [dealer, customer] = process.argv.slice(2);
if (customer === undefined) {
  console.error('usage: node shop.js DEALER_URL CUSTOMER');
  process.exit(2);
}
const over = 'JavaScript client at the address of a dealer';
const options = { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } };
const client = new Client({ name: 'tradepost-interop', version: '0.0.0' }, options);
const shown = [];
client.setRequestHandler('elicitation/create', ({ params }) => {
  shown.push(params.message);
  return { action: 'accept', content: { agree: true } };
});
await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', dealer)));

async function call(name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.equal(result.isError ?? false, false, JSON.stringify(result));
  return result.structuredContent.data;
}

const vehicles = await check(`${over}: a search finds vehicles`, async () => {
  const found = await call('aap_inventory_search', { filters: { make: ['Honda'] }, pagination: { limit: 2 } });
  assert.equal(found.vehicles.length, 2);
  return found.vehicles;
});
await check(`${over}: two vehicles are compared`, async () => {
  for (const vehicle of vehicles) {
    const detail = await call('aap_inventory_vehicle', { vin: vehicle.vin });
    assert.equal(detail.price, vehicle.price);
  }
});
await check(`${over}: a lead is sent when the person agrees`, async () => {
  const sent = await call('aap_lead_submit', {
    customer: { first_name: 'Joan', last_name: 'Host', email: customer },
    consent: { allowed_channels: ['email'] },
    vehicle_of_interest: { vin: vehicles[0].vin },
    message: 'Is it still there?',
  });
  assert.equal(sent.status, 'received');
  assert.equal(shown.length, 1);
  assert.match(shown[0], /I agree that the car dealer/);
});
await client.close();
close();
