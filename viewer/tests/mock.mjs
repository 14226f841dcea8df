// A server with the routes of `tracewright view` over a synthetic trace: the page is developed and
// laid out with it. `node tests/mock.mjs [PORT]` serves it; tests import `serve`.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { HOSTILE, KIND, makeTrace } from "./trace.mjs";

const dist = join(dirname(fileURLToPath(import.meta.url)), "../../crates/viewer/dist");
const ENTRIES = ["call", "tail-call", "jump", "exception", "before", "lost", "resumed"];
const NONE = 0xffffffff;

const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'";

/** Arrays one after another, each at a multiple of 8, after the header. */
function binary(magic, counts, numbers, arrays) {
  const size = arrays.reduce((sum, a) => sum + Math.ceil(a.byteLength / 8) * 8, 64);
  const buffer = new ArrayBuffer(size);
  new Uint32Array(buffer, 0, 2).set([magic, 1]);
  new Uint32Array(buffer, 8, 6).set(counts);
  new Float64Array(buffer, 32, 4).set(numbers);
  let at = 64;
  for (const a of arrays) {
    new Uint8Array(buffer, at, a.byteLength).set(new Uint8Array(a.buffer, a.byteOffset, a.byteLength));
    at += Math.ceil(a.byteLength / 8) * 8;
  }
  return Buffer.from(buffer);
}

class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    Object.assign(this, { status, code });
  }
}

