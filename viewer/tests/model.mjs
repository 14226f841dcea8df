// What the page draws and lists is what the trace has: the model is read, not pixels.

import { openPage, remembered, settled } from "./browser.mjs";
import { equal, truthy, until } from "./check.mjs";
import { serve } from "./mock.mjs";

/** Views that are compared with the trace: more in a long run. */
const VIEWS = process.env.TRACEWRIGHT_TIMES === undefined ? 25 : 200;

/** Deterministic numbers from 0 to 1. */
function numbersFrom(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export const tests = {
  "model: random views have the calls of the trace": async (browser) => {
    const server = await serve({ instructions: 60_000 });
    const { page, errors, close } = await openPage(browser, server.url);
    const { trace } = server.api;
    const next = numbersFrom(7);
    let compared = 0;
    for (let k = 0; k < VIEWS; k++) {
      const size = trace.bytes * 0.5 ** (12 * next());
      const from = next() * (trace.bytes - size);
      await page.evaluate((range) => window.tracewright.state.show(range), { from, to: from + size });
      await settled(page);
      const shown = await page.evaluate(() => {
        const scene = window.tracewright.scene.current;
        const source = scene.sources.get(0);
        const calls = [];
        for (const { frames } of source.parts) {
          for (let f = 0; f < frames.begin.length; f++) {
            calls.push([frames.beginInstruction[f], frames.endInstruction[f], frames.depth[f], frames.function[f]].join(" "));
          }
        }
        return { exact: source.exact, calls, from: scene.view.from, to: scene.view.to };
      });
      truthy(shown.exact, "a short view shows each call");
      const listed = new Set(shown.calls);
      const expected = trace.frames.filter((f) => f.begin < shown.to - 1 && f.end > shown.from + 1);
      for (const f of expected) {
        const key = [f.beginI, f.endI, f.depth, f.function].join(" ");
        truthy(listed.has(key), `view ${shown.from}..${shown.to} lacks ${key}`);
        compared += 1;
      }
    }
    equal(errors, [], "errors");
    await close();
    server.close();
    return `${compared} calls`;
  },

  "model: positions on each axis are those of the trace": async (browser) => {
    const server = await serve({ instructions: 40_000 });
    const { page, errors, close } = await openPage(browser, server.url);
    const { trace } = server.api;
    for (const axis of ["instructions", "time", "bytes"]) {
      await page.evaluate((axis) => (window.tracewright.state.axis.value = axis), axis);
      await settled(page);
      const worst = await page.evaluate(
        ({ frames, axis, first }) => {
          const scene = window.tracewright.scene.current;
          const source = scene.sources.get(0);
          const column = { instructions: "i", time: "t", bytes: "u" }[axis];
          let worst = 0;
          for (const f of frames) {
            const value = source.correspondence.convert("i", column, f.beginI);
            const expected = { instructions: f.beginI, time: f.beginT - first, bytes: f.begin }[axis];
            worst = Math.max(worst, Math.abs(value - expected));
          }
          return worst;
        },
        { frames: trace.frames.filter((f) => f.beginI > 400 && f.beginI < 38_000), axis, first: trace.times.first },
      );
      // A time between two timestamps is in proportion; the idle times are 6,000 ticks.
      const most = { instructions: 0, bytes: 1.01, time: 6200 }[axis];
      truthy(worst <= most, `${axis}: ${worst} away`);
    }
    equal(errors, [], "errors");
    await close();
    server.close();
  },

  "model: tiles where the view is long, calls where it is short": async (browser) => {
    const server = await serve({ instructions: 60_000, bytesPerInstruction: 900, tileLog2: 13 });
    const { page, errors, close } = await openPage(browser, server.url);
    const read = () =>
      page.evaluate(() => {
        const source = window.tracewright.scene.current.sources.get(0);
        return { exact: source.exact, tiles: source.tiles.reduce((n, p) => n + p.tiles.tile.length, 0), parts: source.parts.length };
      });
    await until(page, () => window.tracewright.scene.current.sources.get(0).parts.length > 0, null, "long calls are shown");
    const whole = await read();
    truthy(!whole.exact && whole.tiles > 100, `the whole trace: ${JSON.stringify(whole)}`);
    for (let k = 0; k < 12; k++) {
      await page.keyboard.press("w");
      const drawn = await read();
      truthy(drawn.exact || drawn.tiles > 0, "the old picture stays until the new one is there");
    }
    // Keys between two pictures have one effect.
    const length = () => page.evaluate(() => window.tracewright.state.view.value.to - window.tracewright.state.view.value.from);
    for (let k = 0; k < 100 && (await length()) > 2 ** 18; k++) await page.keyboard.press("w");
    await settled(page);
    truthy((await read()).exact, "a short view is exact");
    const asked = server.log.filter((path) => path.startsWith("/api/tiles"));
    equal(new Set(asked).size, asked.length, "no tile is asked for twice");
    await page.keyboard.press("0");
    await settled(page);
    equal(errors, [], "errors");
    await close();
    server.close();
  },

  "model: at most six requests are under way, and stale ones are aborted": async (browser) => {
    const server = await serve({ instructions: 60_000, bytesPerInstruction: 900, tileLog2: 13, delay: 40 });
    const { page, errors, close } = await openPage(browser, server.url);
    await page.evaluate(() => {
      const counts = { open: 0, most: 0, aborted: 0 };
      const original = window.fetch;
      window.fetch = (address, options) => {
        counts.open += 1;
        counts.most = Math.max(counts.most, counts.open);
        let ended = false;
        const end = (aborted) => {
          if (ended) return;
          ended = true;
          counts.open -= 1;
          if (aborted) counts.aborted += 1;
        };
        options?.signal?.addEventListener("abort", () => end(true));
        const answer = original(address, options);
        answer.then(() => end(false), () => end(false));
        return answer;
      };
      window.requestCounts = counts;
    });
    for (let k = 0; k < 30; k++) {
      await page.keyboard.press(k % 3 === 0 ? "d" : "w");
      await page.waitForTimeout(15);
    }
    await settled(page);
    const { most, aborted } = await page.evaluate(() => window.requestCounts);
    truthy(most <= 6, `${most} requests were under way`);
    truthy(aborted > 0, "a request for a view that is gone was aborted");
    equal(errors, [], "errors");
    await close();
    server.close();
    return `${aborted} aborted`;
  },

  "model: functions, callers and callees of a selection": async (browser) => {
    const server = await serve({ instructions: 30_000 });
    const { page, errors, close } = await openPage(browser, server.url);
    const { trace } = server.api;
    const names = await page.locator("#functions .gridbody [role=gridcell]:first-child").allTextContents();
    const own = new Map();
    for (const b of trace.blocks) own.set(b.function, (own.get(b.function) ?? 0) + b.count);
    const expected = [...own].sort((a, b) => b[1] - a[1]).map(([id]) => trace.names[id].name);
    equal(names.map((name) => name.trim()), expected, "functions by their own instructions");
    await page.evaluate(() => (window.tracewright.state.selection.value = { from: 100, to: 180 }));
    await settled(page);
    await until(page, () => document.querySelector(".panelhead p")?.textContent.includes("in the selection"), null, "the selection");
    await page.locator("#tab-left-tree").click();
    await settled(page);
    truthy((await page.locator("#tree .gridbody .gridrow").count()) > 0, "a call tree of the selection");
    equal(errors, [], "errors");
    await close();
    server.close();
  },

  "model: the list of instructions is endless in both directions": async (browser) => {
    const server = await serve({ instructions: 30_000 });
    const { page, errors, close } = await openPage(browser, server.url);
    await page.evaluate(() => window.tracewright.state.focusOn({ source: 0, offset: 2000, atInstruction: 14_000 }));
    await settled(page);
    const numbers = () =>
      page.evaluate(() =>
        [...document.querySelectorAll("#instructions .row")]
          .filter((row) => !/exception|lost|event/.test(row.className))
          .map((row) => Number(row.firstChild.textContent.replaceAll(",", ""))),
      );
    await page.locator("#instructions").focus();
    const [first] = await numbers();
    for (let k = 0; k < 40; k++) {
      await page.keyboard.press("PageUp");
      await page.waitForTimeout(25);
      const rows = await numbers();
      rows.slice(1).forEach((n, at) => equal(n, rows[at] + 1, "consecutive instructions"));
    }
    await settled(page);
    truthy((await numbers())[0] < first - 300, "far above");
    for (let k = 0; k < 80; k++) {
      await page.keyboard.press("PageDown");
      await page.waitForTimeout(20);
    }
    await settled(page);
    const rows = await numbers();
    rows.slice(1).forEach((n, at) => equal(n, rows[at] + 1, "consecutive instructions"));
    truthy(rows[0] > first, "and far below");
    await page.keyboard.press("End");
    await settled(page);
    equal((await numbers()).pop(), server.api.trace.instructions - 1, "the last instruction");
    equal(errors, [], "errors");
    await close();
    server.close();
  },

  "model: two processors and two buffers": async (browser) => {
    const server = await serve({ instructions: 20_000, cores: 2, buffers: 2 });
    const { page, errors, close } = await openPage(browser, server.url);
    const read = () =>
      page.evaluate(() => {
        const scene = window.tracewright.scene.current;
        return { tracks: scene.tracks.map((t) => `${t.kind} ${t.source.name}`), buffer: scene.info.number };
      });
    const rows = ["head ETM_0", "events ETM_0", "frames ETM_0", "head ETM_1", "events ETM_1", "frames ETM_1", "head ITM_0", "output ITM_0"];
    equal(await read(), { tracks: rows, buffer: 0 }, "the rows of both");
    for (const axis of ["instructions", "bytes", "time"]) {
      await page.evaluate((axis) => (window.tracewright.state.axis.value = axis), axis);
      await page.keyboard.press("w");
      await settled(page);
    }
    await page.keyboard.press("End");
    await settled(page);
    await page.locator(".top select").selectOption("1");
    await until(page, () => window.tracewright.scene.current?.info.number === 1, null, "the other buffer");
    await settled(page);
    equal(await read(), { tracks: rows, buffer: 1 }, "the rows of the other");
    equal(await page.evaluate(() => window.tracewright.state.focus.value), null, "no focus");
    await remembered(page);
    truthy(page.url().includes("&b=1"), page.url());
    equal(errors, [], "errors");
    await close();
    server.close();
  },

  "model: values are rows, exact where the view is short, and in a table": async (browser) => {
    const server = await serve({ instructions: 60_000, bytesPerInstruction: 40, values: true });
    const { page, errors, close } = await openPage(browser, server.url);
    const { trace, numbers } = server.api;
    truthy(numbers.length > 5, "there are values");
    const shown = () => page.evaluate(() => window.tracewright.values.value.get(1));
    const next = numbersFrom(11);
    const seen = { true: 0, false: 0 };
    for (let k = 0; k < 8; k++) {
      const size = Math.floor(trace.bytes * 0.5 ** (k % 4 === 0 ? 0 : 2 + 4 * next()));
      const from = Math.floor(next() * (trace.bytes - size));
      const to = from + size;
      await page.evaluate((range) => window.tracewright.state.show(range), { from, to });
      const inside = numbers.filter((n) => n.at >= from && n.at < to);
      await until(
        page,
        ({ from, to, exact, wanted }) => {
          const own = window.tracewright.values.value.get(1);
          if (own === undefined || own.exact !== exact) return false;
          const rows = own.rows.filter((row) => row.from < to && row.to >= from);
          const count = rows.reduce((sum, row) => sum + row.count, 0);
          return exact ? count === wanted && rows.length === own.rows.length : count >= wanted;
        },
        { from, to, exact: size <= 2 ** 18, wanted: inside.length },
        `the values of ${from}..${to}`,
      );
      const { rows, exact } = await shown();
      seen[exact] += 1;
      for (const row of rows) {
        const of = exact ? inside.filter((n) => n.at === row.from && n.value === row.mean) : numbers.filter((n) => n.at >= row.from && n.at < row.to);
        const all = of.map((n) => n.value);
        truthy(all.length > 0, "a row has values");
        if (exact) continue;
        const mean = all.reduce((a, b) => a + b) / all.length;
        equal([row.count, row.least, row.most, row.mean], [all.length, Math.min(...all), Math.max(...all), mean], "a tile");
      }
    }
    truthy(seen.true > 0 && seen.false > 0, `both kinds: ${JSON.stringify(seen)}`);
    await page.evaluate((bytes) => window.tracewright.state.show({ from: 0, to: bytes }), trace.bytes);
    await until(page, (n) => document.querySelector("table[aria-label='Values in the view'] tbody td:last-child")?.textContent.startsWith(`${n} values`), numbers.length, "the table");
    const rows = await page.evaluate(() => window.tracewright.scene.current.tracks.map((t) => `${t.kind} ${t.label}`));
    equal(rows.filter((row) => row.startsWith("values")), ["values port 5"], "text has no row of values");
    equal(errors, [], "errors");
    await close();
    server.close();
    return `${seen.true} exact, ${seen.false} of tiles`;
  },

  "model: the view is saved for Perfetto": async (browser) => {
    const server = await serve({ instructions: 20_000 });
    const { page, errors, close } = await openPage(browser, server.url, { acceptDownloads: true });
    const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Shift+P")]);
    const stream = await download.createReadStream();
    let text = "";
    for await (const part of stream) text += part;
    const { traceEvents, otherData } = JSON.parse(text);
    const saved = traceEvents.filter((e) => e.ph === "X");
    equal(saved.length, server.api.trace.frames.length, "calls");
    const name = (f) => server.api.trace.names[f.function].name;
    equal(saved.map((e) => e.name).sort(), server.api.trace.frames.map(name).sort(), "their functions");
    equal(otherData.unit, "ticks", "the unit");
    equal(errors, [], "errors");
    await close();
    server.close();
  },
};
