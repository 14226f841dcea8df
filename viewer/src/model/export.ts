// The view as a file in the format of Chrome, which Perfetto and other viewers open.

import { NONE } from "../data/layout";
import { EXCEPTION, UNCERTAIN } from "../data/types";
import type { Scene } from "../draw/scene";
import { duration } from "../draw/projection";
import { functionName, threadName } from "./state";

interface Event {
  ph: string;
  pid: number;
  tid: number;
  name: string;
  ts?: number;
  dur?: number;
  args: Record<string, string | number | boolean>;
}

/**
 * The calls that overlap the view. Times are microseconds where the frequency is known, else ticks,
 * or instructions where the trace has no times: `unit` has which.
 */
export function chromeTrace(scene: Scene): { text: string; calls: number } {
  const { info, view } = scene;
  const timed = info.times !== undefined && duration(info) > 0;
  const scale = timed && info.frequency !== undefined ? 1e6 / info.frequency : 1;
  const unit = !timed ? "instructions" : info.frequency === undefined ? "ticks" : "microseconds";
  const events: Event[] = [];
  let calls = 0;
  for (const { source, parts, exact } of scene.sources.values()) {
    if (source.instructions === 0) continue;
    events.push({ ph: "M", pid: source.number, tid: 0, name: "process_name", args: { name: source.name } });
    for (const thread of info.threads.filter((thread) => thread.source === source.number)) {
      const args = { name: threadName(thread) };
      events.push({ ph: "M", pid: source.number, tid: thread.number, name: "thread_name", args });
    }
    // A frame that is in two parts is written once.
    const written = new Set<string>();
    for (const part of parts) {
      const { frames } = part;
      for (let f = 0; f < frames.begin.length; f++) {
        if ((frames.begin[f] as number) > view.to || (frames.end[f] as number) < view.from) continue;
        const [a, b] = [frames.beginInstruction[f] as number, frames.endInstruction[f] as number];
        const key = `${frames.thread[f]}/${frames.depth[f]}/${a}`;
        if (written.has(key)) continue;
        written.add(key);
        const begin = timed ? (part.begin.t[f] as number) : a;
        const end = timed ? (part.end.t[f] as number) : b;
        if (Number.isNaN(begin) || Number.isNaN(end)) continue;
        const id = frames.function[f] as number;
        const flags = frames.flags[f] as number;
        calls += 1;
        events.push({
          ph: "X",
          pid: source.number,
          tid: frames.thread[f] as number,
          name: functionName(id === NONE ? undefined : id),
          ts: begin * scale,
          dur: Math.max(0, end - begin) * scale,
          args: {
            instructions: b - a,
            offset: frames.begin[f] as number,
            ...(flags & EXCEPTION ? { exception: true } : {}),
            ...(flags & UNCERTAIN ? { uncertain: true } : {}),
            ...(exact ? {} : { long_calls_only: true }),
          },
        });
      }
    }
  }
  const otherData = { unit, from: Math.floor(view.from), to: Math.ceil(view.to) };
  return { text: JSON.stringify({ traceEvents: events, otherData }), calls };
}

/** Offers a text as a file. */
export function save(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
