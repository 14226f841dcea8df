// Movements of view and focus that keys, buttons and the pointer share.

import { signal } from "@preact/signals";
import * as state from "../model/state";
import { NONE } from "../data/layout";
import type { Part } from "../data/store";
import { ENDINGS, ENTRIES, NOT_ENDED, UNCERTAIN } from "../data/types";
import { frameAt, neighbour } from "../draw/frames";
import { ticks } from "../draw/marks";
import type { Scene } from "../draw/scene";
import { columnOf, focusOffset, offsetAt, panned, pixelOf, zoomed } from "../draw/scene";
import { count, things } from "../format";
import { visible } from "../text";

/** The last picture: what the keys refer to. */
export const scene: { current: Scene | null } = { current: null };
/** The pixel of the pointer in the timeline, where it is over it. */
export const pointer: { x: number | null } = { x: null };
/** What a screen reader reads out. */
export const announced = signal("");
export const scroll = signal(0);

export function announce(text: string): void {
  announced.value = text;
}

/** Zooms at the pointer, or else at the focus, or else in the middle. */
export function zoom(factor: number, at?: number): void {
  const picture = scene.current;
  if (picture === null) return;
  let x = at ?? pointer.x;
  if (x === null) {
    const focus = state.focus.peek();
    const focused = focus === null ? NaN : pixelOf(picture, focusOffset(picture, focus));
    const visible = focused >= picture.left && focused <= picture.width;
    x = visible ? focused : picture.left + (picture.width - picture.left) / 2;
  }
  state.show(zoomed(picture, factor, Math.max(picture.left, x)));
}

export function pan(part: number): void {
  if (scene.current !== null) state.show(panned(scene.current, part));
}

export function showAll(): void {
  state.show({ from: 0, to: state.length.peek() });
}

/** A frame as the focus: its function, and where it begins. */
export function focusFrame(found: { part: Part; index: number }, reveal = true): void {
  const { part, index } = found;
  const { frames } = part;
  const beginsHere = (frames.begin[index] as number) >= 0;
  state.focusOn(
    {
      source: part.source,
      offset: beginsHere ? (frames.begin[index] as number) : 0,
      atInstruction: Math.max(0, frames.beginInstruction[index] as number),
      thread: frames.thread[index] as number,
      depth: frames.depth[index] as number,
    },
    { reveal },
  );
  const id = frames.function[index] as number;
  if (id !== NONE) state.choose(id);
  announce(describe(found));
}

/** "place, depth 3, 1,000 instructions, 20 µs". */
export function describe({ part, index }: { part: Part; index: number }): string {
  const { frames } = part;
  const id = frames.function[index] as number;
  const instructions = (frames.endInstruction[index] as number) - (frames.beginInstruction[index] as number);
  const parts = [
    visible(state.functionName(id === NONE ? undefined : id)),
    `depth ${frames.depth[index]}`,
    things(instructions, "instruction"),
  ];
  const [begin, end] = [frames.beginTime[index] as number, frames.endTime[index] as number];
  if (end > begin && scene.current !== null) parts.push(ticks(scene.current, end - begin));
  const caller = callerOf({ part, index });
  if (caller !== null) parts.push(`called from ${visible(state.functionName(caller))}`);
  if ((frames.flags[index] as number) & UNCERTAIN) parts.push("uncertain: trace was lost in it");
  return parts.join(", ");
}

export function callerOf({ part, index }: { part: Part; index: number }): number | null {
  const { frames } = part;
  const found = frameAt(
    allParts(part.source),
    frames.thread[index] as number,
    (frames.depth[index] as number) - 1,
    "instructions",
    frames.beginInstruction[index] as number,
    0,
  );
  if (found === null) return null;
  const id = found.part.frames.function[found.index] as number;
  return id === NONE ? null : id;
}

export function howItBegan({ part, index }: { part: Part; index: number }): string {
  const { frames } = part;
  const entry = ENTRIES[frames.entry[index] as number] ?? "call";
  const code = frames.ending[index] as number;
  const ending = code === NOT_ENDED ? "not ended here" : (ENDINGS[code] ?? "return");
  return `${entry} – ${ending}`;
}

function allParts(source: number): Part[] {
  return scene.current?.sources.get(source)?.parts ?? [];
}

/** The frame that the focus marks, or the deepest one at it. */
export function focusedFrame(): { part: Part; index: number } | null {
  const focus = state.focus.peek();
  const picture = scene.current;
  if (focus === null || picture === null) return null;
  const parts = allParts(focus.source);
  const at = focus.atInstruction ?? offsetToInstruction(picture, focus);
  if (focus.depth !== undefined && focus.thread !== undefined) {
    const found = frameAt(parts, focus.thread, focus.depth, "instructions", at, 0);
    if (found !== null) return found;
  }
  let best: { part: Part; index: number } | null = null;
  let deepest = -Infinity;
  for (const part of parts) {
    const { frames } = part;
    for (let f = 0; f < frames.begin.length; f++) {
      const inside = (frames.beginInstruction[f] as number) <= at && at < (frames.endInstruction[f] as number);
      if (inside && (frames.depth[f] as number) > deepest) {
        deepest = frames.depth[f] as number;
        best = { part, index: f };
      }
    }
  }
  return best;
}

