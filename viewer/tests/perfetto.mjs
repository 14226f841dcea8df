// The view in Perfetto: a window of its own gets the calls in a message, where the reader asks for it.

import { readFile } from "node:fs/promises";
import { openPage, settled } from "./browser.mjs";
import { equal, truthy, until } from "./check.mjs";
import { serve } from "./mock.mjs";

const ORIGIN = "https://ui.perfetto.dev";

/** What answers as Perfetto does: it holds what it gets. */
const PERFETTO = `<!doctype html><title>Perfetto</title><script>
  addEventListener("message", (event) => {
    if (event.data === "PING") event.source.postMessage("PONG", event.origin === "null" ? "*" : event.origin);
    else window.received = { from: event.origin, ...event.data.perfetto, text: new TextDecoder().decode(event.data.perfetto.buffer) };
  });
</script>`;

/** Presses the button, and returns the calls that Perfetto has got, and from which origin. */
export async function opened(page) {
  await page.context().route(`${ORIGIN}/**`, (route) => route.fulfill({ contentType: "text/html", body: PERFETTO }));
  const window = page.context().waitForEvent("page");
  await page.getByRole("button", { name: "Open in Perfetto" }).click();
  const other = await window;
  await other.waitForFunction(() => window.received !== undefined);
  const got = await other.evaluate(() => ({ from: window.received.from, title: window.received.title, text: window.received.text }));
  await until(page, () => /^Perfetto shows/.test(document.querySelector("[aria-live]").textContent), null, "it is read out");
  await other.close();
  return { ...got, calls: JSON.parse(got.text).traceEvents.filter((event) => event.ph === "X") };
}

export const tests = {
  "perfetto: it gets the calls of the view, and only when the reader asks": async (browser) => {
    const server = await serve({ instructions: 20_000 });
    const { page, errors, close } = await openPage(browser, server.url);
    const asked = [];
    page.context().on("request", (request) => asked.push(new URL(request.url()).origin));
    await page.keyboard.press("End");
    await settled(page);
    truthy(asked.every((origin) => origin === new URL(server.url).origin), `without a click: ${asked}`);
    const { calls, from, title } = await opened(page);
    equal(from, new URL(server.url).origin, "the origin");
    truthy(title.includes("queens"), title);
    truthy(calls.length > 100, `${calls.length} calls`);
    truthy(asked.includes(ORIGIN), "Perfetto was opened");
    equal(errors, [], "errors");
    await close();
    server.close();
    return `${calls.length} calls`;
  },

  "perfetto: another page in its window gets nothing": async (browser) => {
    const server = await serve({ instructions: 8_000 });
    const { page, close } = await openPage(browser, server.url);
    // A page of another origin that answers as Perfetto does.
    const elsewhere = PERFETTO.replace("window.received =", "document.title = 'got it'; window.received =");
    await page.context().route(`${ORIGIN}/**`, (route) => route.fulfill({ status: 302, headers: { Location: "https://elsewhere.example/" } }));
    await page.context().route("https://elsewhere.example/**", (route) => route.fulfill({ contentType: "text/html", body: elsewhere }));
    const window = page.context().waitForEvent("page");
    await page.getByRole("button", { name: "Open in Perfetto" }).click();
    const other = await window;
    await other.waitForURL("https://elsewhere.example/");
    // It has answered: a message of its own arrives after that.
    await page.evaluate(() => (window.pongs = 0) || addEventListener("message", (event) => (window.pongs += event.data === "PONG" ? 1 : 0)));
    await page.waitForFunction(() => window.pongs > 2);
    equal(await other.evaluate(() => window.received ?? null), null, "what it got");
    await close();
    server.close();
  },

  "perfetto: offline the view is saved as a file": async (browser) => {
    const server = await serve({ instructions: 8_000 });
    const { page, errors, close } = await openPage(browser, server.url);
    await page.context().setOffline(true);
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Open in Perfetto" }).click();
    const file = await download;
    equal(file.suggestedFilename(), "trace.json", "its name");
    const { traceEvents } = JSON.parse(await readFile(await file.path(), "utf8"));
    truthy(traceEvents.length > 10, "it has calls");
    equal(page.context().pages().length, 1, "no window was opened");
    await until(page, () => /saved as a file/.test(document.querySelector("[aria-live]").textContent), null, "it is read out");
    equal(errors, [], "errors");
    await close();
    server.close();
  },
};
