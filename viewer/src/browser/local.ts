// The answers of a decoder in a Worker, beside the page: nothing is sent.

import type { Trace } from "../../../crates/wasm/package/index.js";
import { Routes, ServerError, queryOf, searchEvents } from "../data/backend";
import type { Parameters, Search } from "../data/backend";

interface Waiting {
  run: () => Promise<void>;
  signal: AbortSignal | undefined;
}

/** A decoder that answers, and one for searches, which ends where a search is stopped. */
export class Local extends Routes {
  private readonly waiting: Waiting[] = [];
  private busy = false;
  private searcher: Promise<Trace> | null = null;

  constructor(
    private readonly trace: Trace,
    private readonly another: () => Promise<Trace>,
  ) {
    super();
  }

  /** The Worker answers one request after another; those that are no longer wanted it does not get. */
  private ask(route: string, p: Parameters, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    return new Promise((resolve, reject) => {
      const run = async () => {
        try {
          const { status, body } = await this.trace.view(route, queryOf(p));
          if (status === 200) return resolve(body as Uint8Array<ArrayBuffer>);
          const why = JSON.parse(new TextDecoder().decode(body)) as { error: string; message: string };
          reject(new ServerError(why.error, why.message));
        } catch (error) {
          reject(new ServerError("ended", error instanceof Error ? error.message : String(error)));
        }
      };
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      this.waiting.push({ run, signal });
      void this.next();
    });
  }

  private async next(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    for (let job = this.waiting.shift(); job !== undefined; job = this.waiting.shift()) {
      if (job.signal?.aborted !== true) await job.run();
    }
    this.busy = false;
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
