// Passes a trace to Perfetto, which runs in a window of its own and loads nothing from here: it gets
// the bytes in a message. This happens only where the reader asks for it. Where Perfetto cannot be
// opened, the trace is saved as a file.
//
// https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui

import { save } from "./export";

const ORIGIN = "https://ui.perfetto.dev";
const PING_MS = 100;
const PATIENCE_MS = 30_000;

/** Resolves to how the trace was passed on. */
export async function openInPerfetto(title: string, text: string): Promise<"opened" | "saved"> {
  if ((await pass(title, text)) === "opened") return "opened";
  save("trace.json", text);
  return "saved";
}

function pass(title: string, text: string): Promise<"opened" | "failed"> {
  const other = navigator.onLine ? window.open(ORIGIN) : null;
  if (other === null) return Promise.resolve("failed");
  return new Promise((resolve) => {
    const done = (how: "opened" | "failed") => {
      clearInterval(asking);
      clearTimeout(waiting);
      removeEventListener("message", receive);
      resolve(how);
    };
    const receive = (event: MessageEvent) => {
      // Only the window that was opened, and only while it is Perfetto.
      if (event.source !== other || event.origin !== ORIGIN || event.data !== "PONG") return;
      const { buffer } = new TextEncoder().encode(text);
      other.postMessage({ perfetto: { buffer, title, fileName: "trace.json" } }, ORIGIN, [buffer]);
      done("opened");
    };
    addEventListener("message", receive);
    // Without content it may be read by whatever is in the window until Perfetto is.
    const asking = setInterval(() => (other.closed ? done("failed") : other.postMessage("PING", "*")), PING_MS);
    const waiting = setTimeout(() => done("failed"), PATIENCE_MS);
  });
}
