// Every command: what keys, the list of commands and the cheat sheet are made of.

import { signal } from "@preact/signals";
import * as state from "./model/state";
import type { LeftPanel, RightPanel } from "./model/state";
import type { Call, Found } from "./data/types";
import * as listing from "./model/listing";
import { chromeTrace, save } from "./model/export";
import { fragment } from "./model/link";
import { exceptionName, goToMatch, isFault, momentOf } from "./model/moments";
import { openInPerfetto } from "./model/perfetto";
import { bookmarkFocus, bookmarkSelection } from "./model/notes";
import { goToCall } from "./panels/calls";
import { goToResult } from "./panels/find";
import { goToTraceEnd, sameAddress } from "./panels/instructions";
import * as navigate from "./timeline/navigate";
import { message } from "./ui/answer";
import { visible } from "./text";

export type Dialog = "commands" | "functions" | "goto" | "keys" | null;
export const dialog = signal<Dialog>(null);

export interface Command {
  label: string;
  group: "View" | "Focus" | "Search" | "Panels" | "Marks";
  /** As `KeyboardEvent.key`, with `Shift+` and `Ctrl+` where they count. */
  keys: string[];
  /** Repeats while the key is held, with the time of each frame. */
  held?: (seconds: number) => void;
  run: () => void;
}

const left = (panel: LeftPanel, id: string) => () => {
  state.left.value = panel;
  focusLater(id);
};
const right = (panel: RightPanel, id: string) => () => {
  state.right.value = panel;
  focusLater(id);
};

let waitFor: MutationObserver | null = null;

/** Puts the keyboard focus on an element, as soon as it is there: what is typed next belongs to it. */
export function focusLater(id: string): void {
  waitFor?.disconnect();
  const attempt = () => {
    const element = document.getElementById(id);
    if (element === null) return;
    element.focus();
    // A dialog that is closing has the focus until it is gone.
    if (document.activeElement === element) waitFor?.disconnect();
  };
  waitFor = new MutationObserver(attempt);
  waitFor.observe(document.body, { childList: true, subtree: true });
  queueMicrotask(attempt);
}

// A click is where the reader is.
addEventListener("pointerdown", () => waitFor?.disconnect(), { capture: true });

function exception(direction: "next" | "previous"): void {
  goToMatch("exception", direction, "exception", navigate.announce);
}

/** The next or last fault, seen from the focus: an exception whose name is that of an error. */
async function fault(direction: "next" | "previous"): Promise<void> {
  const info = state.buffer.peek();
  if (info === null) return;
  const kinds = info.exceptions.filter((e) => isFault(exceptionName(e)));
  if (kinds.length === 0) return navigate.announce("The trace has no fault.");
  const here = state.focus.peek()?.element;
  let best: Found | null = null;
  for (const kind of kinds) {
    const found: Found | null = await firstMatch(`exception ${kind.number}`, direction, here);
    if (found === null) continue;
    const nearer =
      best === null || (direction === "next" ? found.element < best.element : found.element > best.element);
    if (nearer) best = found;
  }
  if (best === null) return navigate.announce(`There is no ${direction} fault.`);
  state.focusOn(momentOf(best));
  navigate.announce(visible(best.text));
}

function firstMatch(q: string, direction: "next" | "previous", from: number | undefined) {
  const info = state.buffer.peek();
  return new Promise<Found | null>((resolve) => {
    if (info === null) return resolve(null);
    const start = from ?? (direction === "next" ? 0 : info.elements);
    let result: Found | null = null;
    state.backend.find(
      { buffer: info.number, q, from: start, direction, limit: 1 },
      {
        progress: () => {},
        count: () => {},
        found: (found) => (result ??= found),
        end: () => resolve(result),
        error: (problem) => {
          navigate.announce(problem);
          resolve(null);
        },
      },
    );
  });
}

/** The call of the chosen function after or before the focus. */
function call(direction: 1 | -1): void {
  const info = state.buffer.peek();
  const id = state.chosen.peek();
  if (info === null || id === null) return navigate.announce("No function is chosen.");
  const focus = state.focus.peek();
  const here = focus?.atInstruction ?? -1;
  const from = direction > 0 ? Math.floor(focus?.offset ?? 0) : 0;
  const ask = (from: number, last: Call | null): Promise<Call | null> =>
    state.queue
      .add("calls/beside", 3, (signal) =>
        state.backend.calls({ buffer: info.number, function: id, order: "time", from, limit: 500 }, signal),
      )
      .then(({ calls, more, next }) => {
        if (direction > 0) {
          const found = calls.find((c) => c.begin_instruction > here);
          if (found !== undefined) return found;
        } else {
          for (const c of calls) if (c.begin_instruction < here) last = c;
          if (calls.some((c) => c.begin_instruction >= here)) return last;
        }
        return more && next !== undefined && next > from ? ask(next, last) : last;
      });
  ask(from, null).then(
    (found) => {
      if (found === null) navigate.announce(`There is no ${direction > 0 ? "later" : "earlier"} call of ${visible(state.functionName(id))}.`);
      else goToCall(found);
    },
    (error: unknown) => navigate.announce(message(error)),
  );
}

