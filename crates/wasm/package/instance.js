// An instance of the module, on the thread that calls it: `index.js` has one in a Worker.

import { batch } from "./tables.js";

/** Bytes of a file that are read ahead of a small read. */
const AHEAD = 1 << 20;

/** Why there is no answer. `code`: `bad-parameter`, `damaged`, or `ended` where the module has ended. */
export class TraceError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "TraceError";
    this.code = code;
  }
}

/**
 * Reads slices of a Blob; only a Worker can wait for them. A slice is valid until the next one. It is read
 * as text with a byte in each character: the memory of an ArrayBuffer of a FileReaderSync is not released
 * before the Worker waits for its next message.
 */
function ofBlob(blob) {
  const reader = new FileReaderSync();
  let space = new Uint8Array(0);
  return (offset, length) => {
    const text = reader.readAsBinaryString(blob.slice(offset, offset + length));
    if (space.length < text.length) space = new Uint8Array(text.length);
    for (let n = 0; n < text.length; n++) space[n] = text.charCodeAt(n);
    return space.subarray(0, text.length);
  };
}

/** A file: its size, and a function that returns bytes from an offset on, at least one, at most as many. */
function source(data) {
  if (data instanceof Uint8Array) {
    return { size: data.length, slice: (offset, length) => data.subarray(offset, offset + length) };
  }
  if (data instanceof ArrayBuffer) return source(new Uint8Array(data));
  if (typeof Blob !== "undefined" && data instanceof Blob) return { size: data.size, slice: ofBlob(data) };
  return data;
}

export class Instance {
  #module;
  #exports;
  #session = 0;
  #files = [];
  #write = null;
  #progress = null;
  #ended = null;
  #ahead = { file: -1, offset: 0, bytes: new Uint8Array(0) };

  /** `module`: the compiled `tracewright.wasm`. */
  constructor(module) {
    this.#module = module;
    const imports = {
      host_read: (file, offset, into, length) => this.#read(file, Number(offset), into, length >>> 0),
      host_write: (at, length) => (this.#write === null || this.#write(this.#copy(at, length)) === false ? 0 : 1),
      host_progress: (done, of) =>
        this.#progress === null || this.#progress(Number(done), Number(of)) !== false ? 1 : 0,
      host_panic: (at, length) => {
        this.#ended = new TextDecoder().decode(this.#copy(at, length));
      },
    };
    this.#exports = new WebAssembly.Instance(module, { host: imports }).exports;
    this.#session = this.#exports.tw_new();
  }

  /** The module that it was made of, to make another one. */
  get module() {
    return this.#module;
  }

  /** The memory that the module has taken, in bytes. */
  get memory() {
    return this.#exports.memory.buffer.byteLength;
  }

  #copy(at, length) {
    return new Uint8Array(this.#exports.memory.buffer, at >>> 0, length >>> 0).slice();
  }

  #read(number, offset, into, length) {
    try {
      const file = this.#files[number];
      const memory = () => new Uint8Array(this.#exports.memory.buffer, into >>> 0, length);
      if (length >= AHEAD) {
        this.#ahead = { file: -1, offset: 0, bytes: new Uint8Array(0) };
        const bytes = file.slice(offset, length);
        memory().set(bytes);
        return bytes.length;
      }
      let ahead = this.#ahead;
      const has = () => ahead.file === number && offset >= ahead.offset && offset < ahead.offset + ahead.bytes.length;
      if (!has()) {
        const bytes = file.slice(offset, Math.min(AHEAD, file.size - offset));
        ahead = this.#ahead = { file: number, offset, bytes };
        if (!has()) return 0;
      }
      const from = offset - ahead.offset;
      const bytes = ahead.bytes.subarray(from, from + length);
      memory().set(bytes);
      return bytes.length;
    } catch {
      return -1;
    }
  }

  /** Calls the module; what ends it is an error with the code `ended`, and so are later calls. */
  #guarded(call) {
    if (this.#ended !== null) throw new TraceError("ended", this.#ended);
    try {
      return call();
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError || error instanceof RangeError)) throw error;
      this.#ended ??= error.message;
      throw new TraceError("ended", this.#ended);
    }
  }

