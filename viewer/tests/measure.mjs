// Times and memory of the viewer over a large trace:
// `TRACEWRIGHT_BIN=… node tests/measure.mjs CAPTURE [OPTIONS OF VIEW]`. It prints a table.
// TRACEWRIGHT_TIMES is the number of requests of each kind, TRACEWRIGHT_ROUNDS that of starts.

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { launch, openPage, settled } from "./browser.mjs";

const [capture, ...options] = process.argv.slice(2);
const TIMES = Number(process.env.TRACEWRIGHT_TIMES ?? 200);
const ROUNDS = Number(process.env.TRACEWRIGHT_ROUNDS ?? 5);

let seed = 53;
const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;

/** Starts the server. `took`: until it has printed its address. */
function start() {
  const begin = performance.now();
  const child = spawn(process.env.TRACEWRIGHT_BIN, ["view", "--no-browser", "--port", "0", ...options, capture]);
  return new Promise((resolve, reject) => {
    let text = "";
    const read = (part) => {
      text += part;
      const address = /http:\/\/127\.0\.0\.1:\d+\/\S*/.exec(text);
      if (address !== null) resolve({ child, url: address[0], begin, took: performance.now() - begin });
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("exit", (code) => reject(new Error(`it ended with ${code}: ${text}`)));
  });
}

/** The memory of a process in MB: now, and the most so far. */
async function memory(pid) {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const of = (name) => Number(new RegExp(`${name}:\\s*(\\d+)`).exec(status)[1]) / 1024;
  return `${of("VmRSS").toFixed(0)}, at most ${of("VmHWM").toFixed(0)}; ${of("RssAnon").toFixed(0)} without mapped files`;
}

const ms = (value) => (value < 10 ? value.toFixed(1) : value.toFixed(0));

function row(what, times) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  console.log(`| ${what} | ${sorted.length} | ${ms(sorted[0])} | ${ms(at(0.5))} | ${ms(at(0.99))} | ${ms(at(1))} |`);
}

/** Times of requests at random places. */
async function requests(url) {
  const ask = async (path) => {
    const begin = performance.now();
    const answer = await fetch(`${url}api/${path}`);
    const bytes = await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${new TextDecoder().decode(bytes)}`);
    return { took: performance.now() - begin, bytes };
  };
  const json = async (path) => JSON.parse(new TextDecoder().decode((await ask(path)).bytes));
  const whole = await json("capture");
  const buffer = whole.buffers[0];
  const length = Number(buffer.bytes);
  const { functions } = await json("profile?from=0&to=" + length + "&limit=50");
  // A part of any length: each power of two is as likely as any other.
  const part = (least) => {
    const size = Math.floor(Math.min(least, length) * Math.max(length / least, 1) ** random());
    const from = Math.floor(random() * (length - size));
    return [from, from + size];
  };
  const kinds = {
    tiles: () => {
      const level = Math.floor(random() * buffer.levels);
      const count = Math.ceil(length / (2 ** buffer.tile_log2 * 4 ** level));
      return `tiles?source=0&level=${level}&first=${Math.floor(random() * count)}&count=512`;
    },
    frames: () => {
      const [from, to] = part(1 << 22);
      return `frames?source=0&from=${from}&to=${to}&min=${Math.ceil((to - from) / 2000)}`;
    },
    "detail, 4 KiB to 256 KiB": () => {
      const size = 1 << (12 + Math.floor(random() * 7));
      const from = Math.floor(random() * Math.floor(length / size)) * size;
      return `detail?source=0&from=${from}&to=${Math.min(length, from + size)}`;
    },
    list: () => `list?source=0&offset=${Math.floor(random() * length)}&before=50&after=100`,
    stack: () => `stack?source=0&offset=${Math.floor(random() * length)}`,
    "functions of a part": () => {
      const [from, to] = part(1 << 12);
      return `profile?from=${from}&to=${to}&limit=500`;
    },
    "longest calls of a function": () =>
      `calls?function=${functions[Math.floor(random() * functions.length)].function}&order=longest&limit=100`,
  };
  for (const [what, query] of Object.entries(kinds)) {
    const times = [];
    try {
      for (let k = 0; k < TIMES; k++) times.push((await ask(query())).took);
      row(`request: ${what}`, times);
    } catch (error) {
      console.log(`| request: ${what} | ${error.message} |`);
    }
  }
}

/** Times from a turn of the wheel to the picture with all that is in the view. */
async function wheel(page) {
  await page.mouse.move(700, 300);
  const times = [];
  for (let k = 0; k < 60; k++) {
    await page.evaluate(() => {
      const { state } = window.tracewright;
      const before = state.view.value;
      window.measured = new Promise((resolve) => {
        let begin = null;
        let still = 0;
        const look = () => {
          if (begin === null && state.view.value !== before) begin = window.turned;
          const reads = document.querySelector(".status p:last-child").textContent !== "";
          still = begin === null || reads ? 0 : still + 1;
          // The first of six frames in which nothing is read.
          if (still === 1) window.drawn = performance.now();
          if (still === 6) resolve(window.drawn - begin);
          else requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      });
      addEventListener("wheel", () => (window.turned = performance.now()), { capture: true, once: true });
    });
    await page.mouse.wheel(0, k % 30 < 25 ? -240 : 1200);
    times.push(await page.evaluate(() => window.measured));
    await settled(page);
  }
  row("wheel to the exact picture", times);
}

const browser = await launch();
console.log("| what, ms | times | least | median | 99 % | most |\n|---|---|---|---|---|---|");
const listening = [];
const first = [];
for (let k = 0; k < ROUNDS; k++) {
  // A browser that is open; the tab is one more.
  const place = await browser.newContext({ viewport: { width: 1400, height: 860 } });
  await place.newPage();
  const server = await start();
  listening.push(server.took);
  const page = await place.newPage();
  await page.goto(server.url, { waitUntil: "commit" });
  await page.waitForFunction(() => window.tracewright?.frameTimes.length > 0 && [...(window.tracewright.scene.current?.sources.values() ?? [])].some((own) => own.tiles.length > 0 || own.parts.length > 0), null, { polling: "raf" });
  first.push(performance.now() - server.begin);
  await place.close();
  server.child.removeAllListeners("exit");
  server.child.kill("SIGTERM");
}
row("start of the command to its address", listening);
row("start of the command to the first picture", first);
const server = await start();
await requests(server.url);
const { page, close } = await openPage(browser, server.url);
await wheel(page);
const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
console.log(`\nMemory of the server in MB: ${await memory(server.child.pid)}; heap of the page: ${(heap / 2 ** 20).toFixed(0)}.`);
await close();
await browser.close();
server.child.removeAllListeners("exit");
server.child.kill("SIGTERM");
