// The lines of output in the view, for the timeline.

import { effect, signal } from "@preact/signals";
import { Cancelled } from "../data/queue";
import type { OutputInView } from "../draw/marks";
import { backend, buffer, queue, view } from "../model/state";

const MOST = 300;
const DELAY_MS = 120;

export const outputInView = signal<OutputInView>({ lines: [], complete: false });

/** Loads them when the view has been still for a moment. */
export function followOutput(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const info = buffer.value;
    const { from, to } = view.value;
    clearTimeout(timer);
    if (info === null || info.channels.length === 0) return;
    const p = { buffer: info.number, from: Math.floor(from), limit: MOST };
    timer = setTimeout(() => {
      queue
        .add("timeline/output", 5, (signal) => backend.output(p, signal))
        .then(
          ({ lines, more }) => {
            const last = lines[lines.length - 1]?.offset ?? 0;
            outputInView.value = { lines, complete: !more || last > to };
          },
          (error: unknown) => {
            if (!(error instanceof Cancelled)) outputInView.value = { lines: [], complete: false };
          },
        );
    }, DELAY_MS);
  });
}
