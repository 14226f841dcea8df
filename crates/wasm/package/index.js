// Processor trace in a browser: a Worker has the files and decodes them.

import { TraceError } from "./instance.js";

export { Instance, TraceError } from "./instance.js";

let compiled = null;

/** Compiles the module once: that of the package, or the bytes or the response of another place. */
export function compile(wasm = new URL("./tracewright.wasm", import.meta.url)) {
  if (wasm instanceof WebAssembly.Module) return Promise.resolve(wasm);
  if (!(wasm instanceof URL)) return WebAssembly.compile(wasm);
  compiled ??= fetch(wasm)
    .then((response) => {
      if (!response.ok) throw new TraceError("unknown", `${wasm} is not there`);
      // A browser compiles while it loads, and retains no bytes, where the server states the type.
      const type = response.headers.get("Content-Type");
      if (type === "application/wasm") return WebAssembly.compileStreaming(response);
      return response.arrayBuffer().then((bytes) => WebAssembly.compile(bytes));
    })
    .catch((error) => {
      compiled = null;
      throw error;
    });
  return compiled;
}

/** Opens a capture in a Worker of its own. `files`: names, and a Blob or a Uint8Array of each. */
export async function open(files, options, { wasm, worker } = {}) {
  const trace = new Trace(worker ?? new Worker(new URL("./worker.js", import.meta.url), { type: "module" }));
  try {
    trace.info = await trace.call("open", { wasm: await compile(wasm), files, options });
    return trace;
  } catch (error) {
    trace.close();
    throw error;
  }
}

/** A capture that is open in a Worker. */
export class Trace {
  #worker;
  #waiting = new Map();
  #next = 0;
  info = null;

  constructor(worker) {
    this.#worker = worker;
    worker.onmessage = ({ data: { id, part, result, error } }) => {
      const own = this.#waiting.get(id);
      if (own === undefined) return;
      if (part !== undefined) return void own.receive?.(part);
      this.#waiting.delete(id);
      if (error !== undefined) own.reject(new TraceError(error.code, error.message));
      else own.resolve(result);
    };
    worker.onerror = (event) => {
      event.preventDefault?.();
      this.#fail(new TraceError("ended", event.message ?? "the worker cannot be started"));
    };
  }

  #fail(error) {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    waiting.forEach((own) => own.reject(error));
  }

  /** A call of the Worker; `receive` gets what it sends before its result. */
  call(call, args = {}, receive) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, receive });
      this.#worker.postMessage({ id, call, args });
    });
  }

  /** A listing; without `write`, the result has its text. */
  async list(options, write) {
    const decoder = new TextDecoder();
    let text = "";
    const collect = (part) => {
      text += decoder.decode(part, { stream: true });
    };
    const result = await this.call("list", { options }, write ?? collect);
    return write === undefined ? { ...result, text } : result;
  }

  tables() {
    return this.call("tables");
  }

  table(name, options, receive) {
    return this.call("table", { name, options }, receive);
  }

  sample(buffer, tiles) {
    return this.call("sample", { buffer, tiles });
  }

  index(progress, bytes) {
    return this.call("index", { bytes }, progress && (({ done, of }) => progress(done, of)));
  }

  half(of, progress) {
    return this.call("half", { of }, progress && (({ done, of }) => progress(done, of)));
  }

  join(segments, view) {
    return this.call("join", { segments, view });
  }

  indexFile() {
    return this.call("indexFile");
  }

  view(route, query) {
    return this.call("view", { route, query });
  }

  find(query, receive) {
    return this.call("find", { query }, receive);
  }

  /** The memory that the module has taken, in bytes. */
  memory() {
    return this.call("memory");
  }

  /** Ends the Worker, and what it does. */
  close() {
    this.#worker.terminate();
    this.#fail(new TraceError("ended", "the trace was closed"));
  }
}
