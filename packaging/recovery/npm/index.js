// For Node.js: loads the engine from the file beside this one, when it is first needed.
import { readFileSync } from "node:fs";
import { RecoveryEngine } from "./engine.js";

export { InvalidInputError, RecoveryEngine } from "./engine.js";

let engine;

export function advise(input) {
  engine ??= new RecoveryEngine(new WebAssembly.Module(readFileSync(new URL("./recovery.wasm", import.meta.url))));
  return engine.advise(input);
}
