// The example `drive` of the crate `tradepost-ad-server`: each call of the port is a line to it, and a line back.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A running adapter. */
export class Driver {
  constructor(program, kind, url, options) {
    const named = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    this.child = spawn(program, [kind, url, ...named], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  /** Makes a call, and gives `{ok}` or `{error, reason, detail}`. */
  async call(call, members = {}) {
    this.child.stdin.write(`${JSON.stringify({ call, ...members })}\n`);
    const { value, done } = await this.lines.next();
    assert.ok(!done, 'the adapter has ended');
    return JSON.parse(value);
  }

  /** Makes a call that has to succeed. */
  async ok(call, members) {
    const answer = await this.call(call, members);
    assert.ok('ok' in answer, `${call}: ${JSON.stringify(answer)}`);
    return answer.ok;
  }

  /** Makes a call that has to fail. */
  async fails(call, members, error) {
    const { detail, ...answer } = await this.call(call, members);
    assert.deepEqual(answer, error, `${call}: ${detail}`);
    return detail;
  }

  close() {
    this.child.stdin.end();
  }
}

/** An order, changed as the check wants. */
export const order = (changes = {}) => ({
  external_id: 'mb_7f3a',
  name: 'Acme, spring',
  advertiser: null,
  advertiser_name: 'Acme',
  budget: 25000.5,
  currency: 'USD',
  start_time: '2026-12-01T05:00:00Z',
  end_time: '2026-12-31T05:00:00Z',
  ...changes,
});

/** A line item. */
export const lineItem = (changes = {}) => ({
  external_id: 'mb_7f3a/pk_1',
  name: 'Acme, spring, preroll',
  package_id: 'pk_1',
  inventory: [],
  is_guaranteed: true,
  pricing: 'cpm',
  rate: 35,
  currency: 'USD',
  budget: 17500.25,
  goal: { unit: 'impressions', amount: 500007 },
  start_time: '2026-12-01T05:00:00Z',
  end_time: '2026-12-31T05:00:00Z',
  targeting: {},
  sizes: [{ width: 300, height: 250 }],
  is_paused: false,
  ...changes,
});

/** A creative. */
export const creative = (changes = {}) => ({
  external_id: 'cr_1@1',
  name: 'Shoe',
  advertiser: null,
  format_id: 'display_300x250',
  size: { width: 300, height: 250 },
  content: { kind: 'image', url: 'https://assets.example/shoe.png' },
  click_url: 'https://acme.example/shoes',
  ...changes,
});
