// A capture of 64 MiB on the page without a server: when its pictures are there, what the coarse one
// shows, and the memory of the process that has the page, its Workers and the modules. The capture is a
// snapshot whose buffer is repeated, or that at TRACEWRIGHT_LARGE. `node tests/run.mjs large:` prints a
// table; TRACEWRIGHT_ROUNDS is the number of rounds.

import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { settled } from "./browser.mjs";
import { equal, truthy } from "./check.mjs";
import { drop, folder, shared, visit } from "./dropped.mjs";

const SNAPSHOT = join(shared, "conformance/arm/snapshots/bugfix-exact-match");
const SIZE = 64 << 20;
/** The most memory of the process, in MB. */
const MOST_MEMORY = 400;
const ROUNDS = Number(process.env.TRACEWRIGHT_ROUNDS ?? 1);

/** A snapshot of 64 MiB in a folder of its own. */
function repeated() {
  const place = mkdtempSync(join(tmpdir(), "tracewright-large-"));
  const copy = join(place, "snapshot");
  cpSync(SNAPSHOT, copy, { recursive: true });
  const buffer = readFileSync(join(SNAPSHOT, "cstrace.bin"));
  const file = join(copy, "cstrace.bin");
  rmSync(file);
  writeFileSync(file, Buffer.concat(Array.from({ length: SIZE / buffer.length }, () => buffer)));
  return { place, copy };
}

/** Ticks of /proc in a second. */
const TICKS = 100;

/** The process of the page: its memory in MB, now and the most so far, and its processor time in seconds. */
async function used(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  const all = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => {
    const status = readFileSync(`/proc/${id}/status`, "utf8");
    const of = (name) => Number(new RegExp(`${name}:\\s*(\\d+)`).exec(status)?.[1] ?? 0) / 1000;
    const stat = readFileSync(`/proc/${id}/stat`, "utf8").split(") ")[1].split(" ");
    return { now: of("VmRSS"), most: of("VmHWM"), processor: (Number(stat[11]) + Number(stat[12])) / TICKS };
  });
  // Chromium has other processes of this kind, which do nothing.
  return all.reduce((one, other) => (other.most > one.most ? other : one));
}

/** What the parts of the coarse picture have, and what the tiles of the index have there. */
function compared(page) {
  return page.evaluate(async () => {
    const { strips } = window.tracewrightBrowser;
    const { backend } = window.tracewright.state;
    const [differences, sums] = [[], { samples: 0, known: 0, unknown: 0, instructions: 0 }];
    const names = ["instructions", "exceptions", "gaps", "writes"];
    for (const [buffer, strip] of strips.entries()) {
      for (const sample of strip.samples) {
        sums.samples += 1;
        for (const [source, own] of sample.sources.entries()) {
          if (own === null) {
            sums.unknown += 1;
            continue;
          }
          const at = { buffer, source, level: 0, first: sample.from / strip.tile, count: 1 };
          const tiles = await backend.tiles(at, new AbortController().signal);
          const exact = names.map((name) => tiles[name][0] ?? 0);
          const coarse = names.map((name) => own[name]);
          sums.known += 1;
          sums.instructions += own.instructions;
          if (String(exact) !== String(coarse)) differences.push([sample.from, source, coarse, exact]);
        }
      }
    }
    return { differences, ...sums };
  });
}

async function round(browser, capture) {
  return visit(browser, async ({ page, errors }) => {
    const before = await used(browser);
    await drop(page, [capture]);
    await page.waitForSelector(".coarse canvas", { timeout: 120_000 });
    const caption = await page.textContent(".coarse figcaption");
    truthy(/Coarse picture.*not read yet.*The index is at \d+ %/.test(caption), `the caption: ${caption}`);
    await page.waitForSelector(".app", { timeout: 120_000 });
    await settled(page);
    const after = await used(browser);
    const { begun, opened, coarse, indexed, pictured } = await page.evaluate(() => window.tracewrightBrowser.times);
    const module = await page.evaluate(() => window.tracewrightBrowser.trace.memory());
    const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
    const { differences, ...sums } = await compared(page);
    equal(differences.slice(0, 3), [], "parts that differ from the index");
    truthy(sums.known > sums.samples && sums.instructions > 0, JSON.stringify(sums));
    truthy(sums.unknown * 20 < sums.known, `not known: ${JSON.stringify(sums)}`);
    truthy(coarse > opened && indexed > coarse, "the coarse picture is there before the index");
    const seconds = (at) => ((at - begun) / 1000).toFixed(2);
    const mb = (bytes) => (bytes / 1e6).toFixed(0);
    const row = [
      ...[opened, coarse, indexed, pictured].map(seconds),
      (after.processor - before.processor).toFixed(2),
      ...[sums.samples, sums.known, sums.unknown],
      ...[before.now.toFixed(0), after.most.toFixed(0), mb(module), mb(heap)],
    ];
    truthy(after.most < MOST_MEMORY, `too much memory: ${row.join(" | ")}`);
    equal(errors, [], "errors");
    return row;
  });
}

const HEAD = [
  ["opened", "coarse picture", "index", "exact picture", "processor time"].map((name) => `${name}, s`),
  ["parts", "known", "not known"],
  ["process before", "process, most", "module", "heap"].map((name) => `${name}, MB`),
].flat();

const all = {
  "large: 64 MiB are dropped": async (browser) => {
    const given = process.env.TRACEWRIGHT_LARGE;
    const made = given === undefined ? repeated() : null;
    try {
      const rows = [];
      for (let n = 0; n < ROUNDS; n++) rows.push(await round(browser, given ?? made.copy));
      const lines = [HEAD, HEAD.map(() => "---:"), ...rows].map((row) => `| ${row.join(" | ")} |`);
      return `\n${lines.join("\n")}\n`;
    } finally {
      if (made !== null) rmSync(made.place, { recursive: true });
    }
  },
};

const possible = folder !== undefined && (process.env.TRACEWRIGHT_LARGE !== undefined || existsSync(SNAPSHOT));
export const tests = possible ? all : {};
