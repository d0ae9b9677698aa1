// Every public vector comes to what it says. PACKAGE is the unpacked package; without it, the folder above.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";

const home = resolve(process.env.PACKAGE ?? new URL("..", import.meta.url).pathname);
const vectors = process.env.VECTORS ?? new URL("../../../../vectors", import.meta.url).pathname;
const { advise, InvalidInputError, RecoveryEngine } = await import(pathToFileURL(resolve(home, "index.js")));
const read = (name) => JSON.parse(readFileSync(resolve(vectors, name)));

for (const name of ["a2a.json", "aap.json", "adcp.json"]) {
  for (const vector of read(name).vectors) {
    test(vector.id, () => assert.deepEqual(advise(vector.input), vector.expect));
  }
}

test("an input that is not understood lists every problem", () => {
  assert.throws(() => advise({ binding: "soap", stauts: 1 }), (error) => {
    assert.ok(error instanceof InvalidInputError);
    assert.deepEqual(error.problems.map((problem) => problem.pointer), ["/binding", "/stauts"]);
    return true;
  });
  assert.throws(() => advise(undefined), InvalidInputError);
});

test("an answer of eight megabytes and one beyond are read", () => {
  const body = (length) => ({ binding: "text", body: "x".repeat(length) });
  assert.equal(advise(body(8 << 20)).failure.protocol, "text");
  assert.equal(advise(body((8 << 20) + 1)).failure.kind, "garbled");
  assert.throws(() => advise(body(65 << 20)), RangeError);
  // The engine is as it was.
  assert.equal(advise(body(1)).failure.protocol, "text");
});

test("the module has no imports", () => {
  const module = new WebAssembly.Module(readFileSync(resolve(home, "recovery.wasm")));
  assert.deepEqual(WebAssembly.Module.imports(module), []);
  const engine = new RecoveryEngine(module);
  assert.equal(engine.advise({ transport_error: "certificate" }).advice.action, "stop");
});

test("the types have every word of the schema", () => {
  const types = readFileSync(resolve(home, "engine.d.ts"), "utf8");
  const words = [];
  const collect = (node) => {
    if (Array.isArray(node)) return node.forEach(collect);
    if (node === null || typeof node !== "object") return;
    if (Array.isArray(node.enum)) words.push(...node.enum);
    if (typeof node.const === "string") words.push(node.const);
    if (node.properties) words.push(...Object.keys(node.properties));
    Object.values(node).forEach(collect);
  };
  const { input, attempt, budget, output, failure, wait, advice } = read("vector.schema.json").$defs;
  collect([input, attempt, budget, output, failure, wait, advice]);
  assert.ok(words.length > 100);
  for (const word of words) {
    assert.match(types, new RegExp(`"${word}"|\\b${word}\\??: `), word);
  }
});