/** The answers to the routes; `options` are those of `makeTrace`, and what the server would do. */
export function makeApi(options = {}) {
  const trace = makeTrace(options);
  const { tileLog2 = 10, detailBytes = 4 * 2 ** 20, checksum = "0123456789abcdef", view = true, only } = options;
  const withCode = only !== "itm";
  const withOutput = only !== "etm";
  const { names, frames, blocks, events, bytes } = trace;
  const levels = Math.max(1, Math.ceil(Math.log2(Math.max(1, bytes / 2 ** tileLog2)) / 2) + 1);
  const relative = (time) => (trace.times === null ? NaN : time - trace.times.first);
  const written = (time) => (trace.times === null ? undefined : String(time));
  let notes = [];

  const times = trace.times === null ? undefined : { first: String(trace.times.first), last: String(trace.times.last) };
  const second = options.cores === 2;
  const threadOf = (q) => (second && q.get("source") === "2" ? 1 : 0);
  const isCode = (q) => q.get("source") === "0" || (second && q.get("source") === "2");
  const code = { number: 0, name: "ETM_0", protocol: "ETMv4", id: 16, elements: trace.elements, instructions: trace.instructions, times };
  // What is written to port 5 is a number at each line of output; the processor has an even rate.
  const numbers = trace.output.map((o, k) => ({ at: o.offset, instruction: o.instruction, time: o.time, element: o.element, value: (k * 37) % 101 }));
  const series = [
    { number: 0, name: "port 0", kind: "write", count: trace.output.length, text: true, least: 65, most: 122 },
    { number: 1, name: "port 5", kind: "write", count: numbers.length, text: false, least: 0, most: Math.max(0, ...numbers.map((n) => n.value)) },
  ];
  const itm = { series: options.values === true ? series : [], number: 1, name: "ITM_0", protocol: "ITM", id: 1, elements: trace.output.length, instructions: 0, times };

  // The end of the buffer is its only element.
  const empty = { number: 3, name: "ETM_2", protocol: "ETM4", id: 18, elements: 1, instructions: 0 };

  const capture = () => {
    const answer = one();
    const [first] = answer.buffers;
    for (let n = 1; n < (options.buffers ?? 1); n++) answer.buffers.push({ ...first, number: n, name: `CPU ${n}` });
    return answer;
  };
  const one = () => ({
    version: 1,
    name: options.name ?? "queens",
    program: "queens.elf",
    core: "Cortex-M7",
    tool: "0.1.0",
    checksum,
    save_notes: options.saveNotes === true,
    growing: false,
    notes: options.notes ?? [],
    buffers: [
      {
        number: 0,
        name: "ETB_0",
        bytes,
        elements: trace.elements,
        instructions: withCode ? trace.instructions : 0,
        times,
        frequency: options.frequency,
        view,
        tile_log2: tileLog2,
        levels,
        detail_bytes: detailBytes,
        sources: [...(withCode ? [code] : []), ...(withOutput ? [itm] : []), ...(second ? [{ ...code, number: 2, name: "ETM_1", id: 17 }] : []), ...(options.empty === true ? [empty] : [])],
        threads: [{ number: 0, source: 0 }, ...(second ? [{ number: 1, source: 2, id: 7, name: "idle" }] : [])],
        channels: withOutput ? [{ key: 0, name: "port 0", writes: trace.output.length }] : [],
        exceptions: withCode
          ? [
              { number: 15, name: "SysTick", count: trace.exceptions.filter((e) => e.number === 15).length },
              { number: 6, name: "UsageFault", count: 1 },
            ]
          : [],
      },
    ],
    files: trace.files.map((path, file) => ({ file, path, readable: file !== 3 })),
  });

  const tiles = (q) => {
    const level = Number(q.get("level"));
    const [first, count] = [Number(q.get("first")), Number(q.get("count"))];
    const source = isCode(q) ? 0 : 1;
    const size = 2 ** (tileLog2 + 2 * level);
    const rows = { function: [], weight: [], all: [] };
    const parts = { instructions: [], thread: [], depth: [], first: [], begun: [] };
    const t = { tile: [], before: [], instructions: [], timeFirst: [], timeLast: [], counts: [[], [], [], [], [], [], []], firstPart: [] };
    for (let tile = first; tile < first + count && tile * size < bytes; tile++) {
      const inside = blocks.filter((b) => b.offset >= tile * size && b.offset < (tile + 1) * size);
      const happened = events.filter(
        (e) => e.at >= tile * size && e.at < (tile + 1) * size && (e.itm === true) === (source === 1),
      );
      if (inside.length === 0 && happened.length === 0) continue;
      const instructions = source === 0 ? inside.reduce((sum, b) => sum + b.count, 0) : 0;
      const stamps = happened.filter((e) => e.kind === KIND.timestamp || e.itm);
      t.tile.push(tile);
      t.before.push(source === 0 ? (inside[0]?.n ?? 0) : 0);
      t.instructions.push(instructions);
      t.timeFirst.push(stamps.length > 0 ? relative(stamps[0].time) : NaN);
      t.timeLast.push(stamps.length > 0 ? relative(stamps[stamps.length - 1].time) : NaN);
      const kinds = [KIND.exception, KIND.gap, KIND.write, 4, 5, 9, 2];
      kinds.forEach((kind, k) => t.counts[k].push(happened.filter((e) => e.kind === kind).length));
      t.firstPart.push(parts.thread.length);
      if (source !== 0 || instructions === 0) continue;
      const [from, to] = [inside[0].n, inside[0].n + instructions];
      const here = frames.filter((f) => f.beginI < to && f.endI > from);
      const whole = here.filter((f) => f.beginI <= from && f.endI >= to);
      const least = Math.max(0, ...whole.map((f) => f.depth + 1));
      parts.instructions.push(instructions);
      parts.thread.push(threadOf(q));
      parts.depth.push(least);
      parts.first.push(rows.function.length);
      parts.begun.push(here.filter((f) => f.beginI >= from).length);
      const most = Math.max(...here.map((f) => f.depth));
      for (let depth = least; depth <= Math.min(most, least + 15); depth++) {
        const shares = new Map();
        let sum = 0;
        for (const f of here.filter((f) => f.depth === depth)) {
          const share = Math.min(to, f.endI) - Math.max(from, f.beginI);
          shares.set(f.function, (shares.get(f.function) ?? 0) + share);
          sum += share;
        }
        const [fn, share] = [...shares].sort((a, b) => b[1] - a[1])[0] ?? [NONE, 0];
        rows.function.push(fn);
        rows.weight.push(share / instructions);
        rows.all.push(sum / instructions);
      }
    }
    return binary(0x4c545754, [t.tile.length, parts.thread.length, rows.function.length, level, 0, 0], [first, size, 0, 0], [
      Float64Array.from(t.tile), Float64Array.from(t.before), Float64Array.from(t.instructions),
      Float64Array.from(t.timeFirst), Float64Array.from(t.timeLast),
      ...t.counts.map((c) => Uint32Array.from(c)), Uint32Array.from(t.firstPart),
      Float64Array.from(parts.instructions), Uint32Array.from(parts.thread), Int32Array.from(parts.depth),
      Uint32Array.from(parts.first), Uint32Array.from(parts.begun),
      Uint32Array.from(rows.function), Float32Array.from(rows.weight), Float32Array.from(rows.all),
    ]);
  };

  const frameArrays = (list, thread) => [
    Float64Array.from(list, (f) => f.begin), Float64Array.from(list, (f) => f.end),
    Float64Array.from(list, (f) => f.beginI), Float64Array.from(list, (f) => f.endI),
    Float64Array.from(list, (f) => relative(f.beginT)), Float64Array.from(list, (f) => relative(f.endT)),
    Float64Array.from(list, (f) => f.own), new Uint32Array(list.length).fill(thread),
    Uint32Array.from(list, (f) => f.function), Int32Array.from(list, (f) => f.depth),
    Uint8Array.from(list, (f) => f.entry), Uint8Array.from(list, (f) => f.ending), Uint8Array.from(list, (f) => f.flags),
  ];
  const rangeOf = (q) => {
    const [from, to] = [Number(q.get("from")), Number(q.get("to"))];
    if (!(from >= 0 && to >= from)) throw new Refused(400, "bad-parameter", "from and to are offsets");
    return [from, to];
  };
  const framesRoute = (q) => {
    const [from, to] = rangeOf(q);
    const min = Math.max(Number(q.get("min")), 2 ** tileLog2);
    const all = isCode(q) ? frames.filter((f) => f.begin < to && f.end > from && f.end - f.begin >= min) : [];
    const list = all.slice(0, 20_000);
    return binary(0x52465754, [list.length, all.length - list.length, 0, 0, 0, 0], [from, to, min, 0], frameArrays(list, threadOf(q)));
  };
  const detail = (q) => {
    const [from, to] = rangeOf(q);
    if (to - from > detailBytes) throw new Refused(413, "too-large", `at most ${detailBytes} bytes`);
    const source = isCode(q) ? 0 : 1;
    const list = source === 0
      ? frames
          .filter((f) => f.begin < to && f.end >= from)
          .map((f) => ({ ...f, ...(f.end >= to && to < bytes ? { end: to, ending: 255 } : {}), flags: f.flags | (f.begin < from ? 2 : 0) }))
      : [];
    const happened = events.filter((e) => e.at >= from && e.at < to && (e.itm === true) === (source === 1));
    return binary(0x54445754, [list.length, 0, happened.length, 0, 0, 0], [from, to, 0, 0], [
      ...frameArrays(list, threadOf(q)),
      Float64Array.from(happened, (e) => e.at), Float64Array.from(happened, (e) => e.instruction),
      Float64Array.from(happened, (e) => relative(e.time)), Float64Array.from(happened, (e) => e.value),
      Float64Array.from(happened, (e) => e.element), Uint8Array.from(happened, (e) => e.kind),
    ]);
  };

  const instructionRow = (b, k) => ({
    type: "instruction",
    source: 0,
    offset: b.offset,
    element: b.element,
    n: b.n + k,
    at_instruction: b.n + k,
    time: written(b.time),
    address: `0x${(b.address + 2 * k).toString(16).padStart(8, "0")}`,
    opcode: "0x4610",
    text: k === b.count - 1 ? `bl 0x${(0x8000 + 0x400 * ((b.function + 1) % 12)).toString(16)}` : ["mov r1, r4", "adds r0, #0x1", "ldr r2, [sp, #0x8]", "cmp r0, r7", "str r3, [r1]"][(b.n + k) % 5],
    function: b.function,
    symbol: `${names[b.function].name}+0x${(b.address + 2 * k - 0x8000 - 0x400 * b.function).toString(16)}`,
    file: names[b.function].file,
    line: b.line,
    ...(k === b.count - 1 ? { taken: true } : {}),
  });
  const eventRow = (e) => {
    const exception = trace.exceptions.find((x) => x.element === e.element);
    const kind = { 1: "exception", 3: "software-write", 7: "gap", 8: "timestamp" }[e.kind];
    const text = { 1: `exception ${exception?.number} ${exception?.name}`, 3: "software-write port 0", 7: "gap: overflow", 8: `timestamp ${e.value}` }[e.kind];
    return { type: "element", source: e.itm ? 1 : 0, offset: e.at, element: e.element, at_instruction: e.instruction, time: written(e.time), kind, text };
  };
  /** All rows in order, made once: the trace is small. */
  const rows = { instructions: [], elements: [] };
  {
    const all = [
      ...blocks.map((b) => ({ element: b.element, b })),
      ...events.map((e) => ({ element: e.element, e })),
    ].sort((x, y) => x.element - y.element);
    for (const { b, e } of all) {
      if (b !== undefined) {
        for (let k = 0; k < b.count; k++) rows.instructions.push(instructionRow(b, k));
        const row = instructionRow(b, 0);
        rows.elements.push({ ...row, type: "element", kind: "range", text: `range ${row.address} ${b.count} T32`, n: undefined });
      } else {
        if (e.kind === KIND.exception || e.kind === KIND.gap) rows.instructions.push(eventRow(e));
        rows.elements.push(eventRow(e));
      }
    }
  }
  const list = (q) => {
    const all = rows[q.get("kind") ?? "instructions"].filter((row) => !q.has("source") || row.source === Number(q.get("source")));
    const at = q.has("element")
      ? all.findIndex((row) => row.element >= Number(q.get("element")))
      : q.has("instruction")
        ? all.findIndex((row) => (row.at_instruction ?? -1) >= Number(q.get("instruction")) && row.type === "instruction")
        : all.findIndex((row) => row.offset >= Number(q.get("offset")));
    const anchor = at < 0 ? all.length - 1 : at;
    const first = Math.max(0, anchor - Number(q.get("before") ?? 50));
    const end = Math.min(all.length, anchor + Number(q.get("after") ?? 100));
    return { rows: all.slice(first, end), anchor: anchor - first, begin: first === 0, end: end === all.length };
  };

  const stackAt = (q) => {
    const b = q.has("element")
      ? blocks.findLast((b) => b.element <= Number(q.get("element")))
      : blocks.findLast((b) => b.offset <= Number(q.get("offset")));
    const n = b === undefined ? 0 : b.n;
    const open = frames.filter((f) => f.beginI <= n && f.endI > n).sort((x, y) => x.depth - y.depth);
    return {
      source: 0,
      thread: 0,
      element: b?.element ?? 0,
      offset: b?.offset ?? 0,
      frames: open.map((f) => ({
        function: f.function,
        name: names[f.function].name,
        entry: ENTRIES[f.entry],
        exception: f.exception,
        depth: f.depth,
        offset: f.entry === 4 ? undefined : f.begin,
        instruction: f.beginI,
        uncertain: (f.flags & 1) !== 0 || undefined,
      })),
    };
  };
  const window = (from, to) => {
    const inside = blocks.filter((b) => b.offset >= from && b.offset < to);
    return [inside[0]?.n ?? 0, inside.reduce((n, b) => b.n + b.count, 0)];
  };
  const profile = (q) => {
    const [from, to] = rangeOf(q);
    if (!withCode) return { from, to, instructions: 0, functions: [] };
    const [first, last] = window(from, to);
    const byFunction = new Map();
    for (const b of blocks.filter((b) => b.n >= first && b.n < last)) {
      const row = byFunction.get(b.function) ?? { function: b.function, name: names[b.function].name, calls: 0, own: 0, total: 0 };
      row.own += b.count;
      byFunction.set(b.function, row);
    }
    for (const row of byFunction.values()) {
      const all = frames.filter((f) => f.function === row.function && f.beginI < last && f.endI > first);
      let covered = first;
      for (const f of all) {
        row.total += Math.max(0, Math.min(last, f.endI) - Math.max(covered, f.beginI));
        covered = Math.max(covered, f.endI);
      }
      row.calls = all.filter((f) => f.begin >= from && f.begin < to).length;
      const ended = all.filter((f) => f.ending === 0 && f.beginI >= first && f.endI <= last);
      if (ended.length > 0) {
        const sizes = ended.map((f) => f.endI - f.beginI);
        Object.assign(row, {
          ended: ended.length,
          least: Math.min(...sizes),
          most: Math.max(...sizes),
          mean: sizes.reduce((a, b) => a + b, 0) / ended.length,
        });
      }
    }
    const functions = [...byFunction.values()].sort((a, b) => b.own - a.own);
    return { from, to, instructions: last - first, functions };
  };
  const parentOf = (f) => frames.findLast((p) => p.depth === f.depth - 1 && p.beginI <= f.beginI && p.endI >= f.endI);
  const sandwich = (q) => {
    const [from, to] = rangeOf(q);
    const fn = Number(q.get("function"));
    const inside = frames.filter((f) => f.begin >= from && f.begin < to);
    const gather = (pairs) => {
      const map = new Map();
      for (const [other, f] of pairs) {
        const row = map.get(other) ?? { function: other, calls: 0, total: 0 };
        row.calls += 1;
        row.total += f.endI - f.beginI;
        map.set(other, row);
      }
      return [...map.values()].sort((a, b) => b.total - a.total);
    };
    const own = inside.filter((f) => f.function === fn);
    return {
      callers: gather(own.slice(0, 2000).map((f) => [parentOf(f)?.function, f]).filter(([p]) => p !== undefined)),
      callees: gather(inside.slice(0, 4000).map((f) => [f.function, f, parentOf(f)]).filter(([, , p]) => p?.function === fn)),
      instructions: own.reduce((sum, f) => sum + f.endI - f.beginI, 0),
    };
  };
  const callOf = (f) => ({
    begin: f.begin,
    end: f.end,
    begin_instruction: f.beginI,
    end_instruction: f.endI,
    instructions: f.endI - f.beginI,
    thread: 0,
    depth: f.depth,
    source: 0,
    begin_time: written(f.beginT),
    end_time: written(f.endT),
    uncertain: (f.flags & 1) !== 0 || undefined,
  });
  const page = (all, q, member, offsetOf) => {
    const [from, limit] = [Number(q.get("from") ?? 0), Number(q.get("limit") ?? 100)];
    const rest = all.filter((row) => offsetOf(row) >= from);
    const more = rest.length > limit;
    return { [member]: rest.slice(0, limit), more, ...(more ? { next: offsetOf(rest[limit]) } : {}) };
  };
  const calls = (q) => {
    const all = frames.filter((f) => f.function === Number(q.get("function"))).map(callOf);
    if (q.get("order") === "longest") {
      all.sort((a, b) => b.instructions - a.instructions);
      const limit = Number(q.get("limit"));
      return { calls: all.slice(0, limit), more: all.length > limit };
    }
    return page(all, q, "calls", (call) => call.end);
  };
  const histogram = (q) => {
    const sizes = frames.filter((f) => f.function === Number(q.get("function"))).map((f) => f.endI - f.beginI);
    const buckets = [];
    for (const size of sizes) {
      const power = Math.floor(Math.log2(Math.max(1, size)));
      buckets[power] = (buckets[power] ?? 0) + 1;
    }
    const list = Array.from(buckets, (calls, k) => ({ least: 2 ** k, most: 2 ** (k + 1) - 1, calls: calls ?? 0 }));
    while (list[0]?.calls === 0) list.shift();
    const sum = sizes.reduce((a, b) => a + b, 0);
    return { calls: sizes.length, buckets: list, least: Math.min(...sizes), mean: sum / sizes.length, most: Math.max(...sizes) };
  };
  const find = (q, response) => {
    const send = (event, data) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    response.writeHead(200, { "Content-Type": "text/event-stream", "Content-Security-Policy": CSP });
    const text = q.get("q").trim();
    const match = /^(?:(all|first|last|count)\s+)?(exception|function|address|line|write|gap|time)\s*(.*)$/.exec(text);
    if (match === null) {
      send("error", { message: `"${text}" is not a condition` });
      return response.end();
    }
    const [, which, kind, argument] = match;
    const found = (row, text, kind) => ({
      element: row.element, offset: row.offset, instruction: row.n ?? row.at_instruction ?? 0, at_instruction: row.at_instruction,
      source: row.source, time: row.time, kind, text,
    });
    let all;
    if (kind === "exception") {
      all = trace.exceptions
        .filter((e) => argument === "" || e.number === Number(argument))
        .map((e) => found({ ...e, at_instruction: e.instruction, source: 0, time: written(e.time) }, `exception ${e.number} ${e.name}`, "exception"));
    } else if (kind === "write") {
      all = trace.output.map((o) => found({ ...o, source: 1, time: written(o.time) }, o.text, "software-write"));
    } else if (kind === "gap") {
      all = events.filter((e) => e.kind === KIND.gap).map((e) => found(eventRow(e), "gap: overflow", "gap"));
    } else {
      const wanted = {
        function: (row, before) => names[row.function]?.name === argument && before?.function !== row.function,
        address: (row) => row.address === argument || Number(row.address) === Number(argument),
        line: (row) => argument === `${trace.files[row.file]}:${row.line}`,
        time: (row) => Number(row.time) >= Number(argument),
      }[kind];
      const instructions = rows.instructions.filter((row) => row.type === "instruction");
      all = instructions.filter((row, k) => wanted(row, instructions[k - 1])).map((row) => found(row, row.text, "range"));
    }
    const [from, direction, limit] = [Number(q.get("from")), q.get("direction"), Number(q.get("limit"))];
    send("progress", { offset: Math.floor(bytes / 2), of: bytes });
    if (which === "count") send("count", { count: all.length });
    else if (direction === "next") all = all.filter((row) => row.element > from).slice(0, limit);
    else if (direction === "previous") all = all.filter((row) => row.element < from).reverse().slice(0, limit);
    else if (which === "last") all = all.slice(-1);
    const list = which === "count" ? [] : all.slice(0, limit);
    for (const row of list) send("found", row);
    send("end", { found: list.length, ...(all.length > list.length && which !== "count" ? { truncated: true } : {}) });
    response.end();
  };
  const source = (q) => {
    const file = Number(q.get("file"));
    const [from, to] = [Number(q.get("from")), Math.min(140, Number(q.get("to")))];
    const window = (q.get("executions") ?? "").split("..").map(Number);
    const counted = window.length === 2;
    const lines = [];
    for (let line = from; line <= to; line++) {
      const fn = names.find((f) => f.file === file && line >= f.line && line < f.line + 10);
      const ran = blocks.filter((b) => fn !== undefined && b.function === fn.id && b.line === line && (!counted || (b.offset >= window[0] && b.offset < window[1])));
      const text = fn === undefined ? "" : line === fn.line ? `static int ${fn.name}(int row, int column)` : line === fn.line + 9 ? "}" : `\tvalue[${line % 7}] = other - ${line};  /* ${fn.name} */`;
      lines.push({
        line,
        text: options.hostile && line === 51 ? HOSTILE.source : text,
        ...(fn !== undefined && line > fn.line && line < fn.line + 9
          ? { instructions: 4, ...(counted ? { executions: ran.length } : {}), ...(line % 3 === 0 && counted ? { taken: Math.floor(ran.length / 3), not_taken: ran.length - Math.floor(ran.length / 3) } : {}) }
          : {}),
      });
    }
    return { file, path: trace.files[file], lines_total: 140, lines };
  };
  const output = (q) =>
    page(trace.output.map((o) => ({ offset: o.offset, element: o.element, instruction: o.instruction, at_instruction: o.instruction, time: written(o.time), source: 1, channel: 0, text: o.text })), q, "lines", (o) => o.offset);
  const exceptionsRoute = (q) =>
    page(
      trace.exceptions
        .filter((e) => !q.has("number") || e.number === Number(q.get("number")))
        .map((e) => ({ ...e, at_instruction: e.instruction, time: written(e.time), source: 0, return_address: "0x0000826e" })),
      q, "exceptions", (e) => e.offset,
    );

  const values = (q) => {
    const own = q.get("source") === "1" && options.values === true ? numbers : [];
    const f64 = (list, of) => Float64Array.from(list, of);
    if (!q.has("level")) {
      const [from, to] = rangeOf(q);
      const inside = own.filter((n) => n.at >= from && n.at < to);
      return binary(0x58565754, [inside.length, 0, 0, 0, 0, 0], [from, to, 0, 0], [
        f64(inside, (n) => n.at), f64(inside, (n) => n.instruction), f64(inside, (n) => relative(n.time)),
        f64(inside, (n) => n.element), f64(inside, (n) => n.value), new Uint32Array(inside.length).fill(1),
      ]);
    }
    const size = 2 ** (tileLog2 + 2 * Number(q.get("level")));
    const [first, count] = [Number(q.get("first")), Number(q.get("count"))];
    const found = new Map();
    for (const { at, value } of own) {
      const tile = Math.floor(at / size);
      if (tile < first || tile >= first + count) continue;
      found.set(tile, [...(found.get(tile) ?? []), value]);
    }
    const list = [...found].sort((a, b) => a[0] - b[0]);
    return binary(0x54565754, [list.length, 0, 0, 0, 0, 0], [size, 0, 0, 0], [
      f64(list, ([tile]) => tile), f64(list, ([, v]) => v.length), f64(list, ([, v]) => Math.min(...v)),
      f64(list, ([, v]) => v.reduce((a, b) => a + b) / v.length), f64(list, ([, v]) => Math.max(...v)),
      new Uint32Array(list.length).fill(1),
    ]);
  };

  const routes = {
    values,
    capture, tiles, frames: framesRoute, detail, list, stack: stackAt, profile, tree: sandwich, calls, histogram,
    source, output, exceptions: exceptionsRoute,
    functions: () => ({ functions: names.map(({ id, name, file, line }) => ({ id, name, file, line, address: `0x${(0x8000 + 0x400 * id).toString(16)}` })) }),
    place: (q) => { const f = names[Number(q.get("function"))]; return { function: f?.id, name: f?.name, file: f?.file, line: f?.line }; },
    notes: () => ({ notes }),
  };
  return { routes, find, trace, numbers, saveNotes: (body) => (notes = JSON.parse(body).notes) };
}

