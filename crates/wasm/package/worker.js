// The Worker of `index.js`: it has the files and an instance, and makes another instance where one ends.

import { Instance, TraceError } from "./instance.js";

let files = [];
let options = {};
let module = null;
let instance = null;
let info = null;
let index;

/** A new instance with the same files, the capture and the index open. */
function begin() {
  instance = new Instance(module);
  files.forEach(({ name, data }) => instance.addFile(name, data));
  info = instance.open(options);
  if (index !== undefined) instance.index(undefined, index);
}

const calls = {
  open({ wasm, files: given, options: how }) {
    [files, options, index] = [given, how, undefined];
    module = wasm;
    begin();
    return info;
  },
  list: ({ options }, send) => instance.list(options, (bytes) => send(bytes, [bytes.buffer])),
  tables: () => instance.tables(),
  table: ({ name, options }, send) => instance.table(name, options, (batch) => send(batch)),
  sample: ({ buffer, tiles }) => instance.sample(buffer, tiles),
  index({ bytes }, send) {
    const made = instance.index((done, of) => send({ done, of }), bytes);
    index = instance.indexFile();
    return made;
  },
  half: ({ of }, send) => instance.half(of, (done, of) => send({ done, of })),
  join({ segments, view }) {
    const made = instance.join(segments, view);
    index = instance.indexFile();
    return made;
  },
  indexFile: () => instance.indexFile(),
  view: ({ route, query }) => instance.view(route, query),
  find: ({ query }, send) => instance.find(query, (text) => send(text)),
  memory: () => instance.memory,
};

globalThis.onmessage = ({ data: { id, call, args } }) => {
  const send = (part, transfer = []) => {
    postMessage({ id, part }, transfer);
  };
  try {
    if (instance === null && call !== "open") begin();
    postMessage({ id, result: calls[call](args, send) });
  } catch (error) {
    const code = error instanceof TraceError ? error.code : "unknown";
    // An instance that has ended answers nothing more: the next call begins with another one.
    if (code === "ended" || call === "open") instance = null;
    postMessage({ id, error: { code, message: error instanceof Error ? error.message : String(error) } });
  }
};
