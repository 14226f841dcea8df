// Times of pictures. The bounds are loose: the machine may be busy, and draws without a GPU.

import { openPage, settled } from "./browser.mjs";
import { equal, truthy } from "./check.mjs";
import { serve } from "./mock.mjs";

export const tests = {
  "speed: wheel from the whole trace to an instruction and back": async (browser) => {
    const server = await serve({ instructions: 400_000, bytesPerInstruction: 4 });
    const { page, errors, close } = await openPage(browser, server.url);
    await page.mouse.click(800, 300);
    await page.evaluate(() => window.tracewright.frameTimes.splice(0));
    for (let k = 0; k < 60; k++) await page.mouse.wheel(0, -120);
    await settled(page);
    const short = await page.evaluate(() => window.tracewright.state.view.value.to - window.tracewright.state.view.value.from);
    for (let k = 0; k < 60; k++) await page.mouse.wheel(0, 120);
    await settled(page);
    const { median, most, pictures, frames, heap } = await page.evaluate(() => {
      const times = [...window.tracewright.frameTimes].sort((a, b) => a - b);
      const parts = window.tracewright.scene.current.sources.get(0).parts;
      return {
        median: times[Math.floor(times.length / 2)],
        most: times[times.length - 1],
        pictures: times.length,
        frames: parts.reduce((n, p) => n + p.frames.begin.length, 0),
        heap: performance.memory?.usedJSHeapSize ?? 0,
      };
    });
    truthy(short < 20, `the wheel zooms to ${short} bytes`);
    truthy(pictures > 10, `${pictures} pictures`);
    truthy(heap < 150e6, `${heap} bytes of heap`);
    equal(errors, [], "errors");
    await close();
    server.close();
    return `${pictures} pictures of up to ${frames} calls: median ${median.toFixed(1)} ms, most ${most.toFixed(1)} ms; heap ${(heap / 1e6).toFixed(0)} MB`;
  },
};
