// The answers of the module are those of the command, byte for byte:
//
//     node run.mjs MODULE COMMAND SHARED
//
// MODULE is tracewright.wasm, COMMAND the command, SHARED the folder with test data beside the
// repository, which may be absent. Each capture is listed by both, as text and as JSON.
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, readSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Instance, TraceError } from "../package/instance.js";

const [moduleFile, command, sharedFolder] = process.argv.slice(2).map((path) => resolve(path));
if (command === undefined) throw new Error("usage: node run.mjs MODULE COMMAND [SHARED]");
const repository = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
const wasm = new WebAssembly.Module(readFileSync(moduleFile));
/** Output of the command that is compared, at most. */
const MOST = 1 << 28;

/** A file of the disk, of which slices are read. */
function onDisk(path) {
  const { size } = statSync(path);
  return {
    size,
    slice(offset, length) {
      const file = openSync(path, "r");
      try {
        const bytes = new Uint8Array(length);
        return bytes.subarray(0, readSync(file, bytes, 0, length, offset));
      } finally {
        closeSync(file);
      }
    },
  };
}

function filesBelow(folder, path) {
  if (statSync(join(folder, path)).isFile()) return [path];
  return readdirSync(join(folder, path)).flatMap((name) => filesBelow(folder, `${path}/${name}`));
}

/** The capture `path` of a folder, with other files of it, and what the command is given. */
function opened({ folder, path, others = [], options = {} }) {
  const instance = new Instance(wasm);
  for (const name of [path, ...others].flatMap((own) => filesBelow(folder, own))) {
    instance.addFile(name, onDisk(join(folder, name)));
  }
  return { instance, info: instance.open({ path, ...options }) };
}

function run(folder, args) {
  // An index beside a capture is not used, as the module has none of it.
  const done = spawnSync(command, args, { cwd: folder, maxBuffer: MOST, env: { ...process.env, NO_COLOR: "1", HOME: "" } });
  if (done.error) throw done.error;
  return { status: done.status, out: done.stdout, error: done.stderr.toString() };
}

const named = (option, values = []) => values.flatMap((value) => [option, value]);
const argumentsOf = ({ path, options = {} }) => [
  path,
  ...named("--image", options.images),
  ...named("--binary", options.binaries),
  ...named("--protocol", options.protocols),
  ...named("--config", options.config),
  ...(options.framing === undefined ? [] : ["--framing", options.framing]),
];

/** The first line that differs. */
function difference(mine, its) {
  const [a, b] = [mine.toString().split("\n"), its.toString().split("\n")];
  const line = a.findIndex((text, n) => text !== b[n]);
  const at = line < 0 ? a.length : line;
  return `line ${at + 1}: ${a[at]}\n     the command: ${b[at]}`;
}

const LISTINGS = [
  { verb: "decode" },
  { verb: "decode", format: "json" },
  { verb: "packets" },
  { verb: "packets", format: "json", explain: true },
  { verb: "packets", bytes: true },
  { verb: "decode", packets: true },
  { verb: "instructions" },
  { verb: "instructions", format: "json" },
  { verb: "decode", limit: 17 },
  { verb: "decode", offset: "1000..3000" },
  { verb: "instructions", offset: "500..1500" },
];

/** The arguments of the command for a listing. */
function wordsOf({ verb, format, packets, bytes, explain, limit, offset }) {
  const words = [verb, "--no-index"];
  if (format === "json") words.push("--format", "json");
  if (packets) words.push("--packets");
  if (bytes) words.push("--bytes");
  if (explain) words.push("--explain");
  if (limit !== undefined) words.push("--limit", String(limit));
  if (offset !== undefined) words.push("--offset", offset);
  return words;
}

let [captures, listings, bytes, failed] = [0, 0, 0, 0];
function check(name, problem) {
  if (problem === null) return;
  failed += 1;
  console.log(`FAILED  ${name}: ${problem}`);
}

