// The page over `tracewright view`, compared with what other verbs of the command print for the same
// capture. TRACEWRIGHT_BIN is the command, TRACEWRIGHT_CAPTURE the capture: the built-in example.

import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { openPage, remembered, settled } from "./browser.mjs";
import { equal, truthy, until } from "./check.mjs";
import { currentInstruction, keyboard } from "./journeys.mjs";

export const { TRACEWRIGHT_BIN: bin, TRACEWRIGHT_CAPTURE: capture } = process.env;
const VIEWS = process.env.TRACEWRIGHT_TIMES === undefined ? 40 : 200;

export async function command(...words) {
  const { stdout } = await promisify(execFile)(bin, words, { maxBuffer: 2 ** 28 });
  return stdout;
}

export const lines = (text) => text.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));

/** All calls, from the lines of `tracewright calls`. */
export async function calls() {
  const open = new Map();
  const list = [];
  for (const line of lines(await command("calls", "--format", "json", capture))) {
    const key = `${line.thread}/${line.depth}`;
    if (line.type === "begin") open.set(key, line);
    if (line.type !== "end") continue;
    const begin = open.get(key);
    list.push({
      name: line.function,
      depth: line.depth,
      begin: begin.instruction,
      end: line.instruction,
      offset: begin.offset,
      endOffset: line.offset,
      entry: begin.entry,
    });
  }
  return list;
}

/** Starts `tracewright view`, and returns the address that it prints. */
export function start(options = [], path = capture) {
  const child = spawn(bin, ["view", "--no-browser", "--port", "0", ...options, path], { stdio: ["ignore", "pipe", "pipe"] });
  return new Promise((resolve, reject) => {
    let text = "";
    const read = (part) => {
      text += part;
      const address = /http:\/\/127\.0\.0\.1:\d+\/\S*/.exec(text);
      if (address !== null) resolve({ url: address[0], stop: () => child.kill("SIGTERM") });
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`tracewright view ended with ${code}: ${text}`)));
  });
}

async function withServer(browser, body) {
  const server = await start();
  const { page, errors, close } = await openPage(browser, server.url);
  try {
    const note = await body(page, server);
    equal(errors, [], "errors of the page");
    return note;
  } finally {
    await close();
    server.stop();
  }
}

const focus = (page) => page.evaluate(() => window.tracewright.state.focus.value);

