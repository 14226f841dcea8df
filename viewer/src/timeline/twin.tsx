// The frames around the focus as a table, for screen readers: callers, the frames beside it, calls.

import { effect, signal } from "@preact/signals";
import * as state from "../model/state";
import { loaded } from "../data/store";
import { NONE } from "../data/layout";
import type { Part } from "../data/store";
import { frameAt, neighbour } from "../draw/frames";
import { count } from "../format";
import { visible } from "../text";
import { summaries } from "./values";
import { callerOf, describe, focusedFrame, focusFrame, scene } from "./navigate";

interface Found {
  part: Part;
  index: number;
}

const MOST = 50;

function around(): { callers: Found[]; row: Found[]; calls: Found[]; frame: Found } | null {
  const frame = focusedFrame();
  if (frame === null) return null;
  const { frames } = frame.part;
  const parts = scene.current?.sources.get(frame.part.source)?.parts ?? [];
  const thread = frames.thread[frame.index] as number;
  const depth = frames.depth[frame.index] as number;
  const begin = frames.beginInstruction[frame.index] as number;
  const end = frames.endInstruction[frame.index] as number;
  const callers: Found[] = [];
  for (let d = depth - 1; callers.length < 16; d--) {
    const found = frameAt(parts, thread, d, "instructions", begin, 0);
    if (found === null) break;
    callers.unshift(found);
  }
  const row: Found[] = [frame];
  for (const direction of [-1, 1] as const) {
    let at = begin;
    for (let k = 0; k < 4; k++) {
      const found = neighbour(parts, thread, depth, at, direction);
      if (found === null) break;
      at = found.part.frames.beginInstruction[found.index] as number;
      if (direction > 0) row.push(found);
      else row.unshift(found);
    }
  }
  const calls: Found[] = [];
  let at = begin - 1;
  while (callers.length + row.length + calls.length < MOST) {
    const found = neighbour(parts, thread, depth + 1, at, 1);
    if (found === null) break;
    at = found.part.frames.beginInstruction[found.index] as number;
    if (at >= end) break;
    calls.push(found);
  }
  return { callers, row, calls, frame };
}

const DELAY_MS = 200;
const changes = signal(0);

/** The table follows when focus and view have been still for a moment. */
let timer: ReturnType<typeof setTimeout> | undefined;
effect(() => {
  void loaded.value;
  void state.focus.value;
  void state.view.value;
  clearTimeout(timer);
  timer = setTimeout(() => (changes.value += 1), DELAY_MS);
});

export function Twin() {
  void changes.value;
  const shown = around();
  const info = state.buffer.value;
  const values = info === null ? [] : summaries(info);
  const rows = shown === null ? [] : [...shown.callers, ...shown.row, ...shown.calls];
  return (
    <div class="hidden">
      <div role="treegrid" aria-label="Frames around the focus" aria-rowcount={rows.length + 1}>
        <div role="row">
          <span role="columnheader">function</span>
          <span role="columnheader">instructions</span>
          <span role="columnheader">caller</span>
        </div>
        {rows.map((found) => {
          const { frames } = found.part;
          const id = frames.function[found.index] as number;
          const caller = callerOf(found);
          const instructions =
            (frames.endInstruction[found.index] as number) - (frames.beginInstruction[found.index] as number);
          return (
            <div
              key={`${found.part.key}/${found.index}`}
              role="row"
              aria-level={Math.max(1, 1 + (frames.depth[found.index] as number))}
              aria-selected={found.index === shown?.frame.index && found.part === shown.frame.part}
            >
              <span role="gridcell">
                <button type="button" tabIndex={-1} title={describe(found)} onClick={() => focusFrame(found)}>
                  {visible(state.functionName(id === NONE ? undefined : id))}
                </button>
              </span>
              <span role="gridcell">{count(instructions)}</span>
              <span role="gridcell">{caller === null ? "unknown" : visible(state.functionName(caller))}</span>
            </div>
          );
        })}
      </div>
      {values.length > 0 && (
        <table aria-label="Values in the view">
          <thead>
            <tr>
              <th scope="col">series</th>
              <th scope="col">source</th>
              <th scope="col">values</th>
            </tr>
          </thead>
          <tbody>
            {values.map(({ name, source, text }) => (
              <tr key={`${source}/${name}`}>
                <td>{visible(name)}</td>
                <td>{visible(source)}</td>
                <td>{text}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}
