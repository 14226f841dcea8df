// The pages of `tracewright coverage --format html`: axe in each colour scheme, without scripts and
// requests, by keyboard, and with columns that do not move. TRACEWRIGHT_PAGES is the folder.

import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { violations } from "./accessibility.mjs";
import { equal, truthy } from "./check.mjs";

const folder = process.env.TRACEWRIGHT_PAGES;

const names = async () => (await readdir(folder)).filter((name) => name.endsWith(".html"));

async function each(browser, options, body) {
  const place = await browser.newContext({ viewport: { width: 1300, height: 900 }, ...options });
  const page = await place.newPage();
  const errors = [];
  page.on("console", (message) => errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(error.message));
  let count = 0;
  for (const name of await names()) {
    const url = pathToFileURL(join(folder, name)).href;
    const others = [];
    const request = (own) => own.url().startsWith(url) || others.push(own.url());
    page.on("request", request);
    await page.goto(url);
    await body(page, name);
    page.off("request", request);
    equal([errors, others], [[], []], `${name}: errors and requests`);
    count += 1;
  }
  await place.close();
  truthy(count >= 6, `${count} pages`);
  return `${count} pages`;
}

const screens = (browser, options) =>
  each(browser, { bypassCSP: true, ...options }, async (page, name) => equal(await violations(page), [], name));

const all = {
  "coverage: axe, light": (browser) => screens(browser, { colorScheme: "light" }),
  "coverage: axe, dark": (browser) => screens(browser, { colorScheme: "dark" }),
  "coverage: axe, forced colours": (browser) => screens(browser, { forcedColors: "active" }),
  "coverage: axe, narrow": (browser) => screens(browser, { viewport: { width: 640, height: 800 } }),

  "coverage: the style is allowed, and nothing else is": (browser) =>
    each(browser, {}, async (page, name) => {
      const style = await page.evaluate(() => getComputedStyle(document.querySelector("table, p")).display);
      truthy(style === "table" || style === "block", name);
      equal(await page.evaluate(() => getComputedStyle(document.querySelector("header")).borderBottomWidth), "1px", name);
      equal(await page.evaluate(() => document.scripts.length), 0, name);
    }),

  "coverage: the keyboard reaches the content, each link and each wide table": (browser) =>
    each(browser, {}, async (page, name) => {
      await page.keyboard.press("Tab");
      equal(await page.evaluate(() => document.activeElement.className), "skip", `${name}: first`);
      const all = await page.evaluate(() => document.querySelectorAll("a, .wide").length);
      const reached = new Set();
      for (let n = 1; n <= all; n++) {
        reached.add(await page.evaluate(() => [...document.querySelectorAll("a, .wide")].indexOf(document.activeElement)));
        await page.keyboard.press("Tab");
      }
      equal(reached.size, all, `${name}: all are reached`);
      truthy(!reached.has(-1), `${name}: only these`);
    }),

  "coverage: tables have captions and heads": (browser) =>
    each(browser, {}, async (page, name) => {
      const wrong = await page.evaluate(() =>
        [...document.querySelectorAll("table")].filter((table) => {
          const heads = [...table.querySelectorAll("thead th")];
          const rows = [...table.tBodies[0].rows];
          const headed = rows.every((row) => row.cells[0].getAttribute("scope") === "row" && row.cells.length === heads.length);
          return table.caption === null || !headed || heads.length === 0 || heads.some((head) => head.getAttribute("scope") !== "col");
        }).length,
      );
      equal(wrong, 0, name);
    }),

  "coverage: the columns of source lines have the same places in all files": async (browser) => {
    const places = new Set();
    await each(browser, {}, async (page) => {
      const own = await page.evaluate(() =>
        [...document.querySelectorAll(".source thead th")].map((cell) => Math.round(cell.getBoundingClientRect().left)).join(" "),
      );
      if (own !== "") places.add(own);
    });
    equal(places.size, 1, [...places].join("; "));
  },

  "coverage: each value is a word": (browser) =>
    each(browser, {}, async (page, name) => {
      const words = new Set(await page.evaluate(() => [...document.querySelectorAll(".state")].map((own) => own.textContent.replace(/ \(\d+\)$/, ""))));
      const known = ["executed", "not executed", "unknown", "exempted", "occurred", "never", "shown", "not shown", "not covered", "met", "not met"];
      equal([...words].filter((word) => !known.includes(word)), [], name);
      const text = await readFile(join(folder, name), "utf8");
      truthy(!/ style="| onclick=/.test(text), name);
    }),
};

export const tests = folder === undefined ? {} : all;
