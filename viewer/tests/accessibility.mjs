// axe on each screen, in each colour scheme; the twin of the canvas; the size of the text.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { openPage, settled } from "./browser.mjs";
import { equal, truthy, until } from "./check.mjs";
import { serve } from "./mock.mjs";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function violations(page) {
  await page.evaluate(`(() => { ${axe}; window.axe = axe; })()`);
  return page.evaluate(async () => {
    const result = await window.axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    });
    return result.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.html.slice(0, 160)} ${n.failureSummary}`).join(" | ")}`);
  });
}

async function screens(browser, options) {
  const server = await serve({ instructions: 20_000, saveNotes: true });
  const { page, errors, close } = await openPage(browser, server.url, { bypassCSP: true, ...options });
  const check = async (name) => {
    await settled(page);
    equal(await violations(page), [], name);
  };
  await check("start");
  await page.keyboard.press("End");
  await page.evaluate(() => window.tracewright.state.choose(4));
  await check("focus and function");
  for (const [key, name] of [["2", "calls"], ["3", "tree"], ["4", "exceptions"], ["5", "output"], ["7", "bookmarks"], ["9", "source"]]) {
    await page.keyboard.press("Escape");
    if (key === "7") await page.keyboard.press("b");
    await page.keyboard.press("Escape");
    await page.keyboard.press(key);
    await check(name);
  }
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await page.keyboard.type("exception");
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector("#results") !== null, null, "results");
  await check("query");
  await page.keyboard.press("Escape");
  for (const [key, name] of [["?", "keys"], ["Control+k", "commands"], ["g", "go to"]]) {
    await page.keyboard.press(key);
    await until(page, () => document.querySelector("dialog[open]") !== null, null, name);
    await check(name);
    await page.keyboard.press("Escape");
    await until(page, () => document.querySelector("dialog[open]") === null, null, "closed");
  }
  equal(errors, [], "errors");
  await close();
  server.close();
}

export const tests = {
  "accessibility: axe, light": (browser) => screens(browser, { colorScheme: "light" }),
  "accessibility: axe, dark": (browser) => screens(browser, { colorScheme: "dark" }),
  "accessibility: axe, forced colours": (browser) => screens(browser, { forcedColors: "active" }),
  "accessibility: axe, narrow": (browser) => screens(browser, { width: 640, height: 800 }),

  "accessibility: the focus has a twin in the document, and is read out": async (browser) => {
    const server = await serve({ instructions: 20_000 });
    const { page, errors, close } = await openPage(browser, server.url, { reducedMotion: "reduce" });
    await page.locator("#timeline").focus();
    await page.keyboard.press("ArrowDown");
    await until(page, () => /depth \d+, [\d,]+ instruction/.test(document.querySelector("[aria-live]").textContent), null, "the frame is read out");
    const depth = () => page.evaluate(() => window.tracewright.state.focus.value.depth);
    const before = await depth();
    await page.keyboard.press("ArrowUp");
    equal(await depth(), before - 1, "the caller");
    await until(page, () => document.querySelector("[role=treegrid] [aria-selected=true]") !== null, null, "the table follows");
    const rows = await page.evaluate(() => {
      const grid = document.querySelector("[role=treegrid][aria-label='Frames around the focus']");
      return { all: grid.querySelectorAll("[role=row]").length, selected: grid.querySelectorAll("[aria-selected=true]").length };
    });
    truthy(rows.all > 2 && rows.all <= 51 && rows.selected === 1, JSON.stringify(rows));
    equal(errors, [], "errors");
    await close();
    server.close();
  },

  "accessibility: no key does anything while a field has the focus": async (browser) => {
    const server = await serve({ instructions: 8_000 });
    const { page, close } = await openPage(browser, server.url);
    const before = await page.evaluate(() => JSON.stringify(window.tracewright.state.view.value));
    await page.keyboard.press("/");
    await page.keyboard.type("wasd0ftcebm");
    equal(await page.locator("#query").inputValue(), "wasd0ftcebm", "the text");
    equal(await page.evaluate(() => JSON.stringify(window.tracewright.state.view.value)), before, "the view");
    await close();
    server.close();
  },
};
