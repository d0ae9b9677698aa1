// The client under test, as the suite starts it: node client.mjs TRADEPOST SERVER_URL. What it does depends on the
// scenario; it ends as tradepost does.

import { spawnSync } from 'node:child_process';

const [tradepost, url] = process.argv.slice(2);

/** What is asked of the server of a scenario; of all others its list of tools. */
const COMMANDS = {
  tools_call: ['call', url, 'add_numbers', '--args', '{"a": 5, "b": 3}', '--no-check'],
  'elicitation-sep1034-client-defaults': ['call', url, 'test_client_elicitation_defaults', '--no-check'],
  'sse-retry': ['call', url, 'test_reconnection', '--no-check'],
};

const command = COMMANDS[process.env.MCP_CONFORMANCE_SCENARIO] ?? ['tools', url];
const ended = spawnSync(tradepost, ['adcp', ...command, '--mcp', '--timeout', '10'], { stdio: 'inherit' });
process.exit(ended.status ?? 1);
