/** Bytes of a file: in memory, a Blob (in a Worker), or read when they are needed. */
export type Source =
  | Uint8Array
  | ArrayBuffer
  | Blob
  | { readonly size: number; slice(offset: number, length: number): Uint8Array };

export type Code = "bad-parameter" | "damaged" | "ended" | "unknown";

/** Why there is no answer; `ended`: the module has ended, by a panic or for lack of memory. */
export class TraceError extends Error {
  constructor(code: Code, message: string);
  readonly code: Code;
}

export interface Opening {
  /** The capture: a file or a folder among those that were added. */
  path: string;
  /** Programs: `NAME`, or `NAME@ADDRESS`. */
  images?: string[];
  /** Programs that a `perf.data` file refers to, with priority. */
  binaries?: string[];
  /** Trace units of raw trace data: `NAME`, or `NAME@ID`. Without them they are detected. */
  protocols?: string[];
  /** Registers of raw trace data: `NAME=VALUE`. */
  config?: string[];
  /** The framing of raw trace data, by the name of the command's `--framing`. */
  framing?: string;
  /** The number of bytes at the start of raw trace data that are not decoded. */
  skip?: number | bigint;
}

export interface Info {
  kind: "snapshot" | "folder" | "raw" | "perf" | "memory";
  detected?: string;
  buffers: { name: string; bytes: number; sources: { name: string; protocol: string }[] }[];
  notes: string[];
}

/** A part of the trace: `A..B` of offsets, elements or ticks. */
export interface Part {
  offset?: string;
  element?: string;
  time?: string;
  /** The most lines or rows. */
  limit?: number;
}

export interface Listing extends Part {
  verb?: "packets" | "decode" | "instructions";
  format?: "text" | "json";
  packets?: boolean;
  bytes?: boolean;
  explain?: boolean;
}

export interface Listed {
  /** What the command prints to its standard error. */
  summaries: string[];
  notes: string[];
}

export interface Selection extends Part {
  columns?: string[];
  functions?: string[];
  kinds?: string[];
}

export interface TableInfo {
  name: string;
  about: string;
  columns: { name: string; about: string }[];
}

export type Values =
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | Int32Array
  | BigUint64Array
  | BigInt64Array
  | Float64Array
  | string[]
  | string[][]
  | Uint8Array[];

export interface Column {
  type: "u8" | "u16" | "u32" | "u64" | "i64" | "f64" | "bool" | "name" | "text" | "bytes" | "list";
  /** The values; of the type `name`, numbers of `names`. */
  values: Values;
  /** For each row 1 where the value is known, 0 where it is not; `null` where all are. */
  known: Uint8Array | null;
  names: string[] | null;
}

export interface Batch {
  rows: number;
  columns: Record<string, Column>;
}

/** What one source did in a tile. */
export interface Sampled {
  instructions: number;
  exceptions: number;
  /** Places where trace was lost. */
  gaps: number;
  /** Software writes. */
  writes: number;
  /** Data accesses and events. */
  others: number;
  /** Those with most instructions; code without a symbol by the address of its page of 4 KiB. */
  functions: { name: string; instructions: number }[];
}

export interface Samples {
  /** The number of tiles of the buffer, and their length in bytes. */
  tiles: number;
  length: number;
  /** By source, in order of `Info`; `null` where it is not known without an index. */
  samples: { from: number; to: number; sources: (Sampled | null)[] }[];
}

export interface Answer {
  /** A status of HTTP. */
  status: number;
  body: Uint8Array;
}

/** An instance of the module on the calling thread; it opens one capture. */
export class Instance {
  constructor(module: WebAssembly.Module);
  readonly module: WebAssembly.Module;
  readonly memory: number;
  addFile(name: string, data: Source): void;
  ask(route: string, parameters?: [string, string | number][], body?: Uint8Array): Answer;
  open(how: Opening): Info;
  list(options?: Listing): Listed & { text: string };
  list(options: Listing, write: (bytes: Uint8Array) => boolean | void): Listed;
  tables(): TableInfo[];
  table(name: string, options: Selection, receive: (batch: Batch) => boolean | void): { rows: number };
  sample(buffer?: number, tiles?: number[]): Samples;
  index(progress?: (done: number, of: number) => boolean | void, bytes?: Uint8Array): { bytes: number };
  half(of: "segments" | "view", progress?: (done: number, of: number) => boolean | void): Uint8Array;
  join(segments: Uint8Array, view: Uint8Array): { bytes: number };
  indexFile(): Uint8Array;
  view(route: string, query?: string): Answer;
  find(query: string, write: (events: string) => boolean | void): Answer;
}
