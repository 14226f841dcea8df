// The answers of a decoder in a Worker, beside the page: nothing is sent.

import type { Trace } from "../../../crates/wasm/package/index.js";
import { Routes, ServerError, queryOf, searchEvents } from "../data/backend";
import type { Parameters, Search } from "../data/backend";

interface Waiting {
  run: (trace: Trace) => Promise<void>;
  signal: AbortSignal | undefined;
}

/** Decoders that answer, and one for searches, which ends where a search is stopped. */
export class Local extends Routes {
  private waiting: Waiting[] = [];
  private readonly running = new Set<Waiting>();
  private readonly idle: Trace[];
  private second: Promise<void> | null = null;
  private searcher: Promise<Trace> | null = null;

  /** `second` answers beside `trace`. Without it, `another` makes one when it is needed. */
  constructor(
    trace: Trace,
    second: Promise<Trace> | null,
    private readonly another: () => Promise<Trace>,
  ) {
    super();
    this.idle = [trace];
    if (second !== null) this.join(second);
  }

  private join(trace: Promise<Trace>): void {
    this.second = trace.then(
      (own) => {
        this.idle.push(own);
        this.next();
      },
      () => {},
    );
  }

  /** A decoder answers one request after another; it does not get those that are no longer wanted. */
  private ask(route: string, p: Parameters, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    return new Promise((resolve, reject) => {
      const run = async (trace: Trace) => {
        try {
          const { status, body } = await trace.view(route, queryOf(p));
          if (status === 200) return resolve(body as Uint8Array<ArrayBuffer>);
          const why = JSON.parse(new TextDecoder().decode(body)) as { error: string; message: string };
          reject(new ServerError(why.error, why.message));
        } catch (error) {
          reject(new ServerError("ended", error instanceof Error ? error.message : String(error)));
        }
      };
      const abort = () => {
        reject(signal?.reason);
        this.next();
      };
      if (signal?.aborted === true) return abort();
      signal?.addEventListener("abort", abort, { once: true });
      this.waiting.push({ run, signal });
      this.next();
    });
  }

  private next(): void {
    this.waiting = this.waiting.filter(({ signal }) => signal?.aborted !== true);
    while (this.waiting.length > 0) {
      const trace = this.idle.pop();
      if (trace === undefined) return this.help();
      const job = this.waiting.shift() as Waiting;
      this.running.add(job);
      void job.run(trace).then(() => {
        this.running.delete(job);
        this.idle.push(trace);
        this.next();
      });
    }
  }

  /** An answer cannot be interrupted: where it is no longer wanted, a second decoder answers the next. */
  private help(): void {
    const wanted = [...this.running].some(({ signal }) => signal?.aborted !== true);
    if (this.second === null && !wanted) this.join(this.another());
  }

  protected async json<T>(route: string, p: Parameters, signal?: AbortSignal): Promise<T> {
    return JSON.parse(new TextDecoder().decode(await this.ask(route, p, signal))) as T;
  }

  protected async bytes(route: string, p: Parameters, signal: AbortSignal): Promise<ArrayBuffer> {
    return (await this.ask(route, p, signal)).buffer;
  }

  find(p: Parameters, search: Search): () => void {
    let ended = false;
    const receivers = searchEvents(search, () => (ended = true));
    let text = "";
    const receive = (part: string) => {
      text += part;
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const event = text.slice(0, end);
        text = text.slice(end + 2);
        const [, name, data] = /^event: (.*)\ndata: ([^]*)$/.exec(event) ?? [];
        if (name !== undefined && data !== undefined && !ended) receivers[name]?.(data);
      }
    };
    this.searcher ??= this.another();
    const own = this.searcher;
    own
      .then((trace) => (ended ? undefined : trace.find(queryOf(p), receive)))
      .then(() => {
        if (!ended) search.error("the search was interrupted");
      })
      .catch((error: unknown) => {
        if (!ended) search.error(error instanceof Error ? error.message : String(error));
        if (this.searcher === own) this.searcher = null;
      });
    return () => {
      if (ended) return;
      ended = true;
      // What it looks for takes long: its Worker ends.
      if (this.searcher === own) this.searcher = null;
      own.then(
        (trace) => trace.close(),
        () => {},
      );
    };
  }

  saveNotes(): Promise<void> {
    return Promise.reject(new ServerError("method", "bookmarks are not saved"));
  }
}