  /** Copies bytes into the memory of the module for a call. */
  #with(parts, call) {
    const places = parts.map((bytes) => {
      const at = this.#exports.tw_alloc(bytes.length);
      if (at === 0) throw new TraceError("ended", "there is not enough memory");
      new Uint8Array(this.#exports.memory.buffer, at >>> 0, bytes.length).set(bytes);
      return at;
    });
    const result = call(...places.flatMap((at, n) => [at, parts[n].length]));
    places.forEach((at, n) => this.#exports.tw_release(at, parts[n].length));
    return result;
  }

  /**
   * Adds a file: its name is a path with slashes. Its bytes are a Uint8Array, a Blob (in a Worker), or
   * an object with a `size` and a function `slice(offset, length)`; they are read when they are needed.
   */
  addFile(name, data) {
    const file = source(data);
    const number = this.#files.push(file) - 1;
    this.#guarded(() =>
      this.#with([new TextEncoder().encode(name)], (at, length) =>
        this.#exports.tw_file(this.#session, at, length, number, BigInt(file.size)),
      ),
    );
  }

  /** A request: a route, parameters, and bytes; its status and its answer. */
  ask(route, parameters = [], body = new Uint8Array(0)) {
    const text = [route, ...parameters.flatMap(([name, value]) => [name, String(value)])].join("\0");
    return this.#guarded(() => {
      const status = this.#with([new TextEncoder().encode(text), body], (...places) =>
        this.#exports.tw_ask(this.#session, ...places),
      );
      const at = this.#exports.tw_reply(this.#session);
      return { status, body: this.#copy(at, this.#exports.tw_reply_len(this.#session)) };
    });
  }

  #json(route, parameters, body) {
    const answer = this.ask(route, parameters, body);
    const json = JSON.parse(new TextDecoder().decode(answer.body));
    if (answer.status !== 200) throw new TraceError(json.error, json.message);
    return json;
  }

  #writing(write, call) {
    this.#write = write;
    try {
      return call();
    } finally {
      this.#write = null;
    }
  }

  /** Opens the capture at `path`, a file or a folder among those that were added. */
  open({ path, images = [], binaries = [], protocols = [], config = [], framing, skip } = {}) {
    const all = (name, values) => values.map((value) => [name, value]);
    return this.#json("open", [
      ["path", path],
      ...all("image", images),
      ...all("binary", binaries),
      ...all("protocol", protocols),
      ...all("config", config),
      ...(framing === undefined ? [] : [["framing", framing]]),
      ...(skip === undefined ? [] : [["skip", skip]]),
    ]);
  }

  /**
   * Lists the trace as the command does. `write` receives parts of the text as bytes, and may return
   * `false` where no more is wanted; without it the result has the text.
   */
  list(options = {}, write) {
    const { verb = "decode", format = "text", packets, bytes, explain, ...others } = options;
    const parameters = [["verb", verb], ["format", format]];
    for (const [name, value] of Object.entries({ packets, bytes, explain })) {
      if (value !== undefined) parameters.push([name, value ? 1 : 0]);
    }
    for (const [name, value] of Object.entries(others)) {
      if (value !== undefined) parameters.push([name, value]);
    }
    const decoder = new TextDecoder();
    let text = "";
    const collect = (part) => {
      text += decoder.decode(part, { stream: true });
    };
    const result = this.#writing(write ?? collect, () => this.#json("list", parameters));
    return write === undefined ? { ...result, text } : result;
  }

  /** The tables, and their columns. */
  tables() {
    return this.#json("tables", []).tables;
  }

  /** Reads a table; `receive` gets its batches, and may return `false` where no more are wanted. */
  table(name, options, receive) {
    const { columns = [], functions = [], kinds = [], ...others } = options ?? {};
    const parameters = [["name", name]];
    columns.forEach((column) => parameters.push(["column", column]));
    functions.forEach((name) => parameters.push(["function", name]));
    kinds.forEach((kind) => parameters.push(["kind", kind]));
    for (const [name, value] of Object.entries(others)) {
      if (value !== undefined) parameters.push([name, value]);
    }
    return this.#writing((bytes) => receive(batch(bytes)), () => this.#json("table", parameters));
  }

  /**
   * Decodes tiles of a buffer here and there, without an index: `tiles` are their numbers. The result has
   * the number of all tiles and their length in bytes, too.
   */
  sample(buffer = 0, tiles = []) {
    return this.#json("sample", [["buffer", buffer], ...tiles.map((tile) => ["tile", tile])]);
  }

  /**
   * Makes the index, which the answers of the viewer need, or reads it from `bytes`. `progress` gets the
   * bytes of trace that are indexed, and of how many; where it returns `false`, none is made.
   */
  index(progress, bytes) {
    this.#progress = progress ?? null;
    try {
      return this.#json("index", [], bytes);
    } finally {
      this.#progress = null;
    }
  }

  /**
   * Makes a half of the index, `segments` or `view`: two instances with the same files make both at the
   * same time. `progress` is as for `index`.
   */
  half(of, progress) {
    this.#progress = progress ?? null;
    try {
      const answer = this.ask("half", [["of", of]]);
      if (answer.status === 200) return answer.body;
      const { error, message } = JSON.parse(new TextDecoder().decode(answer.body));
      throw new TraceError(error, message);
    } finally {
      this.#progress = null;
    }
  }

  /** Makes the index of its halves. */
  join(segments, view) {
    const body = new Uint8Array(segments.length + view.length);
    body.set(segments);
    body.set(view, segments.length);
    return this.#json("index", [["segments", segments.length]], body);
  }

  /** The bytes of the index: those of the file that `tracewright index` writes. */
  indexFile() {
    const answer = this.ask("index-file");
    if (answer.status !== 200) throw new TraceError("bad-parameter", "there is no index");
    return answer.body;
  }

  /** An answer of the viewer: of the route after `api/`, with the text after `?`. */
  view(route, query = "") {
    return this.ask("view", [["route", route], ["query", query]]);
  }

  /** A search of the viewer; `write` receives its events as the text of an event stream. */
  find(query, write) {
    const decoder = new TextDecoder();
    return this.#writing((part) => write(decoder.decode(part, { stream: true })), () => this.view("find", query));
  }
}
