// The page without a server: TRACEWRIGHT_PAGE is its folder, as `cargo xtask wasm` makes it. Captures are
// dropped on it as a person drops them.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join, normalize, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { settled } from "./browser.mjs";
import { equal, PATIENCE, truthy, until } from "./check.mjs";

export const folder = process.env.TRACEWRIGHT_PAGE;
const repository = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const shared = process.env.TRACEWRIGHT_SHARED ?? join(repository, "../shared");
const KINDS = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

/** A server of files, as any other. */
function serve() {
  const server = createServer((request, response) => {
    const path = join(folder, normalize(new URL(request.url, "http://a").pathname).replace(/\/$/, "/index.html"));
    if (!existsSync(path)) return void response.writeHead(404).end();
    response.writeHead(200, { "Content-Type": KINDS[extname(path)] ?? "application/octet-stream" });
    response.end(readFileSync(path));
  });
  return new Promise((ready) => server.listen(0, "127.0.0.1", () => ready(server)));
}

export async function visit(browser, test, options = {}) {
  const server = await serve();
  const origin = `http://127.0.0.1:${server.address().port}`;
  const place = await browser.newContext({ viewport: { width: 1400, height: 860 }, ...options });
  place.setDefaultTimeout(PATIENCE);
  const page = await place.newPage();
  const [errors, requests] = [[], []];
  page.on("pageerror", (error) => errors.push(`${error.message}\n${error.stack}`));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  place.on("request", (request) => requests.push(`${request.method()} ${request.url()}`));
  try {
    await page.goto(`${origin}/`);
    await page.waitForSelector(".drop");
    return await test({ page, errors, requests, origin });
  } finally {
    await place.close();
    server.close();
  }
}

/** Drops files and folders of the disk. */
export async function drop(page, paths) {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"]) {
    await session.send("Input.dispatchDragEvent", { type, x: 400, y: 300, data });
  }
}

async function shown(page) {
  await Promise.race([
    page.waitForSelector(".app"),
    page.waitForSelector(".drop [role=alert]").then(async (alert) => {
      throw new Error(await alert.textContent());
    }),
  ]);
  await settled(page);
  return page.evaluate(() => {
    const { capture, buffer, functions } = window.tracewright.state;
    const sum = (name) => capture.value.buffers.reduce((all, own) => all + own[name], 0);
    const own = { name: capture.value.name, buffers: capture.value.buffers.length, bytes: buffer.value.bytes };
    return { ...own, instructions: sum("instructions"), elements: sum("elements"), functions: functions.value.size };
  });
}

const own = (name) => join(repository, "tests/captures", name, "capture");
const CAPTURES = [
  ["a snapshot of ETMv4", [own("etmv4")], "instructions"],
  ["E-Trace", [own("etrace-2.0")], "instructions"],
  ["N-Trace", [own("ntrace-htm")], "instructions"],
  ["ITM", [own("itm")], "elements"],
  ["perf.data", ["perf_etm.data", "etm_test_loop"].map((name) => join(shared, "captures/simpleperf-etm", name)), "instructions"],
  ["a snapshot with symbols", [join(shared, "captures/ti-am243x-r5f/freertos")], "functions"],
  ["SWO", [join(shared, "captures/sigrok-stm32f105/swo_uart.bin")], "elements"],
];

