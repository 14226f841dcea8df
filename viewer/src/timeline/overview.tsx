// The whole trace in one strip: density of instructions, exceptions, output, lost trace, and where
// the view is.

import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import * as state from "../model/state";
import * as store from "../data/store";
import { KIND } from "../data/layout";
import { theme } from "../draw/palette";
import { hatch, prepare } from "../draw/surface";
import { bytes, count } from "../format";
import { announce } from "./navigate";

const PAD = 12;

/** Counts by pixel. */
interface Columns {
  instructions: Float64Array;
  exceptions: Float64Array;
  gaps: Float64Array;
  writes: Float64Array;
}

function columns(width: number): Columns {
  const make = () => new Float64Array(width);
  const result = { instructions: make(), exceptions: make(), gaps: make(), writes: make() };
  const info = state.buffer.value;
  void store.loaded.value;
  if (info === null) return result;
  const whole = { from: 0, to: info.bytes };
  const level = store.wholeLevel(info);
  const column = (offset: number) => Math.min(width - 1, Math.max(0, Math.floor((offset / info.bytes) * width)));
  for (const source of info.sources) {
    // A trace of less than a tile for each pixel is drawn from its details.
    const { parts, exact } = store.partsFor(info, source.number, whole);
    const details = exact ? parts.filter((part) => part.detail !== null) : [];
    const spread = (from: number, to: number, n: number, into: Float64Array) => {
      const [a, b] = [column(from), column(Math.max(from, to - 1e-6))];
      for (let x = a; x <= b; x++) into[x] = (into[x] as number) + n / (b - a + 1);
    };
    for (const { relation, detail } of details) {
      for (let k = 1; k < relation.size; k++) {
        const n = (relation.i[k] as number) - (relation.i[k - 1] as number);
        spread(relation.u[k - 1] as number, relation.u[k] as number, n, result.instructions);
      }
      if (detail === null) continue;
      for (let e = 0; e < detail.eventAt.length; e++) {
        const x = column(detail.eventAt[e] as number);
        const kind = detail.eventKind[e];
        if (kind === KIND.exception) result.exceptions[x] = (result.exceptions[x] as number) + 1;
        if (kind === KIND.gap) result.gaps[x] = (result.gaps[x] as number) + 1;
        if (kind === KIND.write) result.writes[x] = (result.writes[x] as number) + 1;
      }
    }
    if (details.length > 0 || !info.view) continue;
    for (const { tiles } of store.tilesFor(info, source.number, level, whole)) {
      for (let t = 0; t < tiles.tile.length; t++) {
        const from = (tiles.tile[t] as number) * tiles.size;
        const to = Math.min(info.bytes, from + tiles.size);
        spread(from, to, tiles.instructions[t] as number, result.instructions);
        // One mark in the middle of a tile: where in it is not known.
        const middle = column((from + to) / 2);
        result.exceptions[middle] = (result.exceptions[middle] as number) + (tiles.exceptions[t] as number);
        result.writes[middle] = (result.writes[middle] as number) + (tiles.writes[t] as number);
        spread(from, to, tiles.gaps[t] as number, result.gaps);
      }
    }
  }
  return result;
}

function draw(canvas: HTMLCanvasElement): void {
  const surface = prepare(canvas);
  const info = state.buffer.value;
  if (surface === null || info === null) return;
  const { context, height } = surface;
  const colours = theme.value;
  const width = Math.max(1, Math.floor(surface.width - 2 * PAD));
  const c = columns(width);
  const bottom = height - 9;
  const top = 9;
  const most = c.instructions.reduce((most, n) => Math.max(most, n), 0);
  context.fillStyle = colours.forced ? colours.density : colours.densitySoft;
  for (let x = 0; x < width; x++) {
    const n = c.instructions[x] as number;
    if (n === 0 || most === 0) continue;
    const h = Math.max(1, (bottom - top) * Math.sqrt(n / most));
    context.fillRect(PAD + x, bottom - h, 1, h);
  }
  context.fillStyle = hatch(context, colours);
  for (let x = 0; x < width; x++) {
    if ((c.gaps[x] as number) > 0) context.fillRect(PAD + x - 1, top, 3, bottom - top);
  }
  context.fillStyle = colours.bad;
  for (let x = 0; x < width; x++) if ((c.exceptions[x] as number) > 0) context.fillRect(PAD + x, 2, 1.5, 5);
  context.fillStyle = colours.output;
  for (let x = 0; x < width; x++) if ((c.writes[x] as number) > 0) context.fillRect(PAD + x, height - 6, 1.5, 4);
  context.fillStyle = colours.line;
  context.fillRect(PAD, bottom, width, 1);
}

