#!/usr/bin/env node
// TLS in front of the seller, because AdCP wants brand.json at an https address.
//
//     adcp-tls CERTIFICATE KEY OUTPUT_OF_THE_SELLER
//
// Says where it listens. What it is asked goes to the address that the seller has printed by then.
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';

const [certificate, key, output] = process.argv.slice(2);
const server = https.createServer(
  { cert: fs.readFileSync(certificate), key: fs.readFileSync(key) },
  (request, response) => {
    const address = fs.readFileSync(output, 'utf8').match(/^listening on (.*)$/m);
    if (!address) {
      response.writeHead(503).end();
      return;
    }
    const { method, headers } = request;
    const onward = http.request(address[1] + request.url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.writeHead(502).end());
    request.pipe(onward);
  },
);
server.listen(0, '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