const all = {
  "server: random views have the calls of `tracewright calls`": (browser) =>
    withServer(browser, async (page) => {
      const expected = await calls();
      const bytes = await page.evaluate(() => window.tracewright.state.length.value);
      let state = 11;
      const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
      let compared = 0;
      for (let k = 0; k < VIEWS; k++) {
        const size = bytes * 0.5 ** (8 * next());
        const from = next() * (bytes - size);
        await page.evaluate((range) => window.tracewright.state.show(range), { from, to: from + size });
        await settled(page);
        const shown = await page.evaluate(() => {
          const { state, scene } = window.tracewright;
          const source = [...scene.current.sources.values()].find((s) => s.source.instructions > 0);
          const list = [];
          for (const { frames } of source.parts) {
            for (let f = 0; f < frames.begin.length; f++) {
              const name = state.functionName(frames.function[f]);
              list.push([name, frames.depth[f], frames.beginInstruction[f], frames.endInstruction[f]].join(" "));
            }
          }
          return { exact: source.exact, list };
        });
        truthy(shown.exact, "each call is shown");
        const listed = new Set(shown.list);
        for (const call of expected) {
          if (call.endOffset < from || call.offset > from + size) continue;
          const key = [call.name, call.depth, call.begin, call.end].join(" ");
          truthy(listed.has(key), `the view ${from}..${from + size} lacks ${key}`);
          compared += 1;
        }
      }
      return `${compared} calls`;
    }),

  "server: stacks at random instructions are those of `tracewright calls`": (browser) =>
    withServer(browser, async (page) => {
      const expected = await calls();
      const last = Math.max(...expected.map((call) => call.end));
      for (let k = 1; k <= 24; k++) {
        const n = Math.floor((last * k) / 25);
        await page.evaluate((instruction) => {
          const source = window.tracewright.state.mainSource.value;
          window.tracewright.state.focusOn({ source, offset: 0, instruction });
        }, n);
        await until(page, (n) => document.querySelector("#instructions .row.current")?.firstChild.textContent === n, n.toLocaleString("en"), `instruction ${n}`);
        await settled(page);
        const shown = await page.locator(".stack button").allTextContents();
        // The stack is that at the end of the element of the instruction: of these, one must match.
        const at = (i) => expected.filter((c) => c.begin <= i && c.end > i).sort((a, b) => a.depth - b.depth).map((c) => c.name).join(" ");
        const possible = Array.from({ length: 40 }, (_, more) => at(n + more));
        truthy(possible.includes(shown.join(" ")), `at ${n}: ${shown.join(" ")}; expected ${possible[0]}`);
      }
    }),

  "server: functions are those of `tracewright functions`": (browser) =>
    withServer(browser, async (page) => {
      const rows = lines(await command("functions", "--format", "json", capture)).filter((line) => line.type === "function");
      const expected = rows.map((row) => [row.name, row.instructions.toLocaleString("en"), row.inclusive_instructions.toLocaleString("en")].join(" ")).sort();
      await page.setViewportSize({ width: 1400, height: 1600 });
      await settled(page);
      const shown = await page.evaluate(() =>
        [...document.querySelectorAll("#functions .gridbody .gridrow")].map((row) => {
          const cells = [...row.children].map((cell) => cell.textContent.trim());
          return [cells[0], cells[1], cells[3]].join(" ");
        }),
      );
      equal(shown.sort(), expected, "functions");
    }),

  "server: to the instruction before the last fault": (browser) =>
    withServer(browser, async (page) => {
      const history = (await command("history", "--before", "exception:6", capture)).trim().split("\n");
      const instruction = history.findLast((line) => /^\S+ +0x/.test(line));
      const keys = keyboard(page);
      await keys.press("Shift+X");
      await until(page, () => document.querySelector("#instructions .row.current") !== null, null, "a row is in focus");
      await settled(page);
      // On the row of the exception; the one before it is the instruction.
      let row = await currentInstruction(page);
      if (!row[1].startsWith("0x")) {
        await keys.press("k");
        await settled(page);
        row = await currentInstruction(page);
      }
      equal(Number(row[1]), Number(instruction.split(/ +/)[1]), "its address");
      return keys.done();
    }),

  "server: to the longest call of a function, and its path": (browser) =>
    withServer(browser, async (page) => {
      const expected = await calls();
      const longest = expected.filter((c) => c.name === "place" && c.entry === "call").sort((a, b) => b.end - b.begin - (a.end - a.begin))[0];
      const keys = keyboard(page);
      await keys.press("Control+p", "p", "l", "a", "Enter");
      await until(page, () => document.querySelector("#calls .gridbody .gridrow") !== null, null, "calls are listed");
      await keys.press("Enter");
      await until(page, () => document.querySelectorAll(".stack button").length > 0, null, "there is a stack");
      await settled(page);
      const at = await focus(page);
      equal(at.atInstruction, longest.begin, "its begin");
      const path = await page.locator(".stack button").allTextContents();
      equal(path.slice(0, longest.depth + 1).pop(), "place", "its path");
      return keys.done();
    }),

  "server: from a line of output to its source": (browser) =>
    withServer(browser, async (page) => {
      const text = lines(await command("decode", "--format", "json", "--only", "text", capture)).filter((line) => line.type === "text");
      const keys = keyboard(page);
      await keys.press("5");
      await until(page, () => document.querySelectorAll("#output .gridbody .gridrow").length > 2, null, "output is listed");
      const shown = await page.evaluate(() => [...document.querySelectorAll("#output .gridbody .gridrow .code")].map((cell) => cell.textContent));
      equal(shown.slice(0, 3), text.slice(0, 3).map((line) => line.text.replace(/\n$/, "")), "the lines");
      await keys.press("ArrowDown", "Enter", "9");
      await settled(page);
      const at = await focus(page);
      equal(at.offset, text[1].offset, "the moment of the line");
      const panel = await page.locator("#panel-right").innerText();
      truthy(panel.trim().length > 20, "its source, or why there is none");
      return keys.done();
    }),

  "server: a link leads to its moment": (browser) =>
    withServer(browser, async (page, server) => {
      await page.keyboard.press("End");
      await settled(page);
      await page.keyboard.press("t");
      await remembered(page);
      const [row, link] = [await currentInstruction(page), new URL(page.url()).hash];
      const other = await openPage(browser, server.url + link);
      equal(await currentInstruction(other.page), row, "the same instruction");
      equal(other.errors, [], "errors");
      truthy(!other.page.url().includes(new URL(server.url).pathname.slice(1, -1)), "the token is not in the address");
      await other.close();
    }),

  "server: a query streams its results": (browser) =>
    withServer(browser, async (page) => {
      const count = Number((await command("find", capture, "count exception")).trim().split(/\s+/)[0]);
      await page.keyboard.press("/");
      await page.keyboard.type("exception");
      await page.keyboard.press("Enter");
      await until(page, () => document.querySelectorAll("#results .gridbody .gridrow").length > 0, null, "results");
      await settled(page);
      equal(await page.locator("#results .gridbody .gridrow").count(), count, "results");
      await page.locator("#query").fill("exceptoin 3");
      await page.keyboard.press("Enter");
      await until(page, () => document.querySelector(".error") !== null, null, "why a query is refused");
    }),

  "server: every panel shows something or its reason": (browser) =>
    withServer(browser, async (page) => {
      await page.keyboard.press("End");
      for (const key of ["1", "2", "3", "4", "5", "6", "7", "8", "9"]) {
        await page.keyboard.press("Escape");
        await page.keyboard.press(key);
        await settled(page);
        const text = await page.locator(key > "7" ? "#panel-right" : "#panel-left").innerText();
        truthy(text.trim().length > 20 && !text.includes("could not be read"), `panel ${key}: ${text}`);
      }
    }),
};

export const tests = bin === undefined || capture === undefined ? {} : all;
