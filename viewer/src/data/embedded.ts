// The answers in a file that was exported: there is no server. What the file does not have is an
// error that states it; nothing is made up. The names of answers are those of `crates/viewer/src/export`.

import { ServerError } from "./backend";
import type { Backend, Parameters, Search } from "./backend";
import * as layout from "./layout";
import { callsOf, lengthsOf, part, relatives, stackOf } from "./frames";
import type {
  About,
  Call,
  Calls,
  Capture,
  ExceptionRow,
  Exceptions,
  Found,
  FunctionInfo,
  Histogram,
  List,
  Note,
  Output,
  OutputLine,
  Place,
  Profile,
  Report,
  Row,
  SourceLine,
  SourceText,
} from "./types";

/** The code of the errors about what the file does not have. */
export const NOT_IN_FILE = "not-in-file";

function lacks(what: string): ServerError {
  return new ServerError(NOT_IN_FILE, `This file does not have ${what}: \`tracewright view\` shows it.`);
}

/** Bytes of base64 that were deflated. */
async function unpacked(text: string): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).arrayBuffer();
}

const number = (value: string | number | undefined): number | undefined => (value === undefined ? undefined : Number(value));

export class Embedded implements Backend {
  private readonly read = new Map<string, Promise<unknown>>();
  private whole: Capture | null = null;

  constructor(
    private readonly answers: Readonly<Record<string, string>>,
    private readonly report: Report | null,
  ) {}

  /** An answer, which is unpacked once. */
  private once<T>(name: string, make: (bytes: ArrayBuffer) => T): Promise<T> | null {
    const known = this.read.get(name);
    if (known !== undefined) return known as Promise<T>;
    const text = this.answers[name];
    if (text === undefined) return null;
    const made = unpacked(text).then(make);
    this.read.set(name, made);
    return made;
  }

  private json<T>(name: string): Promise<T> | null {
    return this.once(name, (bytes) => JSON.parse(new TextDecoder().decode(bytes)) as T);
  }

  private async must<T>(name: string, what: string): Promise<T> {
    const answer = this.json<T>(name);
    if (answer === null) throw lacks(what);
    return answer;
  }

  async capture(): Promise<Capture> {
    const capture = await this.must<Capture>("capture", "the description of its trace");
    const about = await this.must<About>("about", "what it is about");
    const exported = this.report === null ? about : { ...about, report: this.report };
    this.whole = { ...capture, growing: false, save_notes: false, exported };
    return this.whole;
  }

  async functions(buffer: number) {
    return (await this.json<{ functions: FunctionInfo[] }>(`functions/${buffer}`))?.functions ?? [];
  }

  async tiles(p: Parameters) {
    const block = Number(p.first) / Number(p.count);
    const tiles = this.once(`tiles/${p.buffer}/${p.source}/${p.level}/${block}`, layout.tiles);
    if (tiles === null) throw lacks("tiles of this size");
    return tiles;
  }

  async frames(p: Parameters) {
    const frames = await this.once(`frames/${p.buffer}/${p.source}`, layout.frames);
    if (frames === null) throw lacks("calls of this part");
    return part(frames, Number(p.from), Number(p.to), Number(p.min ?? 0));
  }

  /** Each call of a part, if the file has them. */
  private async exact(buffer: unknown, source: unknown, from: number, to: number): Promise<layout.Detail | null> {
    const all = await this.once(`detail/${buffer}/${source}`, layout.detail);
    return all !== null && from >= all.from && to <= all.to ? all : null;
  }

  async detail(p: Parameters) {
    const [from, to] = [Number(p.from), Number(p.to)];
    const all = await this.exact(p.buffer, p.source, from, to);
    if (all === null) throw lacks("single calls of this part");
    const frames = part(all, from, to, 0);
    const events: number[] = [];
    for (let e = 0; e < all.eventAt.length; e++) {
      const at = all.eventAt[e] as number;
      if (at >= from && (at < to || to === all.to)) events.push(e);
    }
    const of = (values: Float64Array) => Float64Array.from(events, (e) => values[e] as number);
    return {
      ...frames,
      min: 0,
      eventAt: of(all.eventAt),
      eventInstruction: of(all.eventInstruction),
      eventTime: of(all.eventTime),
      eventValue: of(all.eventValue),
      eventElement: of(all.eventElement),
      eventKind: Uint8Array.from(events, (e) => all.eventKind[e] as number),
      eventsLeftOut: 0,
    };
  }

