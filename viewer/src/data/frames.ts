// What is found in frames without a server: a part of them, stacks, calls of a function.

import type { Frames } from "./layout";
import { NONE } from "./layout";
import { BEGAN_BEFORE, ENTRIES, UNCERTAIN } from "./types";
import type { Call, Histogram, Relative, Sandwich, StackFrame } from "./types";

/** The frames that overlap a part, and have at least `min` bytes. */
export function part(frames: Frames, from: number, to: number, min: number): Frames {
  const chosen: number[] = [];
  for (let f = 0; f < frames.begin.length; f++) {
    const [begin, end] = [frames.begin[f] as number, frames.end[f] as number];
    if (end >= from && begin < to && end - begin >= min) chosen.push(f);
  }
  const f64 = (values: Float64Array) => Float64Array.from(chosen, (f) => values[f] as number);
  const u32 = (values: Uint32Array) => Uint32Array.from(chosen, (f) => values[f] as number);
  const u8 = (values: Uint8Array) => Uint8Array.from(chosen, (f) => values[f] as number);
  const flags = (f: number) =>
    (frames.flags[f] as number) | ((frames.begin[f] as number) < from ? BEGAN_BEFORE : 0);
  return {
    from,
    to,
    min: Math.max(min, frames.min),
    truncated: frames.truncated,
    begin: f64(frames.begin),
    end: f64(frames.end),
    beginInstruction: f64(frames.beginInstruction),
    endInstruction: f64(frames.endInstruction),
    beginTime: f64(frames.beginTime),
    endTime: f64(frames.endTime),
    own: f64(frames.own),
    thread: u32(frames.thread),
    function: u32(frames.function),
    depth: Int32Array.from(chosen, (f) => frames.depth[f] as number),
    entry: u8(frames.entry),
    ending: u8(frames.ending),
    flags: Uint8Array.from(chosen, flags),
  };
}

/** The frames at a moment, the outermost first. */
export function stackOf(
  frames: Frames,
  offset: number,
  instruction: number | undefined,
): { thread: number; list: Omit<StackFrame, "name">[] } {
  const isOpen = (f: number) =>
    instruction === undefined
      ? (frames.begin[f] as number) <= offset && (frames.end[f] as number) > offset
      : (frames.beginInstruction[f] as number) <= instruction && (frames.endInstruction[f] as number) > instruction;
  const open: number[] = [];
  for (let f = 0; f < frames.begin.length; f++) if (isOpen(f)) open.push(f);
  // The frames of a thread end where another one goes on; the one that began last is the one that runs.
  const last = open.reduce(
    (best, f) => (best < 0 || (frames.beginInstruction[f] as number) >= (frames.beginInstruction[best] as number) ? f : best),
    -1,
  );
  const thread = last < 0 ? 0 : (frames.thread[last] as number);
  const list = open
    .filter((f) => frames.thread[f] === thread)
    .sort((a, b) => (frames.depth[a] as number) - (frames.depth[b] as number))
    .map((f) => {
      const id = frames.function[f] as number;
      return {
        ...(id === NONE ? {} : { function: id }),
        entry: ENTRIES[frames.entry[f] as number] ?? "call",
        depth: frames.depth[f] as number,
        offset: frames.begin[f] as number,
        instruction: frames.beginInstruction[f] as number,
        ...((frames.flags[f] as number) & UNCERTAIN ? { uncertain: true } : {}),
      };
    });
  return { thread, list };
}

/** Calls, tail calls and exceptions; the ends that are returns, tail calls, and of what is unwound. */
const CALLS = new Set([0, 1, 3]);
const ENDS = new Set([0, 2, 3]);

/** The whole calls of a function. */
export function callsOf(frames: Frames, id: number, source: number, firstTime: bigint | null): Call[] {
  const calls: Call[] = [];
  const time = (ticks: number) => (firstTime === null || Number.isNaN(ticks) ? undefined : String(firstTime + BigInt(ticks)));
  for (let f = 0; f < frames.begin.length; f++) {
    const isCall = CALLS.has(frames.entry[f] as number) && ENDS.has(frames.ending[f] as number);
    if (frames.function[f] !== id || !isCall || (frames.flags[f] as number) & UNCERTAIN) continue;
    const [first, last] = [frames.beginInstruction[f] as number, frames.endInstruction[f] as number];
    const [begin, end] = [time(frames.beginTime[f] as number), time(frames.endTime[f] as number)];
    calls.push({
      begin: frames.begin[f] as number,
      end: frames.end[f] as number,
      begin_instruction: first,
      end_instruction: last,
      instructions: last - first,
      thread: frames.thread[f] as number,
      depth: frames.depth[f] as number,
      source,
      ...(begin === undefined ? {} : { begin_time: begin }),
      ...(end === undefined ? {} : { end_time: end }),
    });
  }
  return calls;
}

/** How many calls have which length: classes are powers of two. */
export function lengthsOf(calls: Call[]): Histogram {
  const classes = new Map<number, number>();
  let [least, most, sum] = [Infinity, 0, 0];
  for (const { instructions } of calls) {
    const first = instructions === 0 ? 0 : 2 ** Math.floor(Math.log2(instructions));
    classes.set(first, (classes.get(first) ?? 0) + 1);
    least = Math.min(least, instructions);
    most = Math.max(most, instructions);
    sum += instructions;
  }
  const buckets = [...classes]
    .sort(([a], [b]) => a - b)
    .map(([first, count]) => ({ least: first, most: Math.max(0, 2 * first - 1), calls: count }));
  if (calls.length === 0) return { calls: 0, buckets };
  return { calls: calls.length, buckets, least, most, mean: sum / calls.length };
}

/** Who calls a function, and whom it calls. */
export function relatives(all: Frames[], id: number): Sandwich {
  const [callers, callees] = [new Map<number, Relative>(), new Map<number, Relative>()];
  let instructions = 0;
  const add = (side: Map<number, Relative>, other: number, total: number) => {
    const own = side.get(other) ?? { function: other, calls: 0, total: 0 };
    side.set(other, { function: other, calls: own.calls + 1, total: own.total + total });
  };
  for (const frames of all) {
    const order = Array.from(frames.begin.keys());
    const of = (values: ArrayLike<number>) => (a: number, b: number) => (values[a] as number) - (values[b] as number);
    const keys = [of(frames.thread), of(frames.beginInstruction), of(frames.begin), of(frames.depth)];
    order.sort((a, b) => keys.reduce((sum, key) => sum || key(a, b), 0));
    const stack: number[] = [];
    for (const f of order) {
      const depth = frames.depth[f] as number;
      const isOver = (top: number) => frames.thread[top] !== frames.thread[f] || (frames.depth[top] as number) >= depth;
      while (stack.length > 0 && isOver(stack[stack.length - 1] as number)) stack.pop();
      const top = stack[stack.length - 1];
      const caller = top !== undefined && (frames.depth[top] as number) + 1 === depth ? top : undefined;
      const total = (frames.endInstruction[f] as number) - (frames.beginInstruction[f] as number);
      if (frames.function[f] === id) {
        instructions += frames.own[f] as number;
        if (caller !== undefined) add(callers, frames.function[caller] as number, total);
      }
      if (caller !== undefined && frames.function[caller] === id) add(callees, frames.function[f] as number, total);
      stack.push(f);
    }
  }
  const sorted = (side: Map<number, Relative>) => [...side.values()].sort((a, b) => b.total - a.total || a.function - b.function);
  return { callers: sorted(callers), callees: sorted(callees), instructions };
}
