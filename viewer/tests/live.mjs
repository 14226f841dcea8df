// A trace that is being recorded grows in the page. TRACEWRIGHT_BIN is the command,
// TRACEWRIGHT_CAPTURE the built-in example, whose trace buffer is written in steps.

import { appendFile, cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPage, settled } from "./browser.mjs";
import { equal, truthy, until } from "./check.mjs";
import { bin, capture, start } from "./server.mjs";

const STEPS = 4;
/** Bytes of a frame. */
const FRAME = 16;

const all = {
  "live: a trace grows in the page, until it is the whole": async (browser) => {
    const folder = await mkdtemp(join(tmpdir(), "tracewright-live-"));
    const own = join(folder, "capture");
    await cp(capture, own, { recursive: true });
    const file = join(own, "ETB.bin");
    const bytes = await readFile(file);
    const step = Math.ceil(bytes.length / STEPS / FRAME) * FRAME;
    await writeFile(file, bytes.subarray(0, step));
    const server = await start(["--follow", "5"], own);
    const { page, errors, close } = await openPage(browser, server.url);
    const read = () =>
      page.evaluate(() => {
        const { capture, buffer, functions } = window.tracewright.state;
        const { bytes, elements, instructions } = buffer.value;
        return { checksum: capture.value.checksum, bytes, elements, instructions, functions: [...functions.value.values()].map((own) => own.name).sort() };
      });
    try {
      await page.evaluate(() => (window.isSamePage = true));
      await page.evaluate(() => window.tracewright.state.focusOn({ source: 0, offset: 100 }));
      truthy(await page.evaluate(() => window.tracewright.state.capture.value.growing), "it is being recorded");
      const checksums = [];
      for (let end = step; end < bytes.length; end += step) {
        const to = Math.min(bytes.length, end + step);
        checksums.push((await read()).checksum);
        await appendFile(file, bytes.subarray(end, to));
        await until(page, (to) => window.tracewright.state.length.value === to, to, `${to} bytes`);
        await settled(page);
        const view = await page.evaluate(() => window.tracewright.state.view.value);
        equal(view, { from: 0, to }, "the whole stays the whole");
      }
      await until(page, () => window.tracewright.state.capture.value.growing === false, null, "it is complete");
      const grown = await read();
      checksums.push(grown.checksum);
      equal(new Set(checksums).size, STEPS, "checksums");
      equal(await page.evaluate(() => [window.isSamePage, window.tracewright.state.focus.value.offset]), [true, 100], "the page was not loaded again");
      const whole = await start([], own);
      const other = await openPage(browser, whole.url);
      const expected = await other.page.evaluate(() => {
        const { capture, buffer, functions } = window.tracewright.state;
        const { bytes, elements, instructions } = buffer.value;
        return { checksum: capture.value.checksum, bytes, elements, instructions, functions: [...functions.value.values()].map((own) => own.name).sort() };
      });
      equal(grown, expected, "what has grown is the whole");
      await other.close();
      whole.stop();
      equal(errors, [], "errors");
    } finally {
      await close();
      server.stop();
      await rm(folder, { recursive: true });
    }
  },
};

export const tests = bin === undefined || capture === undefined ? {} : all;
