// A seller of AdCP on the official SDK of MCP (v2): one tool, which says what the seller can do.
//
//   node seller.mjs dual|strict
//
// `strict` speaks 2026-07-28 alone, `dual` the versions with a handshake as well. Prints `listening on URL`.

import { createServer } from 'node:http';

import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';

const capabilities = {
  adcp: { major_versions: [3], idempotency: { supported: false } },
  supported_protocols: ['media_buy'],
  status: 'completed',
};

function seller() {
  const server = new McpServer({ name: 'seller-on-the-sdk', version: '1.0.0' });
  const inputSchema = fromJsonSchema({ type: 'object', properties: {} });
  server.registerTool('get_adcp_capabilities', { description: 'What the seller can do', inputSchema }, () => ({
    content: [{ type: 'text', text: JSON.stringify(capabilities) }],
    structuredContent: capabilities,
  }));
  return server;
}

const legacy = process.argv[2] === 'strict' ? 'reject' : 'stateless';
const handle = toNodeHandler(createMcpHandler(seller, { legacy }));
const server = createServer((request, response) => {
  if (request.url === '/mcp') return handle(request, response);
  response.writeHead(404).end();
});
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}/mcp`));
