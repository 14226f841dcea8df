// The lines of output in the view, for the timeline.

import { effect, signal } from "@preact/signals";
import { Cancelled } from "../data/queue";
import type { OutputLine } from "../data/types";
import { backend, buffer, queue, view } from "../model/state";

const MOST = 300;
const DELAY_MS = 120;

export const outputInView = signal<readonly OutputLine[]>([]);

/** Loads them when the view has been still for a moment. */
export function followOutput(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const info = buffer.value;
    const { from } = view.value;
    clearTimeout(timer);
    if (info === null || info.channels.length === 0) return;
    const p = { buffer: info.number, from: Math.floor(from), limit: MOST };
    timer = setTimeout(() => {
      queue
        .add("timeline/output", 5, (signal) => backend.output(p, signal))
        .then(
          ({ lines }) => (outputInView.value = lines),
          (error: unknown) => {
            if (!(error instanceof Cancelled)) outputInView.value = [];
          },
        );
    }, DELAY_MS);
  });
}