  async valueTiles(p: Parameters) {
    const info = this.whole?.buffers.find((own) => own.number === Number(p.buffer));
    if (info === undefined) return [];
    const wanted = 2 ** (info.tile_log2 + 2 * Number(p.level));
    const [from, to] = [Number(p.first) * wanted, (Number(p.first) + Number(p.count)) * wanted];
    // The smallest tiles that the file has, and that are not smaller than those that are wanted.
    for (let level = Number(p.level); level < info.levels; level++) {
      const size = 2 ** (info.tile_log2 + 2 * level) * 512;
      const rows: layout.ValueRow[] = [];
      let isThere = true;
      for (let block = Math.floor(from / size); block * size < Math.min(to, info.bytes) && isThere; block++) {
        const own = this.once(`values/${p.buffer}/${p.source}/${level}/${block}`, layout.valueTiles);
        if (own === null) isThere = false;
        else rows.push(...(await own));
      }
      if (isThere) return rows.filter((row) => row.to > from && row.from < to);
    }
    throw lacks("values of this part");
  }

  async values() {
    // Tiles have them.
    return { rows: [], leftOut: 1 };
  }

  /** The rows of instructions, and whether they are all of the trace, at both ends. */
  private rows(buffer: unknown): Promise<{ rows: Row[]; begin: boolean; end: boolean }> {
    const name = `list/${buffer}`;
    const known = this.read.get(`rows/${buffer}`) as Promise<{ rows: Row[]; begin: boolean; end: boolean }> | undefined;
    if (known !== undefined) return known;
    const made = (async () => {
      const pages = (await this.json<List[]>(name)) ?? [];
      const rows: Row[] = [];
      const keys = new Set<string>();
      for (const row of pages.flatMap((page) => page.rows)) {
        const key = `${row.element}/${row.n ?? ""}/${row.type}`;
        if (!keys.has(key)) rows.push(row);
        keys.add(key);
      }
      return { rows, begin: pages[0]?.begin === true, end: pages[pages.length - 1]?.end === true };
    })();
    this.read.set(`rows/${buffer}`, made);
    return made;
  }

  async list(p: Parameters): Promise<List> {
    if (p.kind === "elements") throw lacks("single elements");
    const { rows: every, begin, end } = await this.rows(p.buffer);
    const source = number(p.source);
    const rows = source === undefined ? every : every.filter((row) => row.source === source);
    const [instruction, element, offset] = [number(p.instruction), number(p.element), number(p.offset)];
    const at = rows.findIndex((row) =>
      instruction !== undefined
        ? row.n !== undefined && row.n >= instruction
        : element !== undefined
          ? row.element >= element
          : row.offset >= (offset ?? 0),
    );
    // Between the first row of all sources and the first one of this source there is nothing.
    const first = every[0];
    const isBefore =
      first === undefined ||
      rows.length === 0 ||
      (!begin &&
        (instruction !== undefined
          ? instruction < (every.find((row) => row.n !== undefined)?.n ?? Infinity)
          : element !== undefined
            ? element < first.element
            : (offset ?? 0) < first.offset));
    if (isBefore || (at < 0 && !end)) throw lacks("the instructions here");
    const anchor = at < 0 ? rows.length - 1 : at;
    const from = Math.max(0, anchor - Number(p.before));
    const to = Math.min(rows.length, anchor + Number(p.after));
    return {
      rows: rows.slice(from, to),
      anchor: anchor - from,
      begin: from === 0,
      end: to === rows.length,
    };
  }

  async stack(p: Parameters) {
    const { rows } = await this.rows(p.buffer);
    const own = rows.find((row) => row.element === number(p.element));
    const offset = number(p.at) ?? number(p.offset) ?? own?.offset;
    const instruction = number(p.at_instruction) ?? own?.at_instruction;
    if (offset === undefined || p.source === undefined) throw lacks("the call stack here");
    const all = await this.exact(p.buffer, p.source, offset, offset);
    if (all === null) throw lacks("the call stack here");
    const frames = stackOf(all, offset, instruction);
    const names = new Map((await this.functions(Number(p.buffer))).map((f) => [f.id, f.name]));
    return {
      source: Number(p.source),
      thread: frames.thread,
      element: number(p.element) ?? 0,
      offset,
      frames: frames.list.map((frame) => ({ ...frame, name: names.get(frame.function ?? -1) ?? "" })),
    };
  }