const all = {
  "dropped: the example, and nothing is sent": (browser) =>
    visit(browser, async ({ page, errors, requests, origin }) => {
      await page.getByRole("button", { name: "Open the example" }).click();
      const { functions, instructions } = await shown(page);
      truthy(functions > 3 && instructions > 1000, "functions and instructions");
      const names = await page.evaluate(() => [...window.tracewright.state.functions.value.values()].map((own) => own.name));
      truthy(names.includes("place"), names.join(", "));
      const files = await page.evaluate(() => window.tracewright.state.capture.value.files);
      truthy(files.some((file) => file.path.endsWith("program.c") && file.readable), "its source is shown");
      equal(requests.filter((request) => !request.startsWith(`GET ${origin}/`) && !request.startsWith("GET blob:") && !request.startsWith("GET data:")), [], "requests");
      const before = requests.length;
      await page.evaluate(() => window.tracewright.state.focusOn({ source: 0, offset: 200 }));
      await settled(page);
      equal(requests.length, before, "requests after the files are read");
      equal(errors, [], "errors");
      // Another server is not reached, from the page or from its Worker.
      let reached = 0;
      const other = createServer((_, response) => {
        reached += 1;
        response.writeHead(200, { "Access-Control-Allow-Origin": "*" }).end("x");
      });
      await new Promise((ready) => other.listen(0, "127.0.0.1", ready));
      const address = `http://127.0.0.1:${other.address().port}/`;
      const send = (address) => fetch(address).then(() => "sent", () => "refused");
      const [worker] = page.workers();
      const answers = [await page.evaluate(send, address), await worker.evaluate(send, address)];
      other.close();
      equal([answers, reached], [["refused", "refused"], 0], "requests to another server");
      truthy(errors.some((error) => error.includes("Content Security Policy")), "the policy refuses it");
    }),
  "dropped: a search, and another after it was stopped": (browser) =>
    visit(browser, async ({ page, errors }) => {
      await page.getByRole("button", { name: "Open the example" }).click();
      await shown(page);
      const found = (query, stop) =>
        page.evaluate(
          ([query, stop]) =>
            new Promise((resolve) => {
              const results = [];
              const end = (how) => resolve([how, results.length]);
              const stopped = window.tracewright.state.backend.find(query, {
                progress: () => {},
                found: (result) => results.push(result),
                count: () => {},
                end: () => end("end"),
                error: (message) => end(message),
              });
              if (stop) {
                stopped();
                end("stopped");
              }
            }),
          [query, stop],
        );
      const query = { q: "exception", direction: "all", limit: 50 };
      const first = await found(query, false);
      truthy(first[0] === "end" && first[1] > 0, JSON.stringify(first));
      equal((await found(query, true))[0], "stopped", "a search that is stopped");
      equal(await found(query, false), first, "a search after it");
      equal(errors, [], "errors");
    }),
  "dropped: an answer that is no longer wanted does not delay the next": (browser) =>
    visit(browser, async ({ page, errors }) => {
      await page.getByRole("button", { name: "Open the example" }).click();
      await shown(page);
      const before = page.workers().length;
      const answers = await page.evaluate(async () => {
        const { backend } = window.tracewright.state;
        const part = { buffer: 0, source: 0, from: 0, to: 4096 };
        const own = new AbortController();
        const first = backend.detail(part, own.signal).then(() => "answered", () => "not wanted");
        own.abort();
        const second = await backend.profile(part, new AbortController().signal);
        return [await first, second.functions.length > 0];
      });
      equal(answers, ["not wanted", true], "the answers");
      if (page.workers().length < 2) await page.waitForEvent("worker");
      equal([before, page.workers().length], [1, 2], "decoders");
      equal(errors, [], "errors");
    }),
  "dropped: a phone, where files are chosen": (browser) =>
    visit(
      browser,
      async ({ page, errors }) => {
        /** What is wider than the page, and controls that cannot be reached. */
        const beyond = () =>
          page.evaluate(() => {
            const scrolls = (element) =>
              element !== null && (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
            const outside = [...document.querySelectorAll("button, a, select, label, input")].filter((element) => {
              const { width, right, left } = element.getBoundingClientRect();
              return width > 0 && (right > innerWidth || left < 0) && !scrolls(element.parentElement);
            });
            const names = outside.map((element) => element.textContent || element.className);
            return document.documentElement.scrollWidth > innerWidth ? ["the page", ...names] : names;
          });
        equal(await beyond(), [], "the first page is wider than the screen");
        const folder = own("etmv4");
        await page.locator("input[type=file]").first().setInputFiles(readdirSync(folder).map((name) => join(folder, name)));
        const { instructions } = await shown(page);
        truthy(instructions > 1, `${instructions} instructions`);
        equal(await beyond(), [], "the viewer is wider than the screen");
        for (const name of ["Calls", "Exceptions", "Query", "Source", "Functions"]) {
          await page.getByRole("tab", { name }).first().tap();
          await settled(page);
          equal(await beyond(), [], `${name} is wider than the screen`);
        }
        await page.locator(".top button[aria-label=Keys]").tap();
        equal(await beyond(), [], "a dialog is wider than the screen");
        equal(errors, [], "errors");
      },
      { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
    ),
  "dropped: files that are no capture": (browser) =>
    visit(browser, async ({ page }) => {
      await drop(page, [join(repository, "Cargo.toml")]);
      const alert = await page.waitForSelector(".drop [role=alert]");
      truthy((await alert.textContent()).includes("capture"), "the reason");
      await drop(page, [own("itm")]);
      truthy((await shown(page)).elements > 1, "a capture after it");
    }),
};
for (const [name, paths, what] of CAPTURES) {
  if (!paths.every((path) => existsSync(path))) continue;
  all[`dropped: ${name}`] = (browser) =>
    visit(browser, async ({ page, errors }) => {
      await drop(page, paths);
      const info = await shown(page);
      truthy(info[what] > 1, JSON.stringify(info));
      await until(page, () => window.tracewright.state.pictured.value, null, "a picture");
      equal(errors, [], "errors");
      return JSON.stringify(info);
    });
}
export const tests = folder === undefined ? {} : all;