/** Starts the server on a port of the system's choice, or on `port`. */
export async function serve(options = {}) {
  const api = makeApi(options);
  const log = [];
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    const path = url.pathname.slice(1);
    const send = (status, type, body) => {
      response.writeHead(status, { "Content-Type": type, "Content-Security-Policy": CSP, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff", "Cross-Origin-Opener-Policy": "same-origin-allow-popups" });
      response.end(body);
    };
    log.push(url.pathname + url.search);
    try {
      if (options.delay && path.startsWith("api/")) await new Promise((resolve) => setTimeout(resolve, options.delay));
      const file = { "": ["index.html", "text/html"], "app.js": ["app.js", "text/javascript"], "app.css": ["app.css", "text/css"] }[path];
      if (file !== undefined) return send(200, `${file[1]}; charset=utf-8`, await readFile(join(dist, file[0])));
      if (path === "api/find") return api.find(url.searchParams, response);
      if (path === "api/notes" && request.method === "PUT") {
        let body = "";
        for await (const part of request) body += part;
        api.saveNotes(body);
        return send(204, "application/json", "");
      }
      if (options.broken?.includes(path)) throw new Refused(500, "damaged", "the file cannot be read");
      const route = api.routes[path.replace(/^api\//, "")];
      if (route === undefined || !path.startsWith("api/")) throw new Refused(404, "not-found", "there is no such page");
      const answer = route(url.searchParams);
      if (Buffer.isBuffer(answer)) send(200, "application/octet-stream", answer);
      else send(200, "application/json", JSON.stringify(answer));
    } catch (error) {
      send(error.status ?? 500, "application/json", JSON.stringify({ error: error.code ?? "damaged", message: error.message }));
    }
  });
  await new Promise((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  const { port } = server.address();
  return { url: `http://127.0.0.1:${port}/`, api, log, close: () => { server.closeAllConnections(); server.close(); } };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await serve({ port: Number(process.argv[2] ?? 8765) });
  console.log(url);
}