  profile(p: Parameters): Promise<Profile> {
    return this.must(`profile/${p.buffer}/${p.from}/${p.to}`, "the functions of this selection");
  }

  /** Each call of the buffer by source. Null where the file does not have all of them. */
  private async everyCall(buffer: unknown, from: number, to: number): Promise<[number, layout.Detail][] | null> {
    const info = this.whole?.buffers.find((own) => own.number === Number(buffer));
    const list: [number, layout.Detail][] = [];
    for (const source of info?.sources ?? []) {
      if (source.instructions === 0) continue;
      const own = await this.exact(buffer, source.number, from, to);
      if (own === null) return null;
      list.push([source.number, own]);
    }
    return list;
  }

  private async wholeBuffer(buffer: unknown): Promise<[number, layout.Detail][] | null> {
    const info = this.whole?.buffers.find((own) => own.number === Number(buffer));
    return info === undefined ? null : this.everyCall(buffer, 0, info.bytes);
  }

  async sandwich(p: Parameters) {
    const [from, to] = [Number(p.from), Number(p.to)];
    const every = await this.everyCall(p.buffer, from, to);
    if (every === null) throw lacks("the callers and callees in this part");
    return relatives(every.map(([, all]) => part(all, from, to, 0)), Number(p.function));
  }

  async calls(p: Parameters): Promise<Calls> {
    const every = await this.wholeBuffer(p.buffer);
    if (every === null) {
      const listed = p.order === "time" ? null : this.json<Calls>(`calls/${p.buffer}/${p.function}`);
      if (listed === null || p.part !== undefined) throw lacks("these calls");
      const { next_part: _, ...rest } = await listed;
      return rest;
    }
    const base = this.firstTime(p.buffer);
    const calls: Call[] = every.flatMap(([source, all]) => callsOf(all, Number(p.function), source, base));
    if (p.order === "time") {
      const from = Number(p.from ?? 0);
      const later = calls.filter((call) => call.end >= from).sort((a, b) => a.end - b.end || a.source - b.source);
      const limit = Number(p.limit);
      const next = later[limit]?.end;
      return { calls: later.slice(0, limit), more: next !== undefined, ...(next === undefined ? {} : { next }) };
    }
    calls.sort((a, b) => b.instructions - a.instructions || a.end - b.end);
    const beyond = calls[Number(p.limit)]?.instructions;
    return { calls: calls.slice(0, Number(p.limit)), more: beyond !== undefined, ...(beyond === undefined ? {} : { beyond }) };
  }

  private firstTime(buffer: unknown): bigint | null {
    const first = this.whole?.buffers.find((own) => own.number === Number(buffer))?.times?.first;
    return first === undefined ? null : BigInt(first);
  }

  async histogram(p: Parameters): Promise<Histogram> {
    const listed = this.json<Histogram>(`histogram/${p.buffer}/${p.function}`);
    if (listed !== null) return listed;
    const every = await this.wholeBuffer(p.buffer);
    if (every === null) throw lacks("the lengths of these calls");
    return lengthsOf(every.flatMap(([source, all]) => callsOf(all, Number(p.function), source, null)));
  }

  async source(p: Parameters): Promise<SourceText> {
    const pages = await this.must<SourceText[]>(`source/${p.buffer}/${p.file}`, "the text of this file");
    const first = pages[0];
    if (first === undefined) throw lacks("the text of this file");
    const exported = this.whole?.exported?.part;
    const info = this.whole?.buffers.find((own) => own.number === Number(p.buffer));
    const counted =
      exported?.buffer === info?.number && exported !== undefined
        ? `${exported.from}..${exported.to}`
        : `0..${info?.bytes ?? 0}`;
    const lines = pages.flatMap((page) => page.lines).filter(({ line }) => line >= Number(p.from) && line <= Number(p.to));
    const plain = ({ line, text, instructions }: SourceLine): SourceLine =>
      instructions === undefined ? { line, text } : { line, text, instructions };
    return { ...first, lines: p.executions === counted ? lines : lines.map(plain) };
  }

