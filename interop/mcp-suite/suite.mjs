// The official conformance suite of MCP: its server scenarios against a publisher, a dealer and the bridge, and its client
// scenarios against `tradepost adcp`.
//
//   node suite.mjs TRADEPOST PUBLISHER_URL DEALER_URL BRIDGE_URL
//
// The suite wants Node 22, which is installed beside it. A scenario that fails has to stand in the baseline of its
// target with the reason, and one that stands there has to fail; one in which the suite checks nothing counts as
// neither, unless it is one of those that must pass.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [tradepost, publisher, dealer, bridge] = process.argv.slice(2);
const here = new URL('.', import.meta.url).pathname;
const node = join(here, 'node_modules/node/bin/node');
const suite = join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

const SERVER = ['server-initialize', 'ping', 'tools-list', 'resources-list', 'dns-rebinding-protection'];

const targets = [
  { name: 'publisher', mode: 'server', options: ['--url', `${publisher}/mcp`], must: SERVER },
  // A dealer and the bridge have tools, and no resources.
  { name: 'dealer', mode: 'server', options: ['--url', `${dealer}/mcp`], must: SERVER },
  { name: 'bridge', mode: 'server', options: ['--url', bridge], must: SERVER },
  {
    name: 'client',
    mode: 'client',
    options: ['--command', `${process.execPath} ${join(here, 'client.mjs')} ${tradepost}`],
    must: ['initialize', 'tools_call'],
  },
];

let passed = 0;
let failed = 0;
const report = (isOk, text) => {
  console.log(`${isOk ? 'ok   ' : 'FAIL '} ${text}`);
  isOk ? passed++ : failed++;
};

/** The scenarios of a baseline with the reason that stands behind each. */
function baseline(name) {
  const lines = readFileSync(join(here, `${name}.yml`), 'utf8').split('\n');
  const entries = lines.map((line) => /^ {2}- (\S+) # (.+)$/.exec(line)).filter(Boolean);
  return new Map(entries.map(([, scenario, reason]) => [scenario, reason]));
}

for (const { name, mode, options, must } of targets) {
  const known = baseline(name);
  const results = mkdtempSync(join(tmpdir(), 'mcp-suite-'));
  const all = [mode, ...options, '--suite', 'all', '--output-dir', results];
  const run = spawnSync(node, [suite, ...all], { encoding: 'utf8', timeout: 300_000 });
  rmSync(results, { recursive: true, force: true });
  const lines = run.stdout.split('\n').map((line) => /^[✓✗] (\S+): (\d+) passed, (\d+) failed/.exec(line));
  const found = new Map(lines.filter(Boolean).map(([, scenario, good, bad]) => [scenario, { good: +good, bad: +bad }]));
  if (found.size === 0) report(false, `${name}: the suite says nothing: ${run.stderr.slice(0, 500)}`);
  for (const [scenario, { good, bad }] of found) {
    const reason = known.get(scenario);
    if (bad > 0 && reason) console.log(`known ${name} ${scenario}: ${reason}`);
    else if (bad > 0) report(false, `${name} ${scenario}: ${bad} of ${good + bad} checks fail`);
    else if (reason) report(false, `${name} ${scenario} does not fail; take it out of ${name}.yml`);
    else if (good > 0) report(true, `${name} ${scenario}`);
  }
  for (const scenario of must.filter((scenario) => !found.get(scenario)?.good)) {
    report(false, `${name} ${scenario} must pass, and nothing of it did`);
  }
  for (const scenario of [...known.keys()].filter((scenario) => !found.has(scenario))) {
    report(false, `${name}.yml names ${scenario}, which the suite does not have`);
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
