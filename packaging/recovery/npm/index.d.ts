import type { Input, Output } from "./engine.js";

export * from "./engine.js";

/**
 * Returns the failure in an answer and the advice on it; both are null where the answer is no failure.
 *
 * @throws {InvalidInputError} when the input is not understood, with every problem of it
 */
export function advise(input: Input): Output;