function compare(capture) {
  const name = capture.name ?? capture.path;
  let own;
  try {
    own = opened(capture);
  } catch (error) {
    return check(name, `it cannot be opened: ${error.message}`);
  }
  captures += 1;
  let any = 0;
  for (const listing of LISTINGS) {
    const label = `${name}: ${Object.entries(listing).flat().join(" ")}`;
    const its = run(capture.folder, [...wordsOf(listing), ...argumentsOf(capture)]);
    const parts = [];
    try {
      own.instance.list(listing, (part) => void parts.push(part));
    } catch (error) {
      check(label, `${error.code}: ${error.message}; the command: ${its.status} ${its.error}`);
      if (error.code === "ended") own = opened(capture);
      continue;
    }
    const mine = Buffer.concat(parts);
    listings += 1;
    bytes += mine.length;
    any += its.out.length;
    check(label, mine.equals(its.out) ? null : difference(mine, its.out));
  }
  check(name, any > 0 ? null : "the command lists nothing of it");
  if (own.info.buffers.some((buffer) => buffer.bytes > 0)) index(capture, name, own.instance, own.info);
}

/**
 * The index is the file that the command writes, but for the times of the files, which an instance does not
 * know; the command finds the same with it. The answers of the viewer need it.
 */
function index(capture, name, instance, info) {
  const folder = mkdtempSync(join(tmpdir(), "tracewright-wasm-"));
  const file = join(folder, "own.twx");
  try {
    const its = run(capture.folder, ["index", ...argumentsOf(capture), "--output", file]);
    if (!existsSync(file)) return check(`${name}: index`, `the command: ${its.error}`);
    const seen = [];
    instance.index((done, of) => void seen.push([done, of]));
    const mine = Buffer.from(instance.indexFile());
    check(`${name}: index`, mine.length === readFileSync(file).length ? null : `${mine.length} bytes`);
    const halves = ["segments", "view"].map((of) => instance.half(of));
    const other = opened(capture).instance;
    other.join(...halves);
    check(`${name}: halves`, mine.equals(Buffer.from(other.indexFile())) ? null : "they make another index");
    samples(name, other, info);
    const find = (index) => run(capture.folder, ["find", ...argumentsOf(capture), ...index, "count", "any"]);
    const [with_, without] = [(writeFileSync(file, mine), find(["--index", file])), find(["--no-index"])];
    const same = with_.status === without.status && with_.out.equals(without.out) && !with_.error.includes("own.twx");
    check(`${name}: find`, same ? null : `${with_.out} ${with_.error}, without the index ${without.out}`);
    check(`${name}: progress`, seen.length > 0 && seen.every(([done, of]) => done <= of) ? null : "none");
    const answer = instance.view("capture");
    check(`${name}: view`, answer.status === 200 ? null : Buffer.from(answer.body).toString());
  } catch (error) {
    check(`${name}: index`, error.message);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Some of the tiles of a capture are known without its index, those at its beginning always. */
function samples(name, instance, info) {
  for (const [buffer, { bytes, sources }] of info.buffers.entries()) {
    if (bytes === 0 || sources.length === 0) continue;
    const { tiles, length } = instance.sample(buffer);
    const [first] = instance.sample(buffer, [0]).samples;
    const whole = first.from === 0 && first.to === Math.min(bytes, length) && tiles === Math.ceil(bytes / length);
    const known = first.sources.length === sources.length && !first.sources.includes(null);
    check(`${name}: samples`, whole && known ? null : JSON.stringify(first).slice(0, 200));
  }
}

/** A table has the values of the listing in JSON. */
function tables(capture) {
  const { instance } = opened(capture);
  const { text } = instance.list({ format: "json" });
  const rows = text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  const want = rows.filter((row) => row.kind === "range").map((row) => [BigInt(row.start), row.instructions]);
  const mine = [];
  const done = instance.table("ranges", { columns: ["address", "instructions", "function"] }, ({ rows, columns }) => {
    const { address, instructions, function: name } = columns;
    for (let row = 0; row < rows; row++) mine.push([address.values[row], Number(instructions.values[row])]);
    check("table: names", name.known === null || name.names.length > 0 || name.known.every((known) => known === 0) ? null : "none");
  });
  const same = mine.length === want.length && mine.every(([a, b], n) => a === want[n][0] && b === want[n][1]);
  check("table: ranges", same && done.rows === want.length && want.length > 0 ? null : `${mine.length} rows, not ${want.length}`);
  let first = 0;
  instance.table("ranges", { limit: 3 }, (batch) => void (first += batch.rows));
  check("table: limit", first === 3 ? null : `${first} rows`);
  // Segments are those of an index.
  for (const { name } of instance.tables().filter((table) => table.name !== "segments")) {
    try {
      instance.table(name, { limit: 5 }, () => {});
    } catch (error) {
      check(`table: ${name}`, error.message);
    }
  }
}

/** Offsets above 4 GiB: a file that begins with zeros, and of which slices are read. */
function large(capture) {
  const trace = readFileSync(join(capture.folder, "capture/ETB_0.bin"));
  const begin = 2 ** 32 + 2 ** 20;
  const size = begin + trace.length;
  let [read, most] = [0, 0];
  const slice = (offset, length) => {
    [read, most] = [read + length, Math.max(most, offset)];
    const part = new Uint8Array(Math.min(length, size - offset));
    for (let at = Math.max(0, begin - offset); at < part.length; at++) part[at] = trace[offset + at - begin];
    return part;
  };
  const how = { protocols: ["ITM"], framing: "coresight" };
  const listed = (name, file, skip) => {
    const instance = new Instance(wasm);
    instance.addFile(name, file);
    const { buffers } = instance.open({ path: name, ...how, skip });
    const { text } = instance.list({ verb: "packets", bytes: true });
    check(`large: memory of ${name}`, instance.memory < 2 ** 26 ? null : `${instance.memory} bytes`);
    return { size: buffers[0].bytes, text };
  };
  const [mine, want] = [listed("large.bin", { size, slice }, begin), listed("small.bin", trace, 0)];
  check("large: size", mine.size === trace.length && want.size === trace.length ? null : `${mine.size} bytes`);
  check("large: text", mine.text === want.text && want.text.length > 1000 ? null : mine.text.slice(0, 200));
  check("large: slices", most > 2 ** 32 && read < 2 ** 24 ? null : `${read} bytes were read, up to ${most}`);
}

/** What is asked wrongly is an error that leaves the instance in use. */
function errors(capture) {
  const { instance } = opened(capture);
  const refused = (label, call) => {
    try {
      call();
      check(`errors: ${label}`, "no error");
    } catch (error) {
      check(`errors: ${label}`, error instanceof TraceError && error.code !== "ended" ? null : String(error.stack));
    }
  };
  refused("route", () => instance.list({ verb: "none" }));
  refused("parameter", () => instance.list({ verb: "decode", colour: 1 }));
  refused("range", () => instance.list({ offset: "3..1" }));
  refused("table", () => instance.table("none", {}, () => {}));
  refused("column", () => instance.table("ranges", { columns: ["none"] }, () => {}));
  refused("again", () => instance.open({ path: capture.path }));
  refused("index", () => instance.indexFile());
  refused("bytes of an index", () => instance.index(undefined, new Uint8Array(99)));
  const other = new Instance(wasm);
  refused("half", () => instance.half("none"));
  refused("halves", () => instance.join(new Uint8Array(9), new Uint8Array(9)));
  refused("sample", () => instance.sample(99));
  refused("tile", () => instance.sample(0, [-1]));
  refused("no capture", () => other.list());
  refused("no file", () => other.open({ path: "none" }));
  check("errors: after them", instance.list({ limit: 1 }).text.split("\n").length === 2 ? null : "no listing");
  let parts = 0;
  instance.list({ verb: "packets" }, () => ++parts < 1);
  check("errors: no more wanted", parts === 1 ? null : `${parts} parts`);
}

/** A module whose `tw_ask` traps. */
function trapping() {
  const [i32, i64] = [0x7f, 0x7e];
  const text = (name) => [name.length, ...Buffer.from(name)];
  const section = (id, ...items) => {
    const content = [items.length, ...items.flat()];
    return [id, content.length, ...content];
  };
  const functions = [
    ["tw_new", [], [i32], [0x41, 8]],
    ["tw_alloc", [i32], [i32], [0x41, 16]],
    ["tw_release", [i32, i32], [], []],
    ["tw_file", [i32, i32, i32, i32, i64], [], []],
    ["tw_ask", [i32, i32, i32, i32, i32], [i32], [0x00]],
  ];
  const types = functions.map(([, takes, gives]) => [0x60, takes.length, ...takes, gives.length, ...gives]);
  const exported = functions.map(([name], n) => [...text(name), 0, n]);
  const bodies = functions.map(([, , , code]) => [code.length + 2, 0, ...code, 0x0b]);
  return new WebAssembly.Module(
    Uint8Array.from([
      ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      ...section(1, ...types),
      ...section(3, ...functions.map((_, n) => [n])),
      ...section(5, [0, 1]),
      ...section(7, ...exported, [...text("memory"), 2, 0]),
      ...section(10, ...bodies),
    ]),
  );
}

/** A module that ends takes nothing else with it: the Worker answers the next question with another one. */
async function ended(capture) {
  const instance = new Instance(trapping());
  instance.addFile("a", new Uint8Array(3));
  for (const attempt of ["first", "second"]) {
    try {
      instance.open({ path: "a" });
      check(`ended: ${attempt}`, "no error");
    } catch (error) {
      check(`ended: ${attempt}`, error.code === "ended" ? null : String(error.stack));
    }
  }
  const sent = [];
  globalThis.postMessage = (message) => void sent.push(message);
  await import("../package/worker.js");
  const ask = (call, args) => {
    sent.length = 0;
    globalThis.onmessage({ data: { id: 7, call, args } });
    return sent.at(-1);
  };
  const files = filesBelow(capture.folder, capture.path).map((name) => ({ name, data: readFileSync(join(capture.folder, name)) }));
  const of = (own) => ({ wasm: own, files, options: { path: capture.path } });
  check("ended: the worker", ask("open", of(trapping())).error?.code === "ended" ? null : JSON.stringify(sent));
  check("ended: again", ask("list", { options: {} }).error?.code === "ended" ? null : JSON.stringify(sent));
  check("ended: another module", ask("open", of(wasm)).result?.kind === "snapshot" ? null : JSON.stringify(sent));
  check("ended: its index", ask("index", {}).result?.bytes > 0 ? null : JSON.stringify(sent));
  const answer = ask("view", { route: "capture", query: "" });
  check("ended: the index is there", answer.result?.status === 200 ? null : JSON.stringify(answer));
}

const own = readdirSync(join(repository, "tests/captures"))
  .filter((name) => existsSync(join(repository, "tests/captures", name, "capture")))
  .map((name) => ({ folder: join(repository, "tests/captures", name), path: "capture", name }));
own.forEach(compare);
const etmv4 = own.find(({ name }) => name === "etmv4");
tables(etmv4);
errors(etmv4);
await ended(etmv4);
large(own.find(({ name }) => name === "itm"));

if (sharedFolder !== undefined && existsSync(sharedFolder)) {
  const at = (folder, path, more = {}) => ({ folder: join(sharedFolder, folder), path, ...more });
  const snapshots = "conformance/arm/snapshots";
  const perf = "captures/simpleperf-etm";
  const programs = { others: ["etm_test_loop", "rq_stats.ko"], options: { binaries: ["etm_test_loop", "rq_stats.ko"] } };
  const sigrok = "captures/sigrok-stm32f105";
  const shared = [
    at("captures/ti-am243x-r5f", "freertos"),
    ...["TC2", "juno_r1_1", "itm_only_raw", "stm_only", "tc2-ptm-rstk-t32", "ete_ip"].map((name) => at(snapshots, name)),
    ...["perf_etm.data", "perf_kernel.data", "perf_with_missing_aux_data.data", "perf_with_unformatted_trace.data"].map((name) => at(perf, name, programs)),
    at(sigrok, "swo_uart.bin", { options: { protocols: ["ITM"] } }),
    at(sigrok, "swo_uart.bin", { name: "swo_uart.bin, detected" }),
  ];
  shared.filter(({ folder, path }) => existsSync(join(folder, path))).forEach(compare);
} else {
  console.log("SKIPPED: captures beside the repository in WebAssembly; to enable it: put the test data into ../shared");
}
console.log(`${captures} captures, ${listings} listings of ${bytes} bytes compared, ${failed} failed`);
process.exitCode = failed > 0 || captures < 13 ? 1 : 0;
