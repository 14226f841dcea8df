// Names, output and source text of an attacker are text, and can be seen.

import { openPage, settled } from "./browser.mjs";
import { equal, truthy } from "./check.mjs";
import { serve } from "./mock.mjs";

export const tests = {
  "hostile: names, output, source and notes are text": async (browser) => {
    const name = "<b>capture</b>\u202e";
    const server = await serve({ hostile: true, name, notes: ["<script>alert(3)</script>\u200b"], saveNotes: true, instructions: 20_000 });
    server.api.saveNotes(JSON.stringify({ notes: [{ offset: 5, text: "<img src=x onerror=alert(4)>\u202e" }] }));
    const { page, errors, close } = await openPage(browser, server.url);
    let text = "";
    const read = async () => {
      await settled(page);
      text += await page.evaluate(() => document.body.textContent);
      const elements = await page.evaluate(() => ["img", "script", "iframe", "object", "style", "b:not(.where b):not(p b)"].map((s) => document.body.querySelectorAll(s).length));
      equal(elements, [0, 0, 0, 0, 0, 0], "elements that text has made");
    };
    await read();
    for (const key of ["2", "3", "4", "5", "6", "7"]) {
      await page.keyboard.press("Escape");
      await page.keyboard.press(key);
      await read();
    }
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+p");
    await read();
    await page.keyboard.press("Escape");
    await page.evaluate(() => window.tracewright.state.choose(13));
    await page.keyboard.press("9");
    await page.evaluate(() => window.tracewright.state.focusOn({ source: 0, offset: 900 }));
    await read();
    truthy(text.includes("<img src=x onerror=alert(1)>"), "the name of a symbol is shown");
    truthy(text.includes("</script><script>alert(2)</script>"), "output is shown");
    truthy(text.includes("\\u{202e}") && text.includes("\\u{200b}"), "hidden characters are escapes");
    truthy(!/[\u202a-\u202e\u2066-\u2069\u200b-\u200f\ufeff]/.test(text), "no hidden character is left");
    const title = await page.title();
    truthy(!/[\u202e]/.test(title), "not in the title either");
    equal(errors, [], "errors, dialogs and violations of the policy");
    await close();
    server.close();
  },
};
