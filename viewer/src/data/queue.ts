// Requests to the server: at most six are under way, as many as a browser has connections. Those that are no longer
// wanted are aborted.

/** Reported by a request that was replaced or is no longer wanted. */
export class Cancelled extends Error {
  constructor() {
    super("cancelled");
    this.name = "Cancelled";
  }
}

interface Job {
  slot: string;
  /** Least first: what is visible before what may be visible soon. */
  rank: number;
  controller: AbortController;
  run: () => Promise<void>;
  reject: (reason: unknown) => void;
}

export class Queue {
  private waiting: Job[] = [];
  private running = new Map<string, Job>();

  constructor(private readonly limit = 6) {}

  /** Requests under way and waiting. */
  get length(): number {
    return this.waiting.length + this.running.size;
  }

  /**
   * Runs `task` when there is room. An earlier request with the same `slot` is cancelled: of one
   * panel only the newest request counts.
   */
  add<T>(slot: string, rank: number, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.cancel((other) => other === slot);
    return new Promise<T>((resolve, reject) => {
      const controller = new AbortController();
      const run = async () => {
        try {
          resolve(await task(controller.signal));
        } catch (error) {
          reject(controller.signal.aborted ? new Cancelled() : error);
        }
      };
      this.waiting.push({ slot, rank, controller, run, reject });
      // After the caller has added the rest, so that ranks count.
      queueMicrotask(() => this.start());
    });
  }

  /** Cancels the requests whose slot `unwanted` accepts. */
  cancel(unwanted: (slot: string) => boolean): void {
    const wanted: Job[] = [];
    for (const job of this.waiting) {
      if (unwanted(job.slot)) job.reject(new Cancelled());
      else wanted.push(job);
    }
    this.waiting = wanted;
    for (const [slot, job] of this.running) {
      if (unwanted(slot)) {
        this.running.delete(slot);
        job.controller.abort();
      }
    }
    queueMicrotask(() => this.start());
  }

  private start(): void {
    while (this.running.size < this.limit && this.waiting.length > 0) {
      let best = 0;
      this.waiting.forEach((job, i) => {
        const first = this.waiting[best];
        if (first !== undefined && job.rank < first.rank) best = i;
      });
      const [job] = this.waiting.splice(best, 1);
      if (job === undefined) return;
      this.running.set(job.slot, job);
      void job.run().finally(() => {
        if (this.running.get(job.slot) === job) this.running.delete(job.slot);
        this.start();
      });
    }
  }
}
