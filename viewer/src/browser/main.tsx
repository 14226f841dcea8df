// The page without a server: files are dropped, and decoded in a Worker.

import { signal } from "@preact/signals";
import { render } from "preact";
import { compile, open as openTrace } from "../../../crates/wasm/package/index.js";
import type { Opening, Trace } from "../../../crates/wasm/package/index.js";
import { ask } from "../model/state";
import { start } from "../start";
import { visible } from "../text";
import { bytes } from "../format";
import { captures, dropped, picked } from "./choose";
import type { Choice, Chosen } from "./choose";
import { SHORT, sample } from "./coarse";
import type { Strip } from "./coarse";
import { Local } from "./local";
import { Picture } from "./picture";

const PROTOCOLS = ["ETM4", "ETE", "ETM3", "ETM2", "ETM1", "PTM", "ITM", "STM", "MTB", "etrace", "ntrace"];

const files = signal<readonly Chosen[]>([]);
const choices = signal<readonly Choice[]>([]);
const protocol = signal("");
const status = signal("");
const failure = signal("");
const busy = signal(false);
/** The coarse picture, while the index is made, and the part of the trace that the index has. */
const strips = signal<readonly Strip[]>([]);
const indexed = signal(0);
/** When the files arrived, when the coarse picture was there, and when the exact one was drawn. */
const times = { begun: 0, opened: 0, coarse: 0, indexed: 0, pictured: 0 };

/** The tiles of a coarse picture, and the time after which the index is made if the least are there. */
const COARSE = { least: 96, most: 384, milliseconds: 700 };

let address: Promise<string> | null = null;

/** The address of the script of the Worker: what begins there has the policy of this page. */
function script(): Promise<string> {
  address ??= fetch("worker.js")
    .then((response) => response.blob())
    .then((blob) => URL.createObjectURL(new Blob([blob], { type: "text/javascript" })));
  return address;
}

interface Policy {
  createScriptURL(url: string): string;
}
interface TrustedTypes {
  createPolicy(name: string, rules: Policy): Policy;
}
const trusted = (window as { trustedTypes?: TrustedTypes }).trustedTypes;
const policy: Policy = trusted?.createPolicy("tracewright-worker", { createScriptURL: (url) => url }) ?? {
  createScriptURL: (url) => url,
};

async function another(options: Opening): Promise<Trace> {
  const [wasm, url] = await Promise.all([compile(new URL("tracewright.wasm", location.href)), script()]);
  return openTrace([...files.peek()], options, { wasm, worker: new Worker(policy.createScriptURL(url)) });
}

/** The sum of sizes in bytes. */
const total = (all: readonly { bytes: number }[]): number => all.reduce((sum, { bytes }) => sum + bytes, 0);

/** Receives how much of the trace part `n` of the index has. `parts` are those of all. */
function progress(parts: number[], n: number): (done: number, of: number) => void {
  return (done, of) => {
    parts[n] = of === 0 ? 0 : done / of;
    indexed.value = parts.reduce((sum, part) => sum + part, 0) / parts.length;
    status.value = `indexing ${bytes(of)}: ${Math.floor(100 * indexed.value)} %`;
  };
}

/** Makes the index of `trace`: half of it in `second`, where there is one. */
async function index(trace: Trace, second: Promise<Trace> | null): Promise<void> {
  const halves = [0, 0];
  // Where the second decoder ends, the first makes all of it.
  const view = second?.then((own) => own.half("view", progress(halves, 1))).catch(() => null) ?? null;
  if (total(trace.info.buffers) > SHORT) await look(trace);
  if (view !== null) {
    const segments = await trace.half("segments", progress(halves, 0));
    const made = await view;
    if (made !== null) return void (await trace.join(segments, made));
  }
  await trace.index(progress([0], 0));
}

/** Opens a capture, makes its index, and shows it. */
async function open(choice: Choice): Promise<void> {
  const options = { ...choice, protocols: protocol.peek() === "" ? [] : [protocol.peek()] };
  status.value = "reading the capture";
  const size = files.peek().reduce((sum, { data }) => sum + data.size, 0);
  // Two decoders make the halves of a long index, where the machine has two processors.
  const second = size > SHORT && navigator.hardwareConcurrency > 1 ? another(options) : null;
  const end = () => void second?.then((own) => own.close()).catch(() => {});
  let trace: Trace;
  try {
    trace = await another(options);
  } catch (error) {
    end();
    throw error;
  }
  times.opened = performance.now();
  let made: Uint8Array;
  try {
    await index(trace, second);
    made = await trace.indexFile();
  } catch (error) {
    trace.close();
    end();
    throw error;
  }
  times.indexed = performance.now();
  const prepared = async (trace: Promise<Trace>) => {
    const own = await trace;
    await own.index(undefined, made);
    return own;
  };
  ask(new Local(trace, second && prepared(second), () => prepared(another(options))));
  Object.assign(window, { tracewrightBrowser: { times, trace, strips: strips.peek() } });
  const root = document.getElementById("app");
  if (root === null) return;
  render(null, root);
  const page = document.createElement("div");
  page.id = "app";
  root.replaceWith(page);
  await start(page);
  times.pictured = performance.now();
}

