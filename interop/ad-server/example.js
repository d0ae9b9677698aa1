// The adapter `http` against the example server of docs/ad-server.md, which has all of the contract.
//
//   node example.js DRIVE

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { check, close } from '../js/checks.js';
import { creative, lineItem, order } from './driver.js';
import { walk } from './walk.js';

const [program] = process.argv.slice(2);
if (program === undefined) {
  console.error('usage: node example.js DRIVE');
  process.exit(2);
}
const credential = 'a-key-of-the-example';
const script = join(import.meta.dirname, 'example_server.py');
const server = spawn('python3', [script, '0', credential], { stdio: ['ignore', 'pipe', 'inherit'] });
const { value } = await createInterface({ input: server.stdout })[Symbol.asyncIterator]().next();
const url = value.replace('listening on ', '');
const options = { credential, network: 'net_example', advertiser: 'adv_acme' };
const inventory = ['product/display', 'ad_unit/front_page'];
const { driver, spoiler, made, flight, asset } = await walk({ program, url, options, inventory, label: 'example' });

await check('example: what was made is found by its id', async () => {
  assert.equal((await driver.ok('find_order', { id: 'mb_7f3a' })).id, made);
  assert.equal((await driver.ok('find_creative', { id: 'cr_1@1' })).id, asset);
  assert.equal(await driver.ok('find_order', { id: 'mb_never' }), null);
  const [listed] = await driver.ok('line_items', { order: made });
  assert.deepEqual([listed.id, listed.external_id], [flight, 'mb_7f3a/pk_1']);
});
await check('example: an order is paused and resumed, and a line item too', async () => {
  const change = (name) => driver.ok('change_order_state', { order: made, change: name });
  assert.deepEqual([await change('pause'), await change('resume')], ['paused', 'delivering']);
  const changeItem = (name) => driver.ok('change_line_item_state', { order: made, line_item: flight, change: name });
  assert.deepEqual([await changeItem('pause'), await changeItem('resume')], ['paused', 'delivering']);
});
await check('example: a line item is changed', async () => {
  const line_item = lineItem({ inventory, budget: 20000, goal: { unit: 'impressions', amount: 571428 }, is_paused: true });
  const changed = await driver.ok('change_line_item', { order: made, id: flight, line_item });
  assert.deepEqual([changed.id, changed.state], [flight, 'paused']);
});
await check('example: what was made is shown with its dates, budget and creatives', async () => {
  const [view] = await driver.ok('inspect', { order: made });
  assert.deepEqual(view, {
    object: { id: flight, external_id: 'mb_7f3a/pk_1', state: 'paused' },
    start_time: '2026-12-01T05:00:00Z',
    end_time: '2026-12-31T05:00:00Z',
    budget: 20000,
    creatives: [asset],
  });
});
await check('example: an order is changed', async () => {
  await driver.ok('change_order', { order: made, spec: order({ budget: 30000 }) });
});
await check('example: an association ends, and again', async () => {
  const members = { order: made, line_item: flight, creative: asset };
  await driver.ok('dissociate_creative', members);
  await driver.ok('dissociate_creative', members);
});
await check('example: a click address is not the address of the asset', async () => {
  const vast = { kind: 'vast', url: 'https://assets.example/vast.xml' };
  const members = creative({ external_id: 'cr_9@1', content: vast, click_url: null });
  const { id } = await driver.ok('create_creative', { creative: members });
  const headers = { authorization: `Bearer ${credential}`, 'x-network-code': 'net_example' };
  const { creatives } = await (await fetch(`${url}/v1/creatives?client_request_id=cr_9@1`, { headers })).json();
  assert.deepEqual(creatives, [
    {
      client_request_id: 'cr_9@1',
      name: 'Shoe [cr_9@1]',
      format_id: 'display_300x250',
      advertiser_id: 'adv_acme',
      kind: 'vast',
      asset_url: 'https://assets.example/vast.xml',
      width: 300,
      height: 250,
      creative_id: id,
    },
  ]);
});
await check('example: an order that was canceled stays it', async () => {
  assert.equal(await driver.ok('change_order_state', { order: made, change: 'cancel' }), 'canceled');
  const invalid = { error: 'Refused', reason: 'Invalid' };
  await driver.fails('change_order_state', { order: made, change: 'resume' }, invalid);
});
await check('example: a long name is cut at a character', async () => {
  const long = order({ external_id: 'mb_long', name: 'ü'.repeat(300) });
  const { id } = await driver.ok('create_order', { order: long });
  const headers = { authorization: `Bearer ${credential}`, 'x-network-code': 'net_example' };
  const { name, budget } = await (await fetch(`${url}/v1/orders/${id}`, { headers })).json();
  assert.deepEqual([name, budget], [`${'ü'.repeat(245)} [mb_long]`, 25000.5]);
});

driver.close();
spoiler.stop();
server.kill();
close();
