import type { Answer, Batch, Info, Listed, Listing, Opening, Samples, Selection, TableInfo } from "./instance.js";

export * from "./instance.js";

export interface NamedFile {
  /** A path with slashes. */
  name: string;
  data: Blob | Uint8Array;
}

/** What the package loads, where it is in another place. */
export interface Places {
  wasm?: WebAssembly.Module | BufferSource | URL;
  worker?: Worker;
}

/** Compiles the module, that of the package once. */
export function compile(wasm?: Places["wasm"]): Promise<WebAssembly.Module>;

/** Opens a capture in a Worker of its own. */
export function open(files: NamedFile[], options: Opening, places?: Places): Promise<Trace>;

/** A capture that is open in a Worker, which answers one call after another. */
export class Trace {
  constructor(worker: Worker);
  info: Info;
  list(options?: Listing): Promise<Listed & { text: string }>;
  list(options: Listing, write: (bytes: Uint8Array) => void): Promise<Listed>;
  tables(): Promise<TableInfo[]>;
  table(name: string, options: Selection, receive: (batch: Batch) => void): Promise<{ rows: number }>;
  sample(buffer?: number, tiles?: number[]): Promise<Samples>;
  index(progress?: (done: number, of: number) => void, bytes?: Uint8Array): Promise<{ bytes: number }>;
  half(of: "segments" | "view", progress?: (done: number, of: number) => void): Promise<Uint8Array>;
  join(segments: Uint8Array, view: Uint8Array): Promise<{ bytes: number }>;
  indexFile(): Promise<Uint8Array>;
  view(route: string, query?: string): Promise<Answer>;
  find(query: string, receive: (events: string) => void): Promise<Answer>;
  memory(): Promise<number>;
  /** Ends the Worker, and what it does. */
  close(): void;
}
