// Starts the page over its server, or over the answers in it.

import * as state from "./model/state";
import { start } from "./start";
import { visible } from "./text";

/** Where the server accepts the cookie, the address has no token. */
async function hideToken(): Promise<void> {
  if (location.pathname === "/" || state.capture.peek()?.exported !== undefined) return;
  const response = await fetch("/api/notes");
  if (response.ok) history.replaceState(null, "", `/${location.hash}`);
}

const root = document.getElementById("app");
if (root !== null) {
  start(root, () => void hideToken().catch(() => {})).catch((error: unknown) => {
    const text = document.createElement("p");
    text.className = "starting";
    const why = error instanceof Error ? error.message : String(error);
    text.textContent = `The trace cannot be shown: ${visible(why, 600)}`;
    root.replaceChildren(text);
  });
}
