// From the start to an answer by keyboard alone, with at most eight keys. A press counts as one key,
// also with Shift or Ctrl.

import { openPage, remembered, settled } from "./browser.mjs";
import { equal, truthy, until } from "./check.mjs";
import { serve } from "./mock.mjs";

const MOST = 8;

/** A keyboard that counts. */
export function keyboard(page) {
  let count = 0;
  return {
    async press(...keys) {
      for (const key of keys) {
        count += 1;
        await page.keyboard.press(key);
      }
    },
    async done() {
      truthy(count <= MOST, `${count} keys, and ${MOST} is the most`);
      return `${count} keys`;
    },
  };
}

export const currentInstruction = (page) =>
  page.evaluate(() => {
    const row = document.querySelector("#instructions .row.current");
    return row === null ? null : [...row.children].map((cell) => cell.textContent);
  });

async function withPage(browser, options, body) {
  const server = await serve(options);
  const { page, errors, close } = await openPage(browser, server.url);
  try {
    const note = await body(page, server.api.trace, server);
    equal(errors, [], "errors of the page");
    return note;
  } finally {
    await close();
    server.close();
  }
}

export const tests = {
  "journey: to the instruction before the last fault": (browser) =>
    withPage(browser, {}, async (page, trace) => {
      const fault = trace.exceptions.findLast((e) => e.name === "UsageFault");
      const keys = keyboard(page);
      await keys.press("Shift+X");
      await until(page, () => document.querySelector("#instructions .row.current") !== null, null, "a row is in focus");
      await keys.press("k");
      await settled(page);
      const [n] = await currentInstruction(page);
      equal(n, (fault.instruction - 1).toLocaleString("en"), "the instruction before the fault");
      return keys.done();
    }),

  "journey: to the longest call of a function, and its path": (browser) =>
    withPage(browser, {}, async (page, trace) => {
      const id = trace.names.findIndex((f) => f.name === "is_safe");
      const calls = trace.frames.filter((f) => f.function === id);
      const longest = calls.reduce((a, b) => (b.endI - b.beginI > a.endI - a.beginI ? b : a));
      const keys = keyboard(page);
      await keys.press("Control+p", "i", "s", "_", "Enter");
      await until(page, () => document.activeElement?.id === "calls", null, "the list of calls has the keyboard");
      await until(page, () => document.querySelector("#calls .gridbody .gridrow") !== null, null, "calls are listed");
      await keys.press("Enter");
      await until(page, () => document.querySelectorAll(".stack button").length > 0, null, "there is a stack");
      await settled(page);
      const focus = await page.evaluate(() => window.tracewright.state.focus.value);
      equal(focus.atInstruction, longest.beginI, "the begin of the longest call");
      const open = trace.frames
        .filter((f) => f.beginI <= longest.beginI && f.endI > longest.beginI)
        .sort((a, b) => a.depth - b.depth)
        .map((f) => trace.names[f.function].name);
      const shown = await page.locator(".stack button").allTextContents();
      equal(shown, open, "its path");
      return keys.done();
    }),

  "journey: from a line of output to its source": (browser) =>
    withPage(browser, {}, async (page, trace) => {
      const line = trace.output[2];
      const keys = keyboard(page);
      await keys.press("5");
      await until(page, () => document.querySelectorAll("#output .gridbody .gridrow").length > 3, null, "output is listed");
      equal(await page.evaluate(() => document.activeElement.id), "output", "the list has the keyboard");
      await keys.press("ArrowDown", "ArrowDown", "Enter", "9");
      await until(page, () => document.querySelector("#source .line.current") !== null, null, "a source line is current");
      await settled(page);
      const focus = await page.evaluate(() => window.tracewright.state.focus.value);
      equal(focus.offset, line.offset, "the moment of the output");
      const row = await page.evaluate(() => document.querySelector("#source .line.current .number").textContent);
      const block = trace.blocks.find((b) => b.offset >= line.offset);
      equal(Number(row), block.line, "the line that was executed then");
      return keys.done();
    }),

  "journey: from a link to its moment": (browser) =>
    withPage(browser, {}, async (page, trace, server) => {
      const keys = keyboard(page);
      await keys.press("End");
      await settled(page);
      const [n] = await currentInstruction(page);
      equal(n, (trace.instructions - 1).toLocaleString("en"), "the last instruction");
      await keys.press("t", "w", "w");
      await remembered(page);
      const link = page.url();
      truthy(link.includes("c=0123456789abcdef"), `the link has the checksum: ${link}`);
      const view = await page.evaluate(() => window.tracewright.state.view.value);
      const other = await openPage(browser, link);
      const there = await other.page.evaluate(() => ({
        view: window.tracewright.state.view.value,
        axis: window.tracewright.state.axis.value,
      }));
      truthy(Math.abs(there.view.from - view.from) < 0.01, "the same view");
      equal(there.axis, "instructions", "the same axis");
      const [again] = await currentInstruction(other.page);
      equal(again, n, "the same instruction");
      // Of another trace nothing is shown but a warning.
      const wrong = link.replace("c=0123456789abcdef", "c=fedcba9876543210");
      const third = await openPage(browser, wrong);
      const notice = await third.page.locator(".notice").allTextContents();
      truthy(notice.some((text) => text.includes("another trace")), "a warning");
      equal(await third.page.evaluate(() => window.tracewright.state.focus.value), null, "no focus");
      equal([...other.errors, ...third.errors], [], "errors");
      await other.close();
      await third.close();
      void server;
      return keys.done();
    }),

  "journey: to a debugger, and back from one": (browser) =>
    withPage(browser, {}, async (page, trace) => {
      const n = Math.floor(trace.instructions / 3);
      await page.evaluate(() => {
        window.copied = [];
        Object.defineProperty(navigator, "clipboard", {
          value: { writeText: (text) => Promise.resolve(window.copied.push(text)) },
        });
      });
      await page.keyboard.press("Shift+Y");
      equal(await page.evaluate(() => window.copied), [], "nothing is in focus");
      // The line of `monitor when`.
      await page.keyboard.press("g");
      await page.keyboard.type(`instruction ${n}, element 7, time not known, thread 1, pc 0x80f0`);
      await page.keyboard.press("Enter");
      await until(page, () => document.querySelector("#instructions .row.current") !== null, null, "a row is in focus");
      await settled(page);
      const [row] = await currentInstruction(page);
      equal(row, n.toLocaleString("en"), "the instruction of the debugger");
      await page.keyboard.press("Shift+Y");
      const name = await page.evaluate(() => window.tracewright.state.capture.value.name);
      truthy(/^[\w.-]+$/.test(name), `${name} needs no quotes`);
      const copied = await page.evaluate(() => window.copied);
      equal(copied, [`tracewright gdb ${name} --at 'instruction ${n}'`], "the command");
    }),

  "journey: next and previous exception, result, call": (browser) =>
    withPage(browser, {}, async (page, trace) => {
      const at = () => page.evaluate(() => window.tracewright.state.focus.value?.element);
      const elements = trace.exceptions.map((e) => e.element);
      await page.keyboard.press("e");
      await until(page, (n) => window.tracewright.state.focus.value?.element === n, elements[0], "first exception");
      await page.keyboard.press("e");
      await until(page, (n) => window.tracewright.state.focus.value?.element === n, elements[1], "second exception");
      await page.keyboard.press("Shift+E");
      await until(page, (n) => window.tracewright.state.focus.value?.element === n, elements[0], "first again");
      await page.keyboard.press("/");
      await page.keyboard.type("all gap");
      await page.keyboard.press("Enter");
      await until(page, () => document.querySelectorAll("#results .gridbody .gridrow").length > 1, null, "results");
      await page.keyboard.press("Escape");
      await page.keyboard.press("n");
      const gaps = trace.events.filter((e) => e.kind === 7).map((e) => e.element);
      await until(page, (n) => window.tracewright.state.focus.value?.element === n, gaps[1], "second result");
      equal(await at(), gaps[1], "the second gap");
    }),
};