/** Shows parts of the trace, before the index is made. */
function look(trace: Trace): Promise<void> {
  status.value = "reading parts of the trace";
  return sample(trace, COARSE, (more) => {
    strips.value = more;
    if (times.coarse === 0) requestAnimationFrame(() => (times.coarse = performance.now()));
  });
}

async function run(work: () => Promise<void>): Promise<void> {
  if (busy.peek()) return;
  busy.value = true;
  failure.value = "";
  try {
    await work();
  } catch (error) {
    failure.value = error instanceof Error ? error.message : String(error);
  } finally {
    status.value = "";
    strips.value = [];
    indexed.value = 0;
    busy.value = false;
  }
}

/** Adds files, and opens the capture where there is one. */
function add(more: () => Promise<Chosen[]>): Promise<void> {
  times.begun = performance.now();
  return run(async () => {
    const own = await more();
    const names = new Set(own.map(({ name }) => name));
    files.value = [...files.peek().filter(({ name }) => !names.has(name)), ...own];
    choices.value = await captures(files.peek());
    const [only, second] = choices.peek();
    if (only === undefined) throw new Error("No file among these is a capture. Add the trace: a file, or a folder.");
    if (second === undefined) await open(only);
  });
}

async function example(): Promise<Chosen[]> {
  const get = async (name: string) => {
    const response = await fetch(`example/${name}`);
    if (!response.ok) throw new Error(`example/${name} is not there`);
    return response.blob();
  };
  const names = JSON.parse(await (await get("files.json")).text()) as string[];
  return Promise.all(
    names.map(async (name) => ({ name: `example/${name}`, data: new File([await get(name)], name) })),
  );
}

function Start() {
  const several = choices.value.length > 1;
  const input = (folder: boolean) => (
    <label class="button">
      {folder ? "Choose a folder" : "Choose files"}
      <input
        class="hidden"
        type="file"
        multiple
        disabled={busy.value}
        ref={(element) => {
          if (folder && element !== null) element.webkitdirectory = true;
        }}
        onChange={(event) => {
          const list = event.currentTarget.files;
          if (list !== null) void add(() => Promise.resolve(picked(list)));
        }}
      />
    </label>
  );
  return (
    <main class={strips.value.length > 0 ? "drop wide" : "drop"} aria-busy={busy.value}>
      <h1>Tracewright</h1>
      <p>
        Drop a capture here, or choose its files: a snapshot folder, a <code>perf.data</code> file, or the bytes of a trace
        buffer, with its programs (ELF) and its sources. All of it is decoded in this page; nothing is sent.
      </p>
      <p class="buttons">
        {input(false)}
        {input(true)}
        <button type="button" class="button primary" disabled={busy.value} onClick={() => void add(example)}>
          Open the example
        </button>
      </p>
      <p>
        <label>
          Protocol of raw trace data{" "}
          <select value={protocol.value} onChange={(event) => (protocol.value = event.currentTarget.value)}>
            <option value="">detected</option>
            {PROTOCOLS.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </p>
      {several && (
        <ul>
          {choices.value.map((choice) => (
            <li key={choice.path}>
              <button type="button" class="link" onClick={() => void run(() => open(choice))}>
                {visible(choice.path)}
              </button>
            </li>
          ))}
        </ul>
      )}
      {files.value.length > 0 && (
        <p>
          {files.value.length} files, {bytes(files.value.reduce((sum, { data }) => sum + data.size, 0))}
        </p>
      )}
      <p role="status">{status.value}</p>
      {strips.value.length > 0 && <Picture strips={strips} indexed={indexed} />}
      {failure.value !== "" && (
        <p role="alert">The trace cannot be shown: {visible(failure.value, 2000)}</p>
      )}
    </main>
  );
}

const first = document.getElementById("app");
if (first !== null) {
  first.replaceChildren();
  render(<Start />, first);
}
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  event.preventDefault();
  const { dataTransfer } = event;
  if (dataTransfer !== null) void add(() => dropped(dataTransfer));
});