export async function copyLink(): Promise<void> {
  const link = new URL(fragment(), location.href).href;
  try {
    await navigator.clipboard.writeText(link);
    navigate.announce("The link to this moment was copied.");
  } catch {
    history.replaceState(null, "", fragment());
    navigate.announce("The link to this moment is in the address of the page.");
  }
}

/** The command that opens gdb at the focus. */
export async function copyForDebugger(): Promise<void> {
  const at = state.focus.value;
  const info = state.capture.value;
  if (at?.instruction === undefined || info === null) return navigate.announce("No instruction is in focus.");
  const source = state.buffer.value?.sources.find((own) => own.number === at.source);
  const words = ["tracewright", "gdb", info.name === "" ? "CAPTURE" : info.name, "--at", `instruction ${at.instruction}`];
  if (info.buffers.length > 1 && source !== undefined) words.push("--source", source.name);
  const command = words.map(quoted).join(" ");
  try {
    await navigator.clipboard.writeText(command);
    navigate.announce(`Copied: ${visible(command)}. In an open debugger: tw-goto instruction ${at.instruction}`);
  } catch {
    navigate.announce(`In a terminal: ${visible(command)}. In an open debugger: tw-goto instruction ${at.instruction}`);
  }
}

/** A word of a command line. */
function quoted(word: string): string {
  return /^[\w./:=+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

const ZOOM = 1.35;

export const COMMANDS: readonly Command[] = [
  { label: "Zoom in", group: "View", keys: ["w", "W", "+", "="], held: (s) => navigate.zoom(Math.exp(-3 * s)), run: () => navigate.zoom(1 / ZOOM) },
  { label: "Zoom out", group: "View", keys: ["s", "-"], held: (s) => navigate.zoom(Math.exp(3 * s)), run: () => navigate.zoom(ZOOM) },
  { label: "Earlier", group: "View", keys: ["a", "Shift+ArrowLeft"], held: (s) => navigate.pan(-1.2 * s), run: () => navigate.pan(-0.15) },
  { label: "Later", group: "View", keys: ["d", "Shift+ArrowRight"], held: (s) => navigate.pan(1.2 * s), run: () => navigate.pan(0.15) },
  { label: "Show the whole trace", group: "View", keys: ["0"], run: navigate.showAll },
  { label: "Fit the frame in focus; again: the whole trace", group: "View", keys: ["f"], run: navigate.fitFocus },
  { label: "Zoom to the selection", group: "View", keys: ["z"], run: navigate.zoomToSelection },
  { label: "Next axis: time, instructions, bytes", group: "View", keys: ["t"], run: nextAxis },
  { label: "Compress idle time", group: "View", keys: ["c"], run: () => (state.compress.value = !state.compress.peek()) },
  { label: "Scroll rows up", group: "View", keys: ["Shift+ArrowUp"], run: () => (navigate.scroll.value = Math.max(0, navigate.scroll.peek() - 57)) },
  { label: "Scroll rows down", group: "View", keys: ["Shift+ArrowDown"], run: () => (navigate.scroll.value += 57) },

  { label: "Caller of the frame in focus", group: "Focus", keys: ["ArrowUp"], run: () => navigate.moveDepth(-1) },
  { label: "First call of the frame in focus", group: "Focus", keys: ["ArrowDown"], run: () => navigate.moveDepth(1) },
  { label: "Previous frame in the row", group: "Focus", keys: ["ArrowLeft", ","], run: () => navigate.moveSideways(-1) },
  { label: "Next frame in the row", group: "Focus", keys: ["ArrowRight", "."], run: () => navigate.moveSideways(1) },
  { label: "Previous instruction", group: "Focus", keys: ["k"], run: () => stepInstruction(-1) },
  { label: "Next instruction", group: "Focus", keys: ["j"], run: () => stepInstruction(1) },
  { label: "First instruction of the trace", group: "Focus", keys: ["Home"], run: () => goToTraceEnd(-1) },
  { label: "Last instruction of the trace", group: "Focus", keys: ["End"], run: () => goToTraceEnd(1) },
  { label: "Previous call of the chosen function", group: "Focus", keys: ["["], run: () => call(-1) },
  { label: "Next call of the chosen function", group: "Focus", keys: ["]"], run: () => call(1) },
  { label: "Previous execution of the instruction", group: "Focus", keys: ["{"], run: () => sameAddress("previous") },
  { label: "Next execution of the instruction", group: "Focus", keys: ["}"], run: () => sameAddress("next") },
  { label: "Next exception", group: "Focus", keys: ["e"], run: () => exception("next") },
  { label: "Previous exception", group: "Focus", keys: ["Shift+E"], run: () => exception("previous") },
  { label: "Next fault", group: "Focus", keys: ["x"], run: () => void fault("next") },
  { label: "Previous fault; without a focus the last", group: "Focus", keys: ["Shift+X"], run: () => void fault("previous") },

  { label: "Query", group: "Search", keys: ["/"], run: left("find", "query") },
  { label: "Next result", group: "Search", keys: ["n"], run: () => goToResult(1) },
  { label: "Previous result", group: "Search", keys: ["p"], run: () => goToResult(-1) },
  { label: "Go to a time, #instruction, @byte, 0xaddress", group: "Search", keys: ["g"], run: () => (dialog.value = "goto") },
  { label: "Function by name", group: "Search", keys: ["Ctrl+p"], run: () => (dialog.value = "functions") },
  { label: "Commands", group: "Search", keys: ["Ctrl+k", ">"], run: () => (dialog.value = "commands") },
  { label: "Keys", group: "Search", keys: ["?"], run: () => (dialog.value = "keys") },

  { label: "Functions", group: "Panels", keys: ["1"], run: left("functions", "functions") },
  { label: "Calls of the chosen function", group: "Panels", keys: ["2"], run: left("calls", "calls") },
  { label: "Call tree", group: "Panels", keys: ["3"], run: left("tree", "tree") },
  { label: "Exceptions", group: "Panels", keys: ["4"], run: left("exceptions", "exceptions") },
  { label: "Output", group: "Panels", keys: ["5"], run: left("output", "output") },
  { label: "Query", group: "Panels", keys: ["6"], run: left("find", "query") },
  { label: "Bookmarks", group: "Panels", keys: ["7"], run: left("bookmarks", "tab-left-bookmarks") },
  { label: "Instructions", group: "Panels", keys: ["8"], run: right("instructions", "instructions") },
  { label: "Source", group: "Panels", keys: ["9"], run: right("source", "source") },
  { label: "Timeline", group: "Panels", keys: ["Escape"], run: () => document.getElementById("timeline")?.focus() },

  { label: "Select the frame in focus", group: "Marks", keys: ["v"], run: navigate.selectFocus },
  { label: "Clear the selection", group: "Marks", keys: ["Shift+V"], run: () => (state.selection.value = null) },
  { label: "Bookmark at the focus", group: "Marks", keys: ["b"], run: () => mark(bookmarkFocus(), "Nothing is in focus.") },
  { label: "Bookmark of the selection", group: "Marks", keys: ["m"], run: () => mark(bookmarkSelection(), "Nothing is selected.") },
  { label: "Save the view for Perfetto, as JSON of Chrome", group: "Marks", keys: ["Shift+P"], run: saveView },
  { label: "Open the view in Perfetto", group: "Marks", keys: ["Shift+O"], run: () => void openView() },
  { label: "Copy a link to this moment", group: "Marks", keys: ["y"], run: () => void copyLink() },
  { label: "Copy the command that opens gdb at this instruction", group: "Marks", keys: ["Shift+Y"], run: () => void copyForDebugger() },
];

function saveView(): void {
  const picture = navigate.scene.current;
  if (picture === null) return;
  const { text, calls } = chromeTrace(picture);
  if (calls === 0) return navigate.announce("The view has no calls to save.");
  save("trace.json", text);
  navigate.announce(`${calls.toLocaleString("en")} calls were saved; Perfetto opens the file.`);
}

/** The address of Perfetto is opened here, and nowhere else: what it gets is what the reader sees. */
export async function openView(): Promise<void> {
  const picture = navigate.scene.current;
  if (picture === null) return;
  const { text, calls } = chromeTrace(picture);
  if (calls === 0) return navigate.announce("The view has no calls to show.");
  navigate.announce("Opening Perfetto…");
  const how = await openInPerfetto(document.title, text);
  const number = calls.toLocaleString("en");
  navigate.announce(
    how === "opened"
      ? `Perfetto shows ${number} calls.`
      : `Perfetto could not be opened: ${number} calls were saved as a file, which it opens.`,
  );
}

function mark(done: boolean, problem: string): void {
  if (done) state.left.value = "bookmarks";
  else navigate.announce(problem);
}

function stepInstruction(count: 1 | -1): void {
  const row = listing.step(count);
  if (row === null) navigate.focusMiddle();
  else {
    state.reveal(row.offset);
    navigate.announce(`${row.address ?? ""} ${visible(row.text ?? "")}`);
  }
}

function nextAxis(): void {
  const kinds: state.AxisKind[] = [];
  if (state.buffer.peek()?.times !== undefined) kinds.push("time");
  if (state.codeSources.peek().length > 0) kinds.push("instructions");
  kinds.push("bytes");
  const next = kinds[(kinds.indexOf(state.axis.peek()) + 1) % kinds.length];
  if (next !== undefined) {
    state.axis.value = next;
    navigate.announce(`Axis: ${next}`);
  }
}
