#!/usr/bin/env node
// The official harness of AdCP as a library: everything that applies to a seller, in one process on one
// seller; called by interop/adcp --whole.
//
//     adcp-suite.mjs HARNESS VERSION URL PROTOCOL ORDER SUMMARY [STORYBOARD…]
//
// The command line gives every storyboard the same kit and none of the contracts that its own runner
// fulfils. Here each storyboard has the kit that its prerequisites name, and the runner's contracts are in
// scope: bursts, requests side by side, webhooks and the keys that sign them. Storyboards that rely on
// what is there run before those that put fixtures beside it, then those that hand an account over to a
// governance agent, and at last those whose products demand a provenance of every creative: that is the ORDER
// `sorted`, and `listed` is the harness's own. SUMMARY is what interop/adcp-judge reads. With names, only those
// storyboards run.
import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const [harness, version, url, protocol, order, summary, ...named] = process.argv.slice(2);
if (!summary) {
  console.error('adcp-suite.mjs HARNESS VERSION URL PROTOCOL ORDER SUMMARY [STORYBOARD…]');
  process.exit(2);
}
const root = resolve(harness);
const load = createRequire(join(root, 'package.json'));
const testing = load('./dist/lib/testing/index.js');
const { setAgentTesterLogger } = load('./dist/lib/testing/client.js');
const { StaticJwksResolver } = load('./dist/lib/signing/server.js');
const yaml = load('yaml');
const quiet = () => {};
setAgentTesterLogger({ info: quiet, error: quiet, warn: quiet, debug: quiet });
console.log = quiet;

const tree = join(root, 'compliance/cache', version);
const kit = path => yaml.parse(readFileSync(join(tree, path), 'utf8'));
const usual = 'test-kits/acme-outdoor.yaml';
// Two storyboards name their kit in the words of their prerequisites; all others in test_kit.
const worded = {
  billing_gate_dispatch: 'test-kits/billing-gate-runner.yaml',
  comply_controller_mode_gate: 'test-kits/acme-outdoor-live.yaml',
};
const kitOf = board => worded[board.id] ?? board.prerequisites?.test_kit ?? usual;

const keys = await (await fetch(new URL('/.well-known/jwks.json', url))).json();
const common = testing.applyAdcpVersionRunOptions(version, {
  protocol,
  allow_http: true,
  version,
  sandbox: true,
  webhook_receiver: { mode: 'loopback_mock' },
  contracts: ['webhook_receiver_runner', 'parallel_dispatch_runner', 'rate_limit_trip_runner'],
  allowLiveSideEffects: true,
  webhook_signing: { jwks: new StaticJwksResolver(keys.keys) },
});
const withKit = path => {
  const test_kit = kit(path);
  const token = test_kit.auth?.api_key;
  return { ...common, test_kit, auth: { type: 'bearer', token: token ?? kit(usual).auth.api_key } };
};

// What applies is chosen as the harness chooses it: by what the seller claims and which tools it has.
const first = await testing.comply(url, { ...withKit(usual), storyboards: ['capability_discovery'] });
const profile = first.agent_profile;
const chosen = new Map();
const choose = board => {
  if (!board || chosen.has(board.id)) return;
  const lacks = (board.required_tools ?? []).some(tool => !profile.tools.includes(tool));
  if (!lacks) chosen.set(board.id, board);
  for (const id of board.requires_scenarios ?? []) choose(testing.getComplianceStoryboardById(id, { version }));
};
testing.resolveStoryboardsForCapabilities(profile, { version }).storyboards.forEach(choose);
const steps = board => board.phases.flatMap(phase => phase.steps);
const rank = board => {
  // Its filter is to leave its own fixture alone, so that it is the first that has any.
  if (board.id === 'media_buy_seller/pricing_currency_filter') return 1;
  // It names a product of another storyboard's fixtures.
  if (board.id === 'media_buy_seller/refine_products') return 4;
  const products = board.fixtures?.products ?? [];
  if (products.some(product => product.creative_policy?.provenance_required)) return 5;
  if (steps(board).some(step => step.task === 'sync_governance')) return 3;
  return board.fixtures ? 2 : 0;
};
const boards = [...chosen.values()].filter(board => named.length === 0 || named.includes(board.id));
if (order === 'sorted') boards.sort((one, other) => rank(one) - rank(other));

const report = {
  storyboards_executed: [],
  passed: 0,
  skipped: 0,
  skipped_by_reason: {},
  skips: [],
  failures: [],
};
for (const board of boards) {
  // One at a time and by itself, so that required scenarios do not run again with each that requires them.
  const alone = { ...board, requires_scenarios: undefined };
  const options = withKit(kitOf(board));
  const result = await testing.runStoryboard(url, alone, options);
  report.storyboards_executed.push(board.id);
  for (const step of result.phases.flatMap(phase => phase.steps)) {
    if (step.skipped) {
      report.skipped += 1;
      const reason = step.skip_reason ?? 'unsaid';
      report.skipped_by_reason[reason] = (report.skipped_by_reason[reason] ?? 0) + 1;
      const { detail } = step.skip ?? {};
      report.skips.push({ storyboard_id: board.id, step_id: step.step_id, reason, detail });
    } else if (step.passed) {
      report.passed += 1;
    } else {
      const wrong = (step.validations ?? []).filter(it => !it.passed);
      const reason = step.error ?? wrong.map(it => it.error ?? it.description).join('; ');
      report.failures.push({ storyboard_id: board.id, step_id: step.step_id, reason });
    }
  }
}
report.completeness = named.length === 0 ? 'complete' : 'chosen';
writeFileSync(summary, JSON.stringify(report, null, 2));
process.exit(0);
