// Assertions whose messages have both values, and the list of tests of one file.

import { deepStrictEqual } from "node:assert";

export function equal(actual, expected, what) {
  try {
    deepStrictEqual(actual, expected);
  } catch {
    throw new Error(`${what}: ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`);
  }
}

export function truthy(value, what) {
  if (!value) throw new Error(what);
}

/** The most that a test waits for, in milliseconds: a machine may be slow, and no test measures it. */
export const PATIENCE = 60_000;

/** Waits for a condition in the page. */
export async function until(page, condition, argument, what) {
  try {
    await page.waitForFunction(condition, argument, { timeout: PATIENCE });
  } catch {
    const status = await page.locator(".status .line").textContent();
    throw new Error(`${what}: not so after ${PATIENCE / 1000} s; the status is "${status}"`);
  }
}
