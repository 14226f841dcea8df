// Shows a trace in the page.

import { effect } from "@preact/signals";
import { render } from "preact";
import { App } from "./app";
import { observeKeys } from "./keys";
import { forget, loaded, waiting } from "./data/store";
import { follow, fragment, remember } from "./model/link";
import { followFocus } from "./model/listing";
import { readNotes } from "./model/notes";
import * as state from "./model/state";
import { followOutput } from "./timeline/output";
import { followValues, valuesInView } from "./timeline/values";
import { frameTimes } from "./timeline/view";
import { scene } from "./timeline/navigate";

const POLL_MS = 1000;

/** A trace that is being recorded grows in the page. */
function followGrowth(): void {
  if (state.capture.peek()?.growing !== true) return;
  setTimeout(() => {
    state.backend
      .capture()
      .then(async (next) => {
        const known = state.capture.peek();
        if (next.checksum === known?.checksum) {
          if (next.growing !== known.growing) state.capture.value = next;
          return;
        }
        await state.grow(next);
        forget();
      })
      .catch((error: unknown) => {
        state.problem.value = error instanceof Error ? error.message : String(error);
      })
      .finally(followGrowth);
  }, POLL_MS);
}

/** Waits until the timeline has something to draw, or asks for nothing: panels ask after it. */
function firstPicture(): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      const stop = effect(() => {
        if (loaded.value === 0 && waiting.value > 0) return;
        resolve();
        queueMicrotask(() => stop());
      });
    };
    // The timeline asks when it has been laid out.
    requestAnimationFrame(() => requestAnimationFrame(look));
  });
}

/** Shows the trace of the backend; `opened` is called when it is known. */
export async function start(root: HTMLElement, opened: () => void = () => {}): Promise<void> {
  await state.open();
  opened();
  await follow(location.hash);
  root.replaceChildren();
  render(<App />, root);
  remember();
  if (state.buffer.peek() !== null) await firstPicture();
  state.pictured.value = true;
  followFocus();
  followOutput();
  followValues();
  followGrowth();
  observeKeys();
  readNotes().catch((error: unknown) => {
    state.problem.value = error instanceof Error ? error.message : String(error);
  });
}

// What tests read: the model, not pixels.
Object.assign(window, { tracewright: { state, scene, frameTimes, fragment, values: valuesInView } });
