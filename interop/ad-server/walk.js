// What every ad server that speaks the contract of docs/ad-server.md has to do, by the adapter `http`.

import assert from 'node:assert/strict';
import http from 'node:http';

import { check } from '../js/checks.js';
import { creative, Driver, lineItem, order } from './driver.js';

/** A proxy in front of an ad server that spoils the next answer: the request has had its effect by then. */
export class Spoiler {
  constructor(target) {
    this.target = new URL(target);
    this.next = undefined;
    this.server = http.createServer((request, response) => this.pass(request, response));
  }

  async start() {
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  pass(request, response) {
    const { hostname, port } = this.target;
    const spoil = this.next;
    this.next = undefined;
    const path = request.url;
    const upstream = http.request({ hostname, port, path, method: request.method, headers: request.headers }, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('end', () => {
        if (spoil === undefined) {
          response.writeHead(answer.statusCode, answer.headers).end(Buffer.concat(parts));
        } else {
          spoil(response);
        }
      });
    });
    request.pipe(upstream);
  }

  stop() {
    this.server.close();
    this.server.closeAllConnections();
  }
}

/** Walks an order from its creation to its delivery. */
export async function walk({ program, url, options, inventory, label }) {
  const name = (what) => `${label}: ${what}`;
  const spoiler = new Spoiler(url);
  const driver = new Driver(program, 'http', await spoiler.start(), options);
  const item = lineItem({ inventory });

  await check(name('the connection is checked'), async () => {
    assert.match(await driver.ok('check'), /^network .+, \d+ ad units$/);
  });
  await check(name('its inventory is listed as products name it'), async () => {
    const listed = await driver.ok('inventory');
    for (const entry of inventory) {
      assert.ok(listed.some(({ id }) => id === entry), entry);
    }
  });
  await check(name('every problem of every package is found at once'), async () => {
    const line_items = [
      lineItem({ inventory: ['nothing/1'], currency: 'EUR' }),
      lineItem({ package_id: 'pk_2', inventory: [], targeting: { geo_places: [] } }),
    ];
    const problems = await driver.ok('validate', { order: order(), line_items });
    const fields = problems.map(({ package_id, field }) => `${package_id} ${field}`);
    assert.deepEqual(fields, [
      'pk_1 pricing_option_id',
      'pk_1 product_id',
      'pk_2 product_id',
      'pk_2 targeting_overlay.geo_places',
      'pk_2 product_id',
    ]);
    assert.deepEqual(await driver.ok('validate', { order: order(), line_items: [item] }), []);
  });
  await check(name('availability is asked for'), async () => {
    const { matched, available } = await driver.ok('availability', { line_item: item });
    assert.ok(matched > 0 && available <= matched, `${available} of ${matched}`);
  });

  const spoilers = {
    'answers 500 and did it': (response) => response.writeHead(500).end(),
    'closes the connection and did it': (response) => response.destroy(),
    'answers 200 with nothing and did it': (response) => response.writeHead(200).end(),
    'answers something else and did it': (response) => response.writeHead(200).end('<html>'),
    'says 503 and did it': (response) => response.writeHead(503, { 'retry-after': '1' }).end('{}'),
  };
  let serial = 0;
  for (const [fault, spoil] of Object.entries(spoilers)) {
    await check(name(`one order, line item and creative where it ${fault}`), async () => {
      serial += 1;
      const id = `mb_spoiled_${serial}`;
      const errors = [];
      const twice = async (call, members) => {
        spoiler.next = spoil;
        const first = await driver.call(call, members);
        errors.push(first.error);
        return (await driver.ok(call, members)).id;
      };
      const made = await twice('create_order', { order: order({ external_id: id }) });
      assert.equal((await driver.ok('create_order', { order: order({ external_id: id }) })).id, made);
      const line_item = lineItem({ external_id: `${id}/pk_1`, inventory });
      const flight = await twice('create_line_item', { order: made, line_item });
      const listed = await driver.ok('line_items', { order: made });
      assert.deepEqual(listed.map((object) => object.id), [flight]);
      const members = { creative: creative({ external_id: `cr_${serial}@1` }) };
      const asset = await twice('create_creative', members);
      assert.equal((await driver.ok('create_creative', members)).id, asset);
      assert.ok(errors.every((error) => ['Unanswered', 'Garbled'].includes(error)), errors.join(', '));
    });
  }

  const made = await check(name('an order is made once under one id'), async () => {
    const first = await driver.ok('create_order', { order: order() });
    const again = await driver.ok('create_order', { order: order() });
    assert.equal(first.external_id, 'mb_7f3a');
    assert.equal(again.id, first.id);
    return first.id;
  });
  await check(name('the same id with another content is a conflict'), async () => {
    const other = order({ budget: 1, name: 'Another' });
    await driver.fails('create_order', { order: other }, { error: 'Refused', reason: 'Conflict' });
  });
  const flight = await check(name('a line item is made once'), async () => {
    const first = await driver.ok('create_line_item', { order: made, line_item: item });
    const again = await driver.ok('create_line_item', { order: made, line_item: item });
    assert.equal(again.id, first.id);
    return first.id;
  });
  const asset = await check(name('a creative is made once'), async () => {
    const first = await driver.ok('create_creative', { creative: creative() });
    assert.equal((await driver.ok('create_creative', { creative: creative() })).id, first.id);
    return first.id;
  });
  await check(name('a creative is associated, and again'), async () => {
    const members = { order: made, line_item: flight, creative: asset };
    await driver.ok('associate_creative', members);
    await driver.ok('associate_creative', members);
  });
  await check(name('an order is approved by a person there, and delivers'), async () => {
    const states = [await driver.ok('change_order_state', { order: made, change: 'approve' })];
    for (let times = 0; times < 5 && states.at(-1) !== 'delivering'; times += 1) {
      states.push(await driver.ok('order_state', { order: made }));
    }
    assert.equal(states[0], 'pending_approval');
    assert.equal(states.at(-1), 'delivering', states.join(', '));
  });
  await check(name('delivery is reported by line item and day'), async () => {
    const period = { from: '2026-12-01', to: '2026-12-07' };
    const rows = await driver.ok('delivery', { order: made, ...period });
    assert.equal(rows.length, 1);
    assert.equal(rows[0].line_item, flight);
    assert.ok(rows[0].impressions > 0 && rows[0].spend > 0 && rows[0].clicks > 0, JSON.stringify(rows));
    assert.deepEqual(await driver.ok('delivery', { order: made, ...period }), rows);
  });
  await check(name('an order that is not there is missing'), async () => {
    const missing = { error: 'Refused', reason: 'Missing' };
    await driver.fails('order_state', { order: 'ord_never' }, missing);
    await driver.fails('create_line_item', { order: 'ord_../x?y#z', line_item: item }, missing);
  });
  await check(name('a wrong credential and a wrong network are told apart'), async () => {
    const wrong = new Driver(program, 'http', url, { ...options, credential: 'not-the-secret' });
    const detail = await wrong.fails('check', {}, { error: 'Refused', reason: 'Credential' });
    assert.ok(!detail.includes('not-the-secret'), detail);
    wrong.close();
    const elsewhere = new Driver(program, 'http', url, { ...options, network: 'net_never' });
    await elsewhere.fails('check', {}, { error: 'Refused', reason: 'Missing' });
    elsewhere.close();
  });
  await check(name('an ad server that is away has been sent nothing'), async () => {
    const away = new Driver(program, 'http', 'http://127.0.0.1:1', options);
    await away.fails('create_order', { order: order() }, { error: 'Unsent' });
    away.close();
  });
  return { driver, spoiler, made, flight, asset };
}
