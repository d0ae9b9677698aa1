// The engine in WebAssembly: a JSON document in, a JSON document out. It has no imports, so it neither reads a clock nor
// a network. index.js loads it for Node.js.

/** Input that the engine does not understand; `problems` has every problem of it. */
export class InvalidInputError extends Error {
  constructor(problems) {
    super(problems.map((problem) => `${problem.pointer || "the input"}: ${problem.message}`).join("; "));
    this.name = "InvalidInputError";
    this.problems = problems;
  }
}

/** The recovery engine. */
export class RecoveryEngine {
  #exports;

  /** @param {WebAssembly.Module} module the compiled `recovery.wasm` */
  constructor(module) {
    this.#exports = new WebAssembly.Instance(module).exports;
  }

  /** Compiles the engine from a response to a request for `recovery.wasm`, as `fetch` returns it. */
  static async load(response) {
    return new RecoveryEngine(await WebAssembly.compileStreaming(response));
  }

  advise(input) {
    const { memory, tradepost_reserve, tradepost_advise, tradepost_answer } = this.#exports;
    const request = new TextEncoder().encode(JSON.stringify(input) ?? "null");
    // Addresses are unsigned; JavaScript gets them as signed numbers.
    const address = tradepost_reserve(request.length) >>> 0;
    if (address === 0) throw new RangeError(`the input has ${request.length} bytes, which is too long`);
    new Uint8Array(memory.buffer, address, request.length).set(request);
    const length = tradepost_advise() >>> 0;
    // The memory may have grown, which makes its earlier buffer useless.
    const answer = new Uint8Array(memory.buffer, tradepost_answer() >>> 0, length);
    const output = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(answer));
    if (output.problems) throw new InvalidInputError(output.problems);
    return output;
  }
}
