// A real browser for the tests: Chromium of the system, without a download.

import { access } from "node:fs/promises";
import { chromium } from "playwright-core";
import { PATIENCE, until } from "./check.mjs";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export async function launch() {
  for (const path of [process.env.TRACEWRIGHT_CHROMIUM, ...PLACES]) {
    if (path === undefined) continue;
    try {
      await access(path);
    } catch {
      continue;
    }
    return chromium.launch({ executablePath: path, args: ["--no-sandbox", "--disable-gpu"] });
  }
  throw new Error("there is no Chromium; TRACEWRIGHT_CHROMIUM names one in another place");
}

/**
 * A page at `url`; what it reports as errors is in `errors`. With TRACEWRIGHT_SLOWER=N its processor
 * is N times as slow: keys then arrive while it still draws.
 */
export async function openPage(browser, url, options = {}) {
  const { width = 1400, height = 860, ...context } = options;
  const place = await browser.newContext({ viewport: { width, height }, ...context });
  place.setDefaultTimeout(PATIENCE);
  const page = await place.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(`exception: ${error.message}\n${error.stack}`));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(`console: ${message.text()}`);
  });
  page.on("dialog", (dialog) => {
    errors.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const slower = Number(process.env.TRACEWRIGHT_SLOWER ?? 1);
  if (slower > 1) {
    const session = await place.newCDPSession(page);
    await session.send("Emulation.setCPUThrottlingRate", { rate: slower });
  }
  await page.goto(url);
  await page.waitForSelector(".app");
  await settled(page);
  return { page, errors, close: () => place.close() };
}

/** Waits until nothing is read, and a picture was drawn after that. */
export async function settled(page) {
  await page.waitForFunction(
    () =>
      new Promise((resolve) => {
        const idle = () => document.querySelector(".status p:last-child")?.textContent === "";
        // What is read may ask for more when it is drawn.
        const before = idle();
        setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => resolve(before && idle()))), 60);
      }),
    null,
    { timeout: PATIENCE },
  );
}

/** Waits until the state is in the address. */
export async function remembered(page) {
  await settled(page);
  await until(page, () => location.pathname === "/" && location.hash === window.tracewright.fragment(), null, "the address is a link");
}
