// A host of MCP Apps, made of the official client and the official host side: it calls a tool, reads the page that the
// tool names, shows it in a frame without an origin, under the policy that the page's metadata asks for, and hands both
// ways through what the protocol has.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { AppBridge, PostMessageTransport, buildAllowAttribute, getToolUiResourceUri } from "@modelcontextprotocol/ext-apps/app-bridge";

const MEDIA_TYPE = "text/html;profile=mcp-app";

// The policy of a host, as the specification describes it: nothing but what the page names.
function policy(csp) {
  const named = (domains) => (domains ?? []).join(" ");
  const files = named(csp?.resourceDomains);
  return [
    "default-src 'none'",
    `script-src 'unsafe-inline' ${files}`,
    `style-src 'unsafe-inline' ${files}`,
    `img-src data: ${files}`,
    `connect-src ${named(csp?.connectDomains) || "'none'"}`,
    "frame-src 'none'",
    "base-uri 'none'",
  ].join("; ");
}

// Calls a tool and shows its page. Everything that the page asks of the host is written down. With `isWrapped` the page is
// put into the body of the host's own document, as the official inspector does.
globalThis.openApp = async (name, given, theme, isWrapped) => {
  const log = { tools: [], links: [], sizes: [] };
  globalThis.hostLog = log;
  const client = new Client({ name: "walk-host", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", location.href)));
  const { tools } = await client.listTools();
  const tool = tools.find((listed) => listed.name === name);
  const uri = getToolUiResourceUri(tool);
  const [page] = (await client.readResource({ uri })).contents;
  if (page.mimeType !== MEDIA_TYPE) throw new Error(`a page of ${page.mimeType}`);
  const frame = document.createElement("iframe");
  frame.sandbox.add("allow-scripts");
  frame.allow = buildAllowAttribute(page._meta?.ui?.permissions);
  frame.title = uri;
  document.body.replaceChildren(frame);
  const bridge = new AppBridge(null, { name: "walk-host", version: "1" }, { openLinks: {}, serverTools: {} }, {
    hostContext: { theme, displayMode: "inline", toolInfo: { tool }, locale: "en-US", platform: "web" },
  });
  bridge.onopenlink = async ({ url }) => {
    log.links.push(url);
    return {};
  };
  bridge.oncalltool = async (params) => {
    const result = await client.callTool(params);
    log.tools.push({ name: params.name, arguments: params.arguments, result });
    return result;
  };
  bridge.onsizechange = ({ height }) => {
    log.sizes.push(height);
    if (height) frame.style.height = `${height}px`;
  };
  const isReady = new Promise((resolve) => {
    bridge.oninitialized = resolve;
  });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  const meta = `<meta http-equiv="Content-Security-Policy" content="${policy(page._meta?.ui?.csp)}">`;
  frame.srcdoc = isWrapped
    ? `<!doctype html><html lang="en"><head><title>${uri}</title>${meta}</head><body>${page.text}</body></html>`
    : page.text.replace("<head>", `<head>${meta}`);
  await isReady;
  await bridge.sendToolInput({ arguments: given });
  const result = await client.callTool({ name, arguments: given });
  await bridge.sendToolResult(result);
  return result;
};
