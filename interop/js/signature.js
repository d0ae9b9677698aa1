// Verifies the signature of a served agent card with node's own crypto, sharing nothing with
// Tradepost but the specifications (A2A §8.4, RFC 7515, RFC 8785).
//
//   node signature.js http://127.0.0.1:8080 PUBLIC_JWK_FILE

import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { check, close } from './checks.js';

const [base, file] = process.argv.slice(2);
if (file === undefined) {
  console.error('usage: node signature.js BASE_URL PUBLIC_JWK_FILE');
  process.exit(2);
}

/** RFC 8785: sort() compares UTF-16 code units, and JSON.stringify spells numbers as it wants. */
function canonical(value) {
  if (Array.isArray(value)) {
    return `[${value.map(canonical).join(',')}]`;
  }
  if (value !== null && typeof value === 'object') {
    const members = Object.keys(value).sort();
    return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
  }
  return JSON.stringify(value);
}

/** A2A §8.4.1 for the members that our card has: those that are not REQUIRED, and not default. */
function payload(card) {
  const { signatures, ...rest } = structuredClone(card);
  for (const extension of rest.capabilities.extensions) {
    if (extension.required === false) {
      delete extension.required;
    }
  }
  return canonical(rest);
}

function isValid(card, entry, jwk) {
  const message = `${entry.protected}.${Buffer.from(payload(card)).toString('base64url')}`;
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  const signature = Buffer.from(entry.signature, 'base64url');
  return jwk.alg === 'ES256'
    ? verify('sha256', Buffer.from(message), { key, dsaEncoding: 'ieee-p1363' }, signature)
    : verify(null, Buffer.from(message), key, signature);
}

const jwk = JSON.parse(readFileSync(file, 'utf8'));
const response = await fetch(`${base}/.well-known/agent-card.json`);
const card = await response.json();

await check('the header names the algorithm and the key', () => {
  assert.equal(card.signatures.length, 1);
  const header = JSON.parse(Buffer.from(card.signatures[0].protected, 'base64url').toString());
  assert.deepEqual(header, { alg: jwk.alg, kid: jwk.kid, typ: 'JOSE' });
});
await check('the signature is valid', () => {
  assert.ok(isValid(card, card.signatures[0], jwk));
});
await check('a card that was changed is not', () => {
  assert.ok(!isValid({ ...card, name: `${card.name}.` }, card.signatures[0], jwk));
});
await check('the card is revalidated by its tag', async () => {
  const headers = { 'If-None-Match': response.headers.get('etag') };
  const again = await fetch(response.url, { headers });
  assert.equal(again.status, 304);
});

close();
