// The state in the fragment of the address: a link to a moment.
//
//     #c=CHECKSUM&b=BUFFER&v=FROM..TO&s=FROM..TO&f=OFFSET.ELEMENT.INSTRUCTION.SOURCE&a=AXIS&p=LEFT.RIGHT&n=FUNCTION
//
// Offsets, elements and instructions are properties of the trace, not of its index: a link holds
// after the index was made again, and on another machine with the same trace.

import { batch, effect } from "@preact/signals";
import * as state from "./state";
import type { AxisKind, Focus, LeftPanel, Range, RightPanel } from "./state";

const LEFT: readonly LeftPanel[] = [
  "about",
  "flame",
  "threads",
  "functions",
  "calls",
  "tree",
  "exceptions",
  "output",
  "find",
  "bookmarks",
];
const RIGHT: readonly RightPanel[] = ["instructions", "source"];
const AXES: readonly AxisKind[] = ["time", "instructions", "bytes"];

function number(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d+(\.\d+)?$/.test(text)) return undefined;
  const value = Number(text);
  return value <= Number.MAX_SAFE_INTEGER ? value : undefined;
}

function range(text: string | null): Range | null {
  const [from, to, rest] = (text ?? "").split("..").map(number);
  if (from === undefined || to === undefined || rest !== undefined || to < from) return null;
  return { from, to };
}

/** Fractions of bytes with three digits. */
function digits(value: number): string {
  return Number(value.toFixed(3)).toString();
}

function written(range: Range): string {
  return `${digits(range.from)}..${digits(range.to)}`;
}

function focusOf(text: string | null): Focus | null {
  if (text === null) return null;
  const [offset, element, instruction, source] = text.split(".").map(number);
  if (offset === undefined) return null;
  const focus: Focus = { source: source ?? state.mainSource.peek(), offset };
  if (element !== undefined) focus.element = element;
  if (instruction !== undefined) focus.instruction = instruction;
  return focus;
}

/** The fragment of the present state. */
export function fragment(): string {
  const capture = state.capture.value;
  if (capture === null) return "";
  const parts = [`c=${encodeURIComponent(capture.checksum)}`];
  if (state.buffer.value !== null && state.buffer.value !== capture.buffers[0]) {
    parts.push(`b=${state.buffer.value.number}`);
  }
  const view = state.view.value;
  if (view.from > 0 || view.to < state.length.value) parts.push(`v=${written(view)}`);
  const selection = state.selection.value;
  if (selection !== null) parts.push(`s=${written(selection)}`);
  const focus = state.focus.value;
  if (focus !== null) {
    const at = [Math.floor(focus.offset), focus.element ?? "", focus.instruction ?? ""];
    parts.push(`f=${[...at, focus.source].join(".")}`);
  }
  parts.push(`a=${state.axis.value}`, `p=${state.left.value}.${state.right.value}`);
  if (state.chosen.value !== null) parts.push(`n=${state.chosen.value}`);
  return `#${parts.join("&")}`;
}

/** Takes the state over from a fragment. What it does not have, or has wrongly, stays as it is. */
export async function follow(text: string): Promise<void> {
  const fields = new URLSearchParams(text.replace(/^#/, ""));
  const capture = state.capture.value;
  if (capture === null || [...fields].length === 0) return;
  const checksum = fields.get("c");
  if (checksum !== null && checksum !== capture.checksum) {
    state.notice.value =
      "This link was made for another trace, program or set of options. Its places are not shown.";
    return;
  }
  const buffer = number(fields.get("b") ?? undefined);
  if (buffer !== undefined && buffer !== state.bufferNumber.value) {
    if (capture.buffers.some((b) => b.number === buffer)) await state.openBuffer(buffer);
  }
  batch(() => {
    const view = range(fields.get("v"));
    if (view !== null) state.show(view);
    const selection = range(fields.get("s"));
    if (selection !== null || fields.has("c")) state.selection.value = selection;
    const focus = focusOf(fields.get("f"));
    if (focus !== null && focus.offset <= state.length.value) {
      state.focusOn(focus, { reveal: view === null });
    }
    const axis = AXES.find((axis) => axis === fields.get("a"));
    if (axis !== undefined) state.axis.value = axis;
    const [left, right] = (fields.get("p") ?? "").split(".");
    state.left.value = LEFT.find((panel) => panel === left) ?? state.left.value;
    state.right.value = RIGHT.find((panel) => panel === right) ?? state.right.value;
    const chosen = number(fields.get("n") ?? undefined);
    if (chosen !== undefined) state.chosen.value = chosen;
  });
}

const DELAY_MS = 250;

/** Writes the state into the address, a short time after it has changed. */
export function remember(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const text = fragment();
    clearTimeout(timer);
    timer = setTimeout(() => {
      // A page that is a part of another one has no address.
      if (location.hash !== text && location.protocol !== "about:") history.replaceState(null, "", text);
    }, DELAY_MS);
  });
  addEventListener("hashchange", () => void follow(location.hash));
}