  async place(p: Parameters): Promise<Place> {
    const functions = await this.functions(Number(p.buffer));
    const own = functions.find((f) => (p.function === undefined ? f.address === p.address : f.id === Number(p.function)));
    if (own === undefined) throw lacks("the place of this address");
    return {
      function: own.id,
      name: own.name,
      ...(own.file === undefined ? {} : { file: own.file }),
      ...(own.line === undefined ? {} : { line: own.line }),
    };
  }

  async output(p: Parameters): Promise<Output> {
    const pages = await this.must<Output[]>(`output/${p.buffer}`, "the output");
    const channel = number(p.channel);
    const wanted = (line: OutputLine) => (channel === undefined || line.channel === channel) && line.offset >= Number(p.from ?? 0);
    const found = distinct(pages.flatMap((page) => page.lines).filter(wanted), (line) => `${line.element}/${line.channel}/${line.text}`);
    const { rows, ...rest } = first(found, Number(p.limit));
    return { lines: rows, ...rest };
  }

  private async everyException(buffer: unknown): Promise<ExceptionRow[]> {
    const pages = await this.must<Exceptions[]>(`exceptions/${buffer}`, "the exceptions");
    return distinct(pages.flatMap((page) => page.exceptions), (row) => String(row.element));
  }

  async exceptions(p: Parameters): Promise<Exceptions> {
    const wanted = number(p.number);
    const found = (await this.everyException(p.buffer)).filter(
      (row) => (wanted === undefined || row.number === wanted) && row.offset >= Number(p.from ?? 0),
    );
    const { rows, ...rest } = first(found, Number(p.limit));
    return { exceptions: rows, ...rest };
  }

  find(p: Parameters, search: Search): () => void {
    // Exceptions are listed; other queries decode the trace.
    const query = /^(?:all )?exception(?: (\d+))?$/.exec(String(p.q).trim());
    const found = (row: ExceptionRow): Found => ({ ...row, kind: "exception", text: `exception ${row.number} ${row.name ?? ""}` });
    if (query === null) {
      search.error(lacks("an index, which queries need").message);
      return () => {};
    }
    let isWanted = true;
    this.everyException(p.buffer).then(
      (rows) => {
        if (!isWanted) return;
        const own = rows.filter((row) => query[1] === undefined || row.number === Number(query[1]));
        const from = Number(p.from ?? 0);
        const list =
          p.direction === "all"
            ? own
            : p.direction === "previous"
              ? own.filter((row) => row.element < from).slice(-1)
              : own.filter((row) => row.element > from).slice(0, 1);
        for (const row of list.slice(0, Number(p.limit))) search.found(found(row));
        search.end(list.length > Number(p.limit));
      },
      (error: unknown) => search.error(error instanceof Error ? error.message : String(error)),
    );
    return () => (isWanted = false);
  }

  async notes() {
    return (await this.json<{ notes: Note[] }>("notes"))?.notes ?? [];
  }

  async saveNotes(): Promise<void> {
    throw lacks("a place to save bookmarks");
  }
}

function distinct<T>(rows: T[], key: (row: T) => string): T[] {
  const known = new Set<string>();
  return rows.filter((row) => !known.has(key(row)) && known.add(key(row)));
}

/** The first rows, and where the others begin. */
function first<T extends { offset: number }>(rows: T[], limit: number): { rows: T[]; more: boolean; next?: number } {
  const next = rows[limit]?.offset;
  const shown = rows.slice(0, limit);
  return next === undefined ? { rows: shown, more: false } : { rows: shown, more: true, next };
}

/** The answers in this page, if it was exported. */
export function embedded(): Backend | null {
  const read = <T>(id: string): T | null => {
    const text = document.getElementById(id)?.textContent;
    return text == null ? null : (JSON.parse(text) as T);
  };
  const answers = read<Record<string, string>>("answers");
  return answers === null ? null : new Embedded(answers, read<Report>("report"));
}