function drawTop(canvas: HTMLCanvasElement): void {
  const surface = prepare(canvas);
  if (surface === null) return;
  const { context, height } = surface;
  const colours = theme.value;
  const width = surface.width - 2 * PAD;
  const x = (offset: number) => PAD + (offset / state.length.value) * width;
  const { from, to } = state.view.value;
  const [x0, x1] = [x(from), Math.max(x(from) + 3, x(to))];
  context.fillStyle = colours.ground;
  context.globalAlpha = 0.68;
  context.fillRect(0, 0, x0, height);
  context.fillRect(x1, 0, surface.width - x1, height);
  context.globalAlpha = 1;
  context.strokeStyle = colours.accent;
  context.lineWidth = 2;
  context.strokeRect(x0, 1, x1 - x0, height - 2);
  context.fillStyle = colours.accent;
  context.fillRect(x0 - 2, height / 2 - 7, 4, 14);
  context.fillRect(x1 - 2, height / 2 - 7, 4, 14);
  const range = state.selection.value;
  if (range !== null) {
    context.fillRect(x(range.from), 0, Math.max(2, x(range.to) - x(range.from)), 4);
  }
  const focus = state.focus.value;
  if (focus !== null) {
    context.fillStyle = colours.focus;
    context.fillRect(x(focus.offset) - 1, 0, 2, height);
  }
}

export function Overview() {
  const base = useRef<HTMLCanvasElement>(null);
  const top = useRef<HTMLCanvasElement>(null);
  const drag = useRef<{ edge: "from" | "to" | "both"; at: number; view: state.Range } | null>(null);

  useEffect(() => {
    const [canvas, layer] = [base.current, top.current];
    if (canvas === null || layer === null) return;
    let stops: (() => void)[] = [];
    let frame = 0;
    // One picture for each change of what it shows, at most one for each frame of the screen.
    const observe = (paint: () => void) => {
      let pending = false;
      let stop = () => {};
      const run = () => {
        pending = false;
        stop();
        let first = true;
        stop = effect(() => {
          if (first) {
            first = false;
            paint();
          } else if (!pending) {
            pending = true;
            frame = requestAnimationFrame(run);
          }
        });
      };
      run();
      return { run, stop: () => stop() };
    };
    const start = () => {
      const one = observe(() => draw(canvas));
      const two = observe(() => drawTop(layer));
      stops = [one.stop, two.stop];
    };
    start();
    const observer = new ResizeObserver(() => {
      stops.forEach((stop) => stop());
      start();
    });
    observer.observe(canvas);
    return () => {
      cancelAnimationFrame(frame);
      stops.forEach((stop) => stop());
      observer.disconnect();
    };
  }, []);

  const offsetOf = (event: PointerEvent) => {
    const rect = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const part = (event.clientX - rect.left - PAD) / Math.max(1, rect.width - 2 * PAD);
    return { offset: Math.min(1, Math.max(0, part)) * state.length.peek(), perPixel: state.length.peek() / rect.width };
  };
  const down = (event: PointerEvent) => {
    const { offset, perPixel } = offsetOf(event);
    const view = state.view.peek();
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    const near = (edge: number) => Math.abs(offset - edge) < 6 * perPixel;
    const isWhole = view.to - view.from >= state.length.peek();
    let edge: "from" | "to" | "both" = "both";
    if (near(view.from)) edge = "from";
    else if (near(view.to)) edge = "to";
    else if (!isWhole && (offset < view.from || offset > view.to)) {
      const half = (view.to - view.from) / 2;
      state.show({ from: offset - half, to: offset + half });
    }
    drag.current = { edge, at: offset, view: state.view.peek() };
  };
  const move = (event: PointerEvent) => {
    const start = drag.current;
    if (start === null) return;
    const by = offsetOf(event).offset - start.at;
    const { from, to } = start.view;
    if (start.edge === "both") state.show({ from: from + by, to: to + by });
    else if (start.edge === "from") state.show({ from: Math.min(from + by, to - 1e-3), to });
    else state.show({ from, to: Math.max(to + by, from + 1e-3) });
  };
  const keys = (event: KeyboardEvent) => {
    const { from, to } = state.view.peek();
    const size = to - from;
    const step = event.shiftKey ? size : size / 4;
    if (event.key === "ArrowLeft") state.show({ from: from - step, to: to - step });
    else if (event.key === "ArrowRight") state.show({ from: from + step, to: to + step });
    else if (event.key === "Home") state.show({ from: 0, to: size });
    else if (event.key === "End") state.show({ from: state.length.peek() - size, to: state.length.peek() });
    else return;
    event.preventDefault();
    event.stopPropagation();
    announce(viewText());
  };
  const { from, to } = state.view.value;
  const scrollable = Math.max(1, state.length.value - (to - from));
  return (
    <div
      class="overview"
      role="slider"
      tabIndex={0}
      aria-label="View in the whole trace"
      aria-orientation="horizontal"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round((100 * Math.min(from, scrollable)) / scrollable)}
      aria-valuetext={viewText()}
      onPointerDown={down}
      onPointerMove={move}
      onPointerUp={() => (drag.current = null)}
      onPointerCancel={() => (drag.current = null)}
      onKeyDown={keys}
    >
      <canvas ref={base} aria-hidden="true" />
      <canvas ref={top} class="top-layer" aria-hidden="true" />
    </div>
  );
}

function viewText(): string {
  const { from, to } = state.view.value;
  return `bytes ${count(Math.floor(from))} to ${count(Math.ceil(to))} of ${bytes(state.length.value)}`;
}