function offsetToInstruction(picture: Scene, focus: state.Focus): number {
  const source = picture.sources.get(focus.source) ?? picture.main;
  return source.correspondence.convert("u", "i", focus.offset);
}

/** The frame above or below the focus. */
export function moveDepth(direction: 1 | -1): void {
  const frame = focusedFrame();
  if (frame === null) return focusMiddle();
  const { frames } = frame.part;
  const thread = frames.thread[frame.index] as number;
  const depth = (frames.depth[frame.index] as number) + direction;
  const begin = frames.beginInstruction[frame.index] as number;
  const end = frames.endInstruction[frame.index] as number;
  const parts = allParts(frame.part.source);
  let found = frameAt(parts, thread, depth, "instructions", begin, 0);
  if (found === null && direction > 0) {
    found = neighbour(parts, thread, depth, begin - 1, 1);
    if (found !== null && (found.part.frames.beginInstruction[found.index] as number) >= end) found = null;
  }
  if (found === null) announce(direction < 0 ? "No caller is known here." : "No call here, at this zoom.");
  else focusFrame(found);
}

/** The next or previous frame in the row of the focus. */
export function moveSideways(direction: 1 | -1): void {
  const frame = focusedFrame();
  if (frame === null) return focusMiddle();
  const { frames } = frame.part;
  const begin = frames.beginInstruction[frame.index] as number;
  const parts = allParts(frame.part.source);
  const found = neighbour(parts, frames.thread[frame.index] as number, frames.depth[frame.index] as number, begin, direction);
  if (found === null) announce(`No ${direction > 0 ? "later" : "earlier"} frame in this row is loaded: zoom out.`);
  else focusFrame(found);
}

/** Without a focus: what is in the middle of the view. */
export function focusMiddle(): void {
  const picture = scene.current;
  if (picture === null) return;
  const source = [...picture.sources.values()].find((s) => s.source.instructions > 0) ?? picture.main;
  const offset = offsetAt(picture, picture.left + (picture.width - picture.left) / 2, source);
  state.focusOn({
    source: source.source.number,
    offset: Math.floor(offset),
    atInstruction: Math.floor(source.correspondence.convert("u", "i", offset)),
  });
  const frame = focusedFrame();
  if (frame !== null) focusFrame(frame, false);
}

/** Shows the frame of the focus in the whole view; again: everything. */
export function fitFocus(): void {
  const frame = focusedFrame();
  const picture = scene.current;
  if (picture === null) return;
  if (frame === null) return showAll();
  const { part, index } = frame;
  const range = frameRange(part, index);
  const old = state.view.peek();
  const margin = (range.to - range.from) * 0.02;
  const wanted = state.clamped({ from: range.from - margin, to: range.to + margin });
  const same = Math.abs(wanted.from - old.from) + Math.abs(wanted.to - old.to) < 0.01 * (old.to - old.from);
  state.show(same ? { from: 0, to: state.length.peek() } : wanted);
}

/** Offsets of a frame, with fractions. */
export function frameRange(part: Part, index: number): state.Range {
  return { from: part.begin.u[index] as number, to: part.end.u[index] as number };
}

/** The frame of the focus becomes the selection. */
export function selectFocus(): void {
  const frame = focusedFrame();
  if (frame === null) return announce("Nothing is in focus.");
  state.selection.value = frameRange(frame.part, frame.index);
  announce(`Selected ${describe(frame)}`);
}

export function zoomToSelection(): void {
  const range = state.selection.peek();
  if (range !== null) state.show(range);
}

/** The length of a range on all axes. */
export function lengthOf(range: state.Range): string {
  const picture = scene.current;
  const bytes = Math.max(0, range.to - range.from);
  const parts: string[] = [];
  if (picture !== null) {
    const { correspondence: c } = picture.main;
    const convert = (column: "i" | "t") => c.convert("u", column, range.to) - c.convert("u", column, range.from, true);
    if (picture.info.times !== undefined) parts.push(ticks(picture, Math.max(0, convert("t"))));
    if (picture.main.source.instructions > 0) {
      parts.push(things(Math.max(0, Math.round(convert("i"))), "instruction"));
    }
  }
  parts.push(bytes < 10 ? `${bytes.toFixed(bytes < 1 ? 3 : 1)} bytes` : `${count(Math.round(bytes))} bytes`);
  return parts.join(" · ");
}

/** A range as a place and a length of the axis, for people. */
export function valueAt(picture: Scene, offset: number): number {
  return picture.main.correspondence.convert("u", columnOf(picture.kind), offset);
}
