#!/usr/bin/env node
// Runs the binary that npm has installed for this platform, and ends as it does.
'use strict';
const { spawn } = require('node:child_process');

const name = `@tradepost/${process.platform}-${process.arch}`;

function binary() {
  try {
    return require.resolve(`${name}/tradepost`);
  } catch {
    console.error(`error: tradepost has no binary for ${process.platform} on ${process.arch}`);
    console.error(`hint: npm leaves ${name} out with --no-optional; or build tradepost from its sources`);
    process.exit(1);
  }
}

const child = spawn(binary(), process.argv.slice(2), { stdio: 'inherit' });
// A host of MCP servers signals this process alone.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('error', (error) => {
  console.error(`error: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
