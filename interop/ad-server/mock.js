// The adapter `http` against the AdCP SDK's mock ad server `sales-guaranteed`.
//
//   node mock.js DRIVE [HARNESS]
//
// DRIVE is the example of the crate. Without HARNESS the mock is the one of the newest SDK on npm; HARNESS is a built
// checkout of adcp-client (docs/conformance.md), whose mock has a scenario controller besides.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

import { check, close } from '../js/checks.js';
import { Driver, order } from './driver.js';
import { walk } from './walk.js';

const [program, harness] = process.argv.slice(2);
if (program === undefined) {
  console.error('usage: node mock.js DRIVE [HARNESS]');
  process.exit(2);
}
const sdk = harness === undefined ? resolve(import.meta.dirname, '../adcp-js/node_modules/@adcp/sdk') : resolve(harness);
const { bootMockServer } = createRequire(import.meta.url)(join(sdk, 'dist/lib/mock-server/index.js'));

const mock = await bootMockServer({ specialism: 'sales-guaranteed', port: 0 });
const options = { credential: mock.auth.apiKey, network: 'net_premium_us', advertiser: 'adv_acme' };
const inventory = ['product/sports_preroll_q2_guaranteed', 'ad_unit/au_us_video_preroll'];
const { driver, spoiler, made, flight, asset } = await walk({ program, url: mock.url, options, inventory, label: 'mock' });

await check('mock: what it does not have is unsupported, and not missing', async () => {
  const unsupported = { error: 'Refused', reason: 'Unsupported' };
  await driver.fails('change_order_state', { order: made, change: 'pause' }, unsupported);
  await driver.fails('change_line_item_state', { order: made, line_item: flight, change: 'cancel' }, unsupported);
  await driver.fails('change_order', { order: made, spec: order() }, unsupported);
  await driver.fails('dissociate_creative', { order: made, line_item: flight, creative: asset }, unsupported);
});
await check('mock: what was made is found, though it keeps no id of ours', async () => {
  assert.equal((await driver.ok('find_order', { id: 'mb_7f3a' })).id, made);
  assert.equal((await driver.ok('find_creative', { id: 'cr_1@1' })).id, asset);
  assert.equal(await driver.ok('find_order', { id: 'mb_7f3' }), null);
  const [view] = await driver.ok('inspect', { order: made });
  assert.deepEqual([view.object.id, view.budget, view.creatives], [flight, 17500.25, [asset]]);
});
await check('mock: the routes were called', async () => {
  const { traffic } = await (await fetch(`${mock.url}/_debug/traffic`)).json();
  for (const route of [
    'GET /v1/inventory',
    'GET /v1/products',
    'POST /v1/availability',
    'POST /v1/orders',
    'POST /v1/orders/{id}/lineitems',
    'POST /v1/orders/{id}/lineitems/{li}/creative-attach',
    'POST /v1/creatives',
    'GET /v1/tasks/{id}',
    'GET /v1/orders/{id}/delivery',
  ]) {
    assert.ok(traffic[route] > 0, route);
  }
});

if (mock.scenario !== undefined) {
  const scenario = mock.scenario;
  const quick = new Driver(program, 'http', mock.url, { ...options, 'timeout-ms': 300 });
  const scripted = async (script, error) => {
    scenario.addScript({ match: { method: 'POST', path: '/v1/orders' }, ...script });
    const detail = await quick.fails('create_order', { order: order({ external_id: 'mb_scripted' }) }, error);
    scenario.clearScripts();
    return detail;
  };
  await check('mock, scripted: slow, limited, broken, forbidden and nonsense', async () => {
    await scripted({ delay_ms: 2000, response: { status: 201, body: {} } }, { error: 'Unanswered' });
    await scripted({ response: { status: 429, headers: { 'retry-after': '7' } } }, { error: 'NotYet', seconds: 7 });
    await scripted({ response: { status: 500 } }, { error: 'Unanswered' });
    await scripted({ response: { status: 503 } }, { error: 'Unanswered' });
    await scripted({ response: { status: 200, body: {} } }, { error: 'Garbled' });
    await scripted({ response: { status: 200, body: { order_id: 'o', status: 'odd' } } }, { error: 'Garbled' });
    const other = { order_id: 'o', status: 'draft', client_request_id: 'mb_other' };
    await scripted({ response: { status: 201, body: other } }, { error: 'Garbled' });
    const forbidden = { status: 403, body: { code: 'approval_forbidden', message: 'You may not.\u0007' } };
    const detail = await scripted({ response: forbidden }, { error: 'Refused', reason: 'Permission' });
    assert.equal(detail, 'You may not.');
    const none = { status: 422, body: { code: 'no_inventory', message: 'Sold out.' } };
    await scripted({ response: none }, { error: 'Refused', reason: 'NoInventory' });
    const moved = { status: 307, headers: { location: 'http://127.0.0.1:1/' } };
    await scripted({ response: moved }, { error: 'Refused', reason: 'Invalid' });
  });
  quick.close();
}

driver.close();
spoiler.stop();
await mock.close();
close();
