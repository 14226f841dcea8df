// Files of `tracewright view --export` and `tracewright report`, without a server. TRACEWRIGHT_BIN is
// the command, TRACEWRIGHT_CAPTURE the built-in example.

import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { violations } from "./accessibility.mjs";
import { openPage, settled } from "./browser.mjs";
import { equal, truthy, until } from "./check.mjs";
import { opened } from "./perfetto.mjs";
import { bin, calls, capture, command, lines } from "./server.mjs";

/** The most bytes of a file. */
const MOST = 8_000_000;

/** The page of a file that the command writes, which may load nothing else. */
async function withFile(browser, words, body, options = {}) {
  const folder = await mkdtemp(join(tmpdir(), "tracewright-exported-"));
  const path = join(folder, "trace.html");
  try {
    await command(...words.map((word) => (word === "FILE" ? path : word)));
    truthy((await stat(path)).size <= MOST, "it is not too long");
    const url = pathToFileURL(path).href;
    const { page, errors, close } = await openPage(browser, url, options);
    const others = [];
    page.context().on("request", (request) => {
      if (!request.url().startsWith(url)) others.push(request.url());
    });
    try {
      const note = await body(page);
      equal(errors, [], "errors and violations of the policy");
      equal(others, [], "requests");
      return note;
    } finally {
      await close();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

const EXPORT = ["view", capture, "--export", "FILE"];
const REPORT = ["report", capture, "-o", "FILE"];

async function tab(page, name) {
  await page.getByRole("tab", { name, exact: true }).click();
  await settled(page);
}

const functionRows = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("#functions .gridbody .gridrow")].map((row) => {
      const cells = [...row.children].map((cell) => cell.textContent.trim());
      return [cells[0], cells[1], cells[3]].join(" ");
    }),
  );

const all = {
  "exported: functions are those of `tracewright functions`": (browser) =>
    withFile(browser, EXPORT, async (page) => {
      const rows = lines(await command("functions", "--format", "json", capture)).filter((line) => line.type === "function");
      const expected = rows.map((row) => [row.name, row.instructions.toLocaleString("en"), row.inclusive_instructions.toLocaleString("en")].join(" "));
      await page.setViewportSize({ width: 1400, height: 1600 });
      await tab(page, "Functions");
      equal((await functionRows(page)).sort(), expected.sort(), "functions");
    }),

  "exported: parts have the calls of `tracewright calls`, and their stacks": (browser) =>
    withFile(browser, EXPORT, async (page) => {
      const expected = await calls();
      const bytes = await page.evaluate(() => window.tracewright.state.length.value);
      let compared = 0;
      for (const [from, to] of [[0, 1], [0.1, 0.4], [0.5, 0.52], [0.9, 1]]) {
        const range = { from: from * bytes, to: to * bytes };
        await page.evaluate((range) => window.tracewright.state.show(range), range);
        await settled(page);
        const shown = await page.evaluate(() => {
          const { state, scene } = window.tracewright;
          const source = [...scene.current.sources.values()].find((s) => s.source.instructions > 0);
          const list = source.parts.flatMap(({ frames }) =>
            Array.from(frames.begin, (_, f) => [state.functionName(frames.function[f]), frames.depth[f], frames.beginInstruction[f], frames.endInstruction[f]].join(" ")),
          );
          return { exact: source.exact, list };
        });
        truthy(shown.exact, "each call is shown");
        const listed = new Set(shown.list);
        for (const call of expected.filter((own) => own.endOffset >= range.from && own.offset <= range.to)) {
          const key = [call.name, call.depth, call.begin, call.end].join(" ");
          truthy(listed.has(key), `${range.from}..${range.to} lacks ${key}`);
          compared += 1;
        }
      }
      const last = Math.max(...expected.map((call) => call.end));
      for (let k = 1; k <= 12; k++) {
        const n = Math.floor((last * k) / 13);
        await page.evaluate((instruction) => {
          const source = window.tracewright.state.mainSource.value;
          window.tracewright.state.focusOn({ source, offset: 0, instruction });
        }, n);
        await until(page, (n) => document.querySelector("#instructions .row.current")?.firstChild.textContent === n, n.toLocaleString("en"), `instruction ${n}`);
        await settled(page);
        const at = expected.filter((c) => c.begin <= n && c.end > n).sort((a, b) => a.depth - b.depth).map((c) => c.name);
        equal(await page.locator(".stack button").allTextContents(), at, `the stack at ${n}`);
      }
      return `${compared} calls`;
    }),

  "exported: the calls of a function are those of `tracewright calls`": (browser) =>
    withFile(browser, EXPORT, async (page) => {
      const own = (await calls()).filter((call) => call.name === "place" && call.entry === "call");
      const lengths = own.map((call) => call.end - call.begin).sort((a, b) => b - a);
      await page.keyboard.press("Control+p");
      await page.keyboard.type("place");
      await page.keyboard.press("Enter");
      await until(page, () => document.querySelector("#calls .gridbody .gridrow") !== null, null, "calls are listed");
      const shown = await page.locator("#calls .gridbody .gridrow").first().locator("div").first().textContent();
      equal(shown, lengths[0].toLocaleString("en"), "the longest");
      await tab(page, "Functions");
      await until(page, () => document.querySelectorAll(".side li").length > 0, null, "callers and callees");
      const callers = await page.locator(".side ul").first().locator("li").allTextContents();
      const outer = (call) => call.depth > 0;
      equal(callers.reduce((sum, text) => sum + Number(/([\d,]+)×$/.exec(text)[1].replace(",", "")), 0), own.filter(outer).length, "calls of its callers");
    }),

  "exported: a window is shown first, and has each call": (browser) =>
    withFile(browser, ["view", capture, "--instruction", "1000..2000", "--export", "FILE"], async (page) => {
      const { view, selection, bytes } = await page.evaluate(() => {
        const { view, selection, length } = window.tracewright.state;
        return { view: view.value, selection: selection.value, bytes: length.value };
      });
      equal(view, selection, "the window is selected");
      truthy(view.to - view.from < bytes / 2, "a part");
      const window = lines(await command("find", "--format", "json", capture, "first instruction 1000..2000"));
      equal(view.from, window.find((line) => line.offset !== undefined).offset, "its begin");
      await tab(page, "Functions");
      const inside = (await functionRows(page)).reduce((sum, row) => sum + Number(row.split(" ")[1].replace(",", "")), 0);
      truthy(inside >= 800 && inside <= 1200, `${inside} instructions`);
      // What is not there is stated.
      await page.keyboard.press("Escape");
      await page.keyboard.press("End");
      await until(page, () => document.querySelector("#panel-right").textContent.includes("This file does not have"), null, "what is not there is stated");
    }),

  "exported: the address of a moment leads to it": (browser) =>
    withFile(browser, EXPORT, async (page) => {
      await page.keyboard.press("e");
      await until(page, () => window.tracewright.state.focus.value?.element !== undefined, null, "an exception is in focus");
      await until(page, () => location.hash === window.tracewright.fragment(), null, "the address is a link");
      const url = page.url();
      const at = await page.evaluate(() => window.tracewright.state.focus.value.element);
      const other = await page.context().newPage();
      await other.goto(url);
      await other.waitForFunction((at) => window.tracewright?.state.focus.value?.element === at, at);
      await other.close();
    }),

  "exported: Perfetto gets the calls": async (browser) => {
    const folder = await mkdtemp(join(tmpdir(), "tracewright-exported-"));
    const path = join(folder, "trace.html");
    await command("view", capture, "--export", path);
    const { page, errors, close } = await openPage(browser, pathToFileURL(path).href);
    const got = await opened(page);
    equal(got.from, "null", "the origin of a file");
    equal(got.calls.length, (await calls()).length, "calls");
    equal(errors, [], "errors");
    await close();
    await rm(folder, { recursive: true });
  },

  "exported: the report has what was decoded": (browser) =>
    withFile(browser, REPORT, async (page) => {
      const title = await page.title();
      truthy(title.includes(basename(capture)) && /\d{4}-\d\d-\d\d.*tracewright \d/.test(title), title);
      const about = await page.locator("#about").innerText();
      for (const text of ["Exceptions by kind", "SysTick", "systick_handler", "Coverage", "program.c", "Totals of decoding", "It has"]) {
        truthy(about.includes(text), `${text} in ${about}`);
      }
      // Totals are no warnings.
      equal(await page.locator(".notice, #about .bad").count(), 0, "warnings");
      await tab(page, "Flame graph");
      const frames = await page.locator("#flame button").count();
      truthy(frames > 10, `${frames} frames`);
      const [first, second] = [page.locator("#flame button").nth(0), page.locator("#flame button", { hasText: "solve" }).first()];
      const width = (await first.boundingBox()).width;
      await second.click();
      await until(page, (width) => {
        const frame = [...document.querySelectorAll("#flame button")].find((own) => own.getAttribute("aria-pressed") === "true");
        return frame !== undefined && Math.abs(frame.getBoundingClientRect().width - width) < 2;
      }, width, "the chosen frame is as wide as the picture");
    }),

  "exported: every panel shows something or its reason": (browser) =>
    withFile(browser, REPORT, async (page) => {
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

for (const [name, options] of [["light", { colorScheme: "light" }], ["dark", { colorScheme: "dark" }], ["forced colours", { forcedColors: "active" }]]) {
  all[`exported: axe, ${name}`] = (browser) =>
    withFile(
      browser,
      REPORT,
      async (page) => {
        for (const panel of ["About", "Flame graph", "Functions", "Call tree", "Output"]) {
          await tab(page, panel);
          equal(await violations(page), [], panel);
        }
      },
      { bypassCSP: true, ...options },
    );
}

export const tests = bin === undefined || capture === undefined ? {} : all;
