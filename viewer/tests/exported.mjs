// Files of `tracewright view --export` and `tracewright report`, without a server. TRACEWRIGHT_BIN is
// the command, TRACEWRIGHT_CAPTURE the built-in example.

import { cp, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
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

  "exported: the rows of the part are shown first": async (browser) => {
    for (const window of [["--instruction", "100..200"], ["--offset", "1000..1100"]]) {
      await withFile(browser, ["view", capture, ...window, "--export", "FILE"], async (page) => {
        await until(page, () => document.querySelector("#instructions .row .number") !== null, null, `rows of ${window.join(" ")}`);
        const first = await page.evaluate(() => window.tracewright.state.view.value.from);
        equal(await page.evaluate(() => window.tracewright.state.focus.value), null, "nothing is in focus");
        truthy(first > 0, "a part");
      });
    }
  },

  "exported: a loss ends where the next element is": async (browser) => {
    const folder = await mkdtemp(join(tmpdir(), "tracewright-loss-"));
    const own = join(folder, "capture");
    await cp(join(import.meta.dirname, "../../tests/captures/stm/capture"), own, { recursive: true });
    const file = join(own, "ETB_0.bin");
    // In the first synchronisation, so that the bytes before the second one are undecodable.
    const bytes = await readFile(file);
    bytes[11] = 0xff;
    await writeFile(file, bytes);
    try {
      await withFile(browser, ["view", own, "--export", "FILE"], async (page) => {
        const elements = lines(await command("decode", "--format", "json", own)).filter((line) => line.type === "element");
        const lost = elements.findIndex((line) => line.kind === "undecodable");
        const shown = await page.evaluate(() => {
          const [part] = window.tracewright.scene.current.sources.get(0).parts;
          const at = part.detail.eventKind.indexOf(7);
          return { from: part.events.u[at], to: part.events.end[at], moments: [...part.events.u], offsets: [...part.detail.eventAt] };
        });
        equal([shown.from, shown.to], [elements[lost].offset, elements[lost + 1].offset], "the loss");
        equal(shown.moments, shown.offsets, "moments of a source without instructions");
        truthy(new Set(shown.moments).size > 3, "several moments");
        truthy((await page.locator("#about").innerText()).includes("undecodable or without program memory: 1;"), "damage");
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  },

  "exported: what a file cannot answer is not offered": async (browser) => {
    const itm = join(import.meta.dirname, "../../tests/captures/itm/capture");
    for (const trace of [capture, itm]) {
      await withFile(browser, ["report", trace, "-o", "FILE"], async (page) => {
        equal(await page.getByText("List elements").count(), 0, "elements");
        equal(await page.locator("#panel-right .switch").count(), 0, "the switch of elements");
        await tab(page, "Query");
        const examples = await page.locator("#panel-left .buttons .link").allTextContents();
        equal(examples.length > 0, trace === capture, `examples: ${examples}`);
        for (const example of examples) {
          await page.locator("#query").fill(example);
          await page.keyboard.press("Enter");
          await settled(page);
          truthy((await page.locator("#results .gridrow").count()) > 0, `results of ${example}`);
        }
        if (trace === itm) {
          await tab(page, "Exceptions");
          const text = await page.locator("#panel-left").innerText();
          truthy(text.includes("ITM") && !text.includes("None was taken"), text);
        }
      });
    }
  },

  "exported: the number of exceptions is that of the elements": async (browser) => {
    const words = ["report", capture, "--limit", "5", "-o", "FILE"];
    const decoded = lines(await command("decode", "--format", "json", capture));
    const taken = decoded.filter((line) => line.kind === "exception" || line.type === "exception").length;
    await withFile(browser, words, async (page) => {
      const about = await page.locator("#about").innerText();
      truthy(new RegExp(`exceptions\\s+${taken}\\b`).test(about), about);
      truthy(about.includes("Threads and the exceptions by kind end after 5 calls"), about);
    });
  },

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
