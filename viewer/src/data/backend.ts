// What the page asks of a server, and the server over HTTP.

import * as layout from "./layout";
import type {
  Calls,
  Capture,
  Exceptions,
  Found,
  FunctionInfo,
  Histogram,
  List,
  Note,
  Output,
  Place,
  Profile,
  Sandwich,
  SourceText,
  Stack,
} from "./types";

export type Parameters = Record<string, string | number | undefined>;

/** An answer with another status than 200. */
export class ServerError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = "ServerError";
  }
}

export interface Search {
  progress: (offset: number, of: number) => void;
  found: (result: Found) => void;
  count: (count: number) => void;
  end: (truncated: boolean) => void;
  error: (message: string) => void;
}

export interface Backend {
  capture(signal?: AbortSignal): Promise<Capture>;
  functions(buffer: number): Promise<FunctionInfo[]>;
  tiles(p: Parameters, signal: AbortSignal): Promise<layout.Tiles>;
  frames(p: Parameters, signal: AbortSignal): Promise<layout.Frames>;
  detail(p: Parameters, signal: AbortSignal): Promise<layout.Detail>;
  valueTiles(p: Parameters, signal: AbortSignal): Promise<layout.ValueRow[]>;
  values(p: Parameters, signal: AbortSignal): Promise<{ rows: layout.ValueRow[]; leftOut: number }>;
  list(p: Parameters, signal: AbortSignal): Promise<List>;
  stack(p: Parameters, signal: AbortSignal): Promise<Stack>;
  profile(p: Parameters, signal: AbortSignal): Promise<Profile>;
  sandwich(p: Parameters, signal: AbortSignal): Promise<Sandwich>;
  calls(p: Parameters, signal: AbortSignal): Promise<Calls>;
  histogram(p: Parameters, signal: AbortSignal): Promise<Histogram>;
  source(p: Parameters, signal: AbortSignal): Promise<SourceText>;
  place(p: Parameters, signal: AbortSignal): Promise<Place>;
  output(p: Parameters, signal: AbortSignal): Promise<Output>;
  exceptions(p: Parameters, signal: AbortSignal): Promise<Exceptions>;
  /** Starts a search, and returns what stops it. */
  find(p: Parameters, search: Search): () => void;
  notes(): Promise<Note[]>;
  saveNotes(notes: Note[]): Promise<void>;
}

const RETRIES = 5;
const RETRY_AFTER_MS = 120;

/** The parameters as the text after `?`. */
export function queryOf(parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, String(value));
  }
  return query.toString();
}

function address(route: string, parameters: Parameters): string {
  const text = queryOf(parameters);
  return text === "" ? `api/${route}` : `api/${route}?${text}`;
}

async function refused(response: Response): Promise<ServerError> {
  try {
    const body = (await response.json()) as { error?: string; message?: string };
    return new ServerError(body.error ?? "unknown", body.message ?? response.statusText);
  } catch {
    return new ServerError("unknown", `the server answered ${response.status}`);
  }
}

async function get(route: string, parameters: Parameters, signal?: AbortSignal): Promise<Response> {
  for (let attempt = 0; ; attempt++) {
    let response: Response;
    try {
      response = await fetch(address(route, parameters), { signal: signal ?? null });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ServerError("offline", "the server does not answer: has the command ended?");
    }
    if (response.ok) return response;
    const error = await refused(response);
    if (error.code !== "busy" || attempt >= RETRIES) throw error;
    await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER_MS * (attempt + 1)));
    signal?.throwIfAborted();
  }
}

/** What the events of a search are passed to. */
export function searchEvents(search: Search, stop: () => void): Record<string, (data: string) => void> {
  const on = <T>(receive: (data: T) => void) => (data: string) => receive(JSON.parse(data) as T);
  return {
    progress: on<{ offset: number; of: number }>(({ offset, of }) => search.progress(offset, of)),
    found: on<Found>(search.found),
    count: on<{ count: number }>(({ count }) => search.count(count)),
    end: on<{ found: number; truncated?: boolean }>(({ truncated }) => {
      stop();
      search.end(truncated === true);
    }),
    error: on<{ message: string }>(({ message }) => {
      stop();
      search.error(message);
    }),
  };
}

