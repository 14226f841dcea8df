// The tests of the page in a real browser: `node tests/run.mjs [NAME...]`. Without a server they run
// over the synthetic trace; with TRACEWRIGHT_VIEW_URL the journeys run over that server, too.

import { launch } from "./browser.mjs";
import { tests as accessibility } from "./accessibility.mjs";
import { tests as coverage } from "./coverage.mjs";
import { tests as damage } from "./damage.mjs";
import { tests as dropped } from "./dropped.mjs";
import { tests as exported } from "./exported.mjs";
import { tests as hostile } from "./hostile.mjs";
import { tests as journeys } from "./journeys.mjs";
import { tests as large } from "./large.mjs";
import { tests as live } from "./live.mjs";
import { tests as model } from "./model.mjs";
import { tests as perfetto } from "./perfetto.mjs";
import { tests as server } from "./server.mjs";
import { tests as speed } from "./speed.mjs";

const all = {
  ...model, ...journeys, ...hostile, ...damage, ...accessibility, ...speed, ...perfetto, ...server,
  ...exported, ...coverage, ...dropped, ...large, ...live,
};
const wanted = process.argv.slice(2);
const browser = await launch();
let failed = 0;
let ran = 0;
for (const [name, test] of Object.entries(all)) {
  if (wanted.length > 0 && !wanted.some((word) => name.includes(word))) continue;
  ran += 1;
  const start = performance.now();
  try {
    const note = await test(browser);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    console.log(`ok      ${name} (${seconds} s)${note === undefined ? "" : `: ${note}`}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}: ${error.stack ?? error}`);
  }
}
await browser.close();
console.log(`${ran} tests, ${failed} failed`);
process.exitCode = failed > 0 || ran === 0 ? 1 : 0;
