// Traces that lack something, and servers that fail: an empty panel gives its reason, and nothing
// is thrown.

import { openPage, settled } from "./browser.mjs";
import { equal, truthy } from "./check.mjs";
import { serve } from "./mock.mjs";

const PANELS = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

/** What all panels show, one after another. */
async function panels(page) {
  const texts = [];
  for (const key of PANELS) {
    await page.keyboard.press("Escape");
    await page.keyboard.press(key);
    await settled(page);
    const right = key === "8" || key === "9";
    texts.push(await page.locator(right ? "#panel-right" : "#panel-left").innerText());
  }
  return texts;
}

async function visit(browser, options, body, allowed = []) {
  const server = await serve({ instructions: 8_000, ...options });
  const { page, errors, close } = await openPage(browser, server.url);
  const texts = await panels(page);
  for (const [k, text] of texts.entries()) truthy(text.trim().length > 20, `panel ${PANELS[k]} is empty: "${text}"`);
  await body(texts, page);
  const left = errors.filter((error) => !allowed.some((part) => error.includes(part)));
  equal(left, [], "errors");
  await close();
  server.close();
}

export const tests = {
  "damage: ITM alone": (browser) =>
    visit(browser, { only: "itm" }, async (texts) => {
      truthy(texts[0].includes("No instructions are traced"), texts[0]);
      truthy(texts[4].includes("8 queens"), "its output is listed");
    }),

  "damage: no output, no timestamps": (browser) =>
    visit(browser, { only: "etm", times: false }, async (texts, page) => {
      truthy(texts[4].includes("wrote no output"), texts[4]);
      const axis = await page.evaluate(() => window.tracewright.scene.current.kind);
      equal(axis, "instructions", "the axis without timestamps");
    }),

  "damage: a source without trace has a name, and nothing is asked for": async (browser) => {
    const server = await serve({ instructions: 8_000, empty: true });
    const { page, errors, close } = await openPage(browser, server.url);
    const rows = await page.evaluate(() =>
      window.tracewright.scene.current.tracks.filter((track) => track.source.number === 3).map((track) => track.kind),
    );
    equal(rows, ["head"], "the rows of the source");
    equal(server.log.filter((path) => path.includes("source=3")), [], "requests");
    equal(errors, [], "errors");
    await close();
    server.close();
  },

  "damage: an index without a view": (browser) =>
    visit(browser, { view: false, detailBytes: 1024 }, async (texts) => {
      truthy(texts[2].includes("too long"), texts[2]);
    }),

  "damage: lost trace is hatched, and frames over it are uncertain": async (browser) => {
    const server = await serve({ instructions: 30_000 });
    const { page, errors, close } = await openPage(browser, server.url);
    const { trace } = server.api;
    const gap = trace.events.find((e) => e.kind === 7);
    await page.evaluate((at) => window.tracewright.state.show({ from: at - 40, to: at + 40 }), gap.at);
    await settled(page);
    const marks = await page.evaluate(() => {
      const source = window.tracewright.scene.current.sources.get(0);
      const gaps = source.parts.flatMap((p) => [...(p.detail?.eventKind ?? [])]).filter((kind) => kind === 7).length;
      const uncertain = source.parts.flatMap((p) => [...p.frames.flags]).filter((flags) => flags & 1).length;
      return { gaps, uncertain };
    });
    truthy(marks.gaps > 0 && marks.uncertain > 0, JSON.stringify(marks));
    equal(errors, [], "errors");
    await close();
    server.close();
  },

  "damage: routes that fail are reported": async (browser) => {
    const broken = ["api/profile", "api/calls", "api/list", "api/stack", "api/output", "api/exceptions", "api/source", "api/detail"];
    await visit(
      browser,
      { broken },
      async (texts) => {
        truthy(texts[0].includes("the file cannot be read"), texts[0]);
        truthy(texts[3].includes("the file cannot be read"), texts[3]);
      },
      ["500 (Internal Server Error)"],
    );
  },

  "damage: links with nonsense change nothing": async (browser) => {
    const server = await serve({ instructions: 8_000 });
    for (const hash of ["#v=9..2&f=x&p=a.b", "#c=0123456789abcdef&v=-1..5&s=1e9..2&f=99999999999&n=77&a=no", "#%%%", "#v=0..1e400"]) {
      const { page, errors, close } = await openPage(browser, server.url + hash);
      const view = await page.evaluate(() => window.tracewright.state.view.value);
      truthy(view.from >= 0 && view.to > view.from && view.to <= server.api.trace.bytes, `${hash}: ${JSON.stringify(view)}`);
      equal(errors, [], hash);
      await close();
    }
    server.close();
  },
};
