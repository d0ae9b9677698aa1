// Counts checks, prints a line for each, and ends with the two numbers that `interop/run` adds up.

let passed = 0;
let failed = 0;

/** Runs a check and gives what it gives; `undefined` when it fails. */
export async function check(name, work) {
  try {
    const result = await work();
    passed += 1;
    console.log(`ok    js  ${name}`);
    return result;
  } catch (error) {
    failed += 1;
    console.log(`FAIL  js  ${name}\n      ${String(error.message).replaceAll('\n', '\n      ')}`);
    return undefined;
  }
}

/** Prints the numbers; the exit code is 0 when every check has passed. */
export function close() {
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