/** The routes, wherever they are answered. */
export abstract class Routes implements Backend {
  protected abstract json<T>(route: string, p: Parameters, signal?: AbortSignal): Promise<T>;
  protected abstract bytes(route: string, p: Parameters, signal: AbortSignal): Promise<ArrayBuffer>;
  abstract find(p: Parameters, search: Search): () => void;
  abstract saveNotes(notes: Note[]): Promise<void>;

  capture(signal?: AbortSignal) {
    return this.json<Capture>("capture", {}, signal);
  }
  async functions(buffer: number) {
    return (await this.json<{ functions: FunctionInfo[] }>("functions", { buffer })).functions;
  }
  async tiles(p: Parameters, signal: AbortSignal) {
    return layout.tiles(await this.bytes("tiles", p, signal));
  }
  async frames(p: Parameters, signal: AbortSignal) {
    return layout.frames(await this.bytes("frames", p, signal));
  }
  async detail(p: Parameters, signal: AbortSignal) {
    return layout.detail(await this.bytes("detail", p, signal));
  }
  list(p: Parameters, signal: AbortSignal) {
    return this.json<List>("list", p, signal);
  }
  stack(p: Parameters, signal: AbortSignal) {
    return this.json<Stack>("stack", p, signal);
  }
  profile(p: Parameters, signal: AbortSignal) {
    return this.json<Profile>("profile", p, signal);
  }
  sandwich(p: Parameters, signal: AbortSignal) {
    return this.json<Sandwich>("tree", p, signal);
  }
  calls(p: Parameters, signal: AbortSignal) {
    return this.json<Calls>("calls", p, signal);
  }
  histogram(p: Parameters, signal: AbortSignal) {
    return this.json<Histogram>("histogram", p, signal);
  }
  source(p: Parameters, signal: AbortSignal) {
    return this.json<SourceText>("source", p, signal);
  }
  place(p: Parameters, signal: AbortSignal) {
    return this.json<Place>("place", p, signal);
  }
  async valueTiles(p: Parameters, signal: AbortSignal) {
    return layout.valueTiles(await this.bytes("values", p, signal));
  }
  async values(p: Parameters, signal: AbortSignal) {
    return layout.values(await this.bytes("values", p, signal));
  }
  output(p: Parameters, signal: AbortSignal) {
    return this.json<Output>("output", p, signal);
  }
  exceptions(p: Parameters, signal: AbortSignal) {
    return this.json<Exceptions>("exceptions", p, signal);
  }

  async notes() {
    return (await this.json<{ notes: Note[] }>("notes", {})).notes;
  }
}

/** The server that this page was loaded from. */
export class Http extends Routes {
  protected async json<T>(route: string, p: Parameters, signal?: AbortSignal): Promise<T> {
    return (await get(route, p, signal)).json() as Promise<T>;
  }

  protected async bytes(route: string, p: Parameters, signal: AbortSignal): Promise<ArrayBuffer> {
    return (await get(route, p, signal)).arrayBuffer();
  }

  find(p: Parameters, search: Search): () => void {
    const stream = new EventSource(address("find", p));
    const stop = () => stream.close();
    for (const [event, receive] of Object.entries(searchEvents(search, stop))) {
      stream.addEventListener(event, (message) => {
        // A connection that fails has an event `error` without data.
        const text = (message as MessageEvent<string | undefined>).data;
        if (text !== undefined) receive(text);
      });
    }
    stream.onerror = (event) => {
      // An event of the server with this name has data; that of a connection has none.
      if ((event as MessageEvent<string | undefined>).data !== undefined) return;
      stop();
      // A refused query is an answer without a stream: its reason is read once more.
      get("find", p).then(
        (response) => {
          void response.body?.cancel();
          search.error("the search was interrupted");
        },
        (error: unknown) => search.error(error instanceof Error ? error.message : String(error)),
      );
    };
    return stop;
  }

  async saveNotes(notes: Note[]) {
    const response = await fetch("api/notes", {
      method: "PUT",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ notes }),
    });
    if (!response.ok) throw await refused(response);
  }
}
