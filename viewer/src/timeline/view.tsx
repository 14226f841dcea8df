// The timeline: rows of calls, exceptions, lost trace and output. What it shows is in tables, too.

import { effect, signal, untracked } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import * as state from "../model/state";
import { load } from "../data/store";
import { NONE } from "../data/layout";
import type { Part } from "../data/store";
import { drawFrames, drawTiles, frameAt } from "../draw/frames";
import type { Drawing } from "../draw/frames";
import { drawBreaks, drawEvents, drawGaps, drawOutput, drawRuler, drawValues, ticks } from "../draw/marks";
import { colorOf, theme } from "../draw/palette";
import { focusOffset, GUTTER, makeScene, offsetAt, pixelOf, zoomed } from "../draw/scene";
import type { Scene } from "../draw/scene";
import { fitted, prepare } from "../draw/surface";
import { depthAt, ROW_HEIGHT, RULER_HEIGHT } from "../draw/tracks";
import type { Track } from "../draw/tracks";
import { count } from "../format";
import { fileOfFunction } from "../model/places";
import { visible } from "../text";
import * as navigate from "./navigate";
import { outputInView } from "./output";
import { valueText, valuesInView } from "./values";

interface Hover {
  x: number;
  y: number;
  title: string;
  lines: string[];
}

const hover = signal<Hover | null>(null);
// What is under the pointer is another frame after the view has moved.
state.view.subscribe(() => (hover.value = null));
/** Times that pictures took, for tests. */
export const frameTimes: number[] = [];

const colors = new Map<number, number>();
/** Files distinguish functions where there are several of them. */
let hasFiles = false;
const FILES = 4;
effect(() => {
  const all = [...state.functions.value.values()];
  hasFiles = new Set(all.map((f) => f.file ?? f.module)).size >= FILES;
  colors.clear();
});

function color(id: number): number {
  let number = colors.get(id);
  if (number === undefined) {
    const known = state.functions.peek().get(id);
    const group = hasFiles ? (known?.file ?? known?.module ?? null) : null;
    number = colorOf(known?.name ?? String(id), group);
    colors.set(id, number);
  }
  return number;
}

/** The colour of a function beside its name. */
export const functionColor = color;

function drawAll(canvas: HTMLCanvasElement): void {
  const surface = prepare(canvas);
  const picture = surface === null ? null : makeScene(surface.width, GUTTER);
  navigate.scene.current = picture;
  if (surface === null || picture === null) return;
  const start = performance.now();
  const { context, height } = surface;
  const colours = theme.value;
  const most = Math.max(0, picture.height - height);
  const shift = Math.min(navigate.scroll.value, most);
  if (shift !== navigate.scroll.peek()) navigate.scroll.value = shift;
  context.save();
  context.beginPath();
  context.rect(picture.left, RULER_HEIGHT, surface.width, height);
  context.clip();
  context.translate(0, -shift);
  for (const track of picture.tracks) {
    if (track.y + track.height < shift || track.y > shift + height) continue;
    drawTrack(context, picture, track);
  }
  for (const source of picture.sources.values()) {
    const rows = picture.tracks.filter((t) => t.source === source.source && t.kind !== "head");
    const [first, last] = [rows[0], rows[rows.length - 1]];
    if (first !== undefined && last !== undefined) {
      drawGaps(context, colours, picture, source, first.y, last.y + last.height);
    }
  }
  context.restore();
  drawGutter(context, picture, shift, height);
  if (most > 0) {
    // Where the rows are that are shown.
    const room = height - RULER_HEIGHT;
    const thumb = Math.max(20, (room * room) / (picture.height - RULER_HEIGHT));
    context.fillStyle = colours.lineStrong;
    context.fillRect(surface.width - 5, RULER_HEIGHT + ((room - thumb) * shift) / most, 4, thumb);
  }
  drawRuler(context, colours, picture, 0);
  drawBreaks(context, colours, picture, height);
  if (frameTimes.length > 2000) frameTimes.splice(0, 1000);
  frameTimes.push(performance.now() - start);
}

function drawTrack(context: CanvasRenderingContext2D, picture: Scene, track: Track): void {
  const colours = theme.value;
  const source = picture.sources.get(track.source.number);
  if (source === undefined) return;
  const right = picture.width;
  if (track.kind === "head") {
    context.fillStyle = colours.sunken;
    context.fillRect(picture.left, track.y, right - picture.left, track.height);
    context.fillStyle = colours.line;
    context.fillRect(picture.left, track.y, right - picture.left, 1);
    return;
  }
  if (track.kind === "events") return drawEvents(context, colours, picture, source, track);
  if (track.kind === "values") {
    return drawValues(context, colours, picture, source, track, valuesInView.value.get(track.source.number));
  }
  if (track.kind === "output") {
    return drawOutput(context, colours, picture, source, track, outputInView.value);
  }
  const drawing: Drawing = {
    context,
    theme: colours,
    track,
    view: picture.view,
    left: picture.left,
    right,
    projection: source.projection,
    correspondence: source.correspondence,
    colorOf: color,
    highlighted: highlighted.value,
  };
  if (!source.exact) drawTiles(drawing, source.tiles, picture.info.bytes);
  drawFrames(drawing, source.parts);
}

/** A function whose calls are shown, the others lighter. */
export const highlighted = signal<number | null>(null);

function drawGutter(context: CanvasRenderingContext2D, picture: Scene, shift: number, height: number): void {
  const colours = theme.value;
  context.fillStyle = colours.surface;
  context.fillRect(0, RULER_HEIGHT, picture.left, height);
  context.textBaseline = "middle";
  for (const track of picture.tracks) {
    const y = track.y - shift;
    if (track.kind === "head") {
      context.fillStyle = colours.sunken;
      context.fillRect(0, y, picture.left, track.height);
      context.fillStyle = colours.line;
      context.fillRect(0, y, picture.left, 1);
      context.font = `600 12px ${colours.sans}`;
      context.fillStyle = colours.text;
      context.fillText(fitted(context, visible(track.label), picture.left - 16), 10, y + track.height / 2 + 1);
      context.font = `11px ${colours.sans}`;
      context.fillStyle = colours.soft;
      const nothing = !state.hasTrace(track.source) ? ": no trace in this buffer" : "";
      context.fillText(visible(track.source.protocol) + nothing, picture.left + 8, y + track.height / 2 + 1);
    } else {
      context.font = `11px ${colours.sans}`;
      context.fillStyle = colours.soft;
      const middle = track.kind === "frames" ? ROW_HEIGHT / 2 + 1 : track.height / 2;
      context.fillText(fitted(context, visible(track.label), picture.left - 16), 10, y + middle);
    }
  }
  context.fillStyle = colours.line;
  context.fillRect(picture.left - 1, RULER_HEIGHT, 1, height);
}

/** Focus, selection and the frame in focus: drawn over the picture, which stays as it is. */
function drawTop(canvas: HTMLCanvasElement): void {
  const surface = prepare(canvas);
  const picture = navigate.scene.current;
  if (surface === null || picture === null) return;
  const { context, height } = surface;
  const colours = theme.value;
  const shift = navigate.scroll.value;
  context.save();
  context.beginPath();
  context.rect(picture.left, 0, picture.width - picture.left, height);
  context.clip();
  const range = dragged.value ?? state.selection.value;
  if (range !== null) {
    const [x0, x1] = [pixelOf(picture, range.from), pixelOf(picture, range.to)];
    context.fillStyle = colours.selection;
    context.fillRect(x0, 0, Math.max(1, x1 - x0), height);
    context.fillStyle = colours.accent;
    context.fillRect(x0, 0, 1, height);
    context.fillRect(x1, 0, 1, height);
    context.fillRect(x0, 0, Math.max(1, x1 - x0), 3);
  }
  const focus = state.focus.value;
  if (focus !== null) {
    const source = picture.sources.get(focus.source) ?? picture.main;
    const value =
      picture.kind === "instructions" && focus.atInstruction !== undefined && source.source.instructions > 0
        ? focus.atInstruction
        : null;
    const x = value === null ? pixelOf(picture, focusOffset(picture, focus), source) : source.projection.x(value);
    const frame = navigate.focusedFrame();
    const track = picture.tracks.find(
      (t) => t.kind === "frames" && t.source.number === focus.source && t.thread === frame?.part.frames.thread[frame.index],
    );
    if (frame !== null && track !== undefined) {
      const [x0, x1] = frameExtent(picture, frame);
      const y = track.y + ((frame.part.frames.depth[frame.index] as number) - track.least) * ROW_HEIGHT - shift;
      context.strokeStyle = colours.focus;
      context.lineWidth = 2;
      context.strokeRect(x0, y + 1.5, Math.max(2, x1 - x0), ROW_HEIGHT - 2);
    }
    context.fillStyle = colours.focus;
    context.fillRect(Math.round(x) - 0.75, RULER_HEIGHT - 8, 1.5, height);
    context.beginPath();
    context.moveTo(x - 5, RULER_HEIGHT - 9);
    context.lineTo(x + 5, RULER_HEIGHT - 9);
    context.lineTo(x, RULER_HEIGHT - 2);
    context.fill();
  }
  context.restore();
}

function frameExtent(picture: Scene, { part, index }: { part: Part; index: number }): [number, number] {
  const source = picture.sources.get(part.source) ?? picture.main;
  const kind = picture.kind;
  const begin = kind === "instructions" ? part.frames.beginInstruction : kind === "time" ? part.begin.t : part.begin.u;
  const end = kind === "instructions" ? part.frames.endInstruction : kind === "time" ? part.end.t : part.end.u;
  return [
    Math.max(picture.left - 3, source.projection.x(begin[index] as number)),
    Math.min(picture.width + 3, source.projection.x(end[index] as number)),
  ];
}

const dragged = signal<state.Range | null>(null);

function trackAt(picture: Scene, y: number): Track | undefined {
  return picture.tracks.find((track) => y >= track.y && y < track.y + track.height);
}

function hit(x: number, y: number): { track: Track; found: { part: Part; index: number } | null; value: number } | null {
  const picture = navigate.scene.current;
  if (picture === null || x < picture.left) return null;
  const track = trackAt(picture, y + navigate.scroll.peek());
  const source = track === undefined ? undefined : picture.sources.get(track.source.number);
  if (track === undefined || source === undefined) return null;
  const value = source.projection.value(x);
  if (track.kind !== "frames" || track.thread === undefined) return { track, found: null, value };
  const slack = source.projection.scale > 0 ? 1.5 / source.projection.scale : 0;
  const depth = depthAt(track, y + navigate.scroll.peek());
  return { track, found: frameAt(source.parts, track.thread, depth, picture.kind, value, slack), value };
}

function tipFor(x: number, y: number): Hover | null {
  const picture = navigate.scene.current;
  const at = hit(x, y);
  if (picture === null || at === null) return null;
  if (at.found === null) {
    const source = picture.sources.get(at.track.source.number);
    const { series } = at.track;
    if (series !== undefined && source !== undefined) {
      const offset = offsetAt(picture, x, source);
      const rows = valuesInView.peek().get(at.track.source.number)?.rows ?? [];
      const row = rows.findLast((row) => row.series === series.number && row.from <= offset);
      return row === undefined ? null : { x, y, title: visible(series.name), lines: [valueText(row)] };
    }
    if (at.track.kind !== "output") return null;
    const near = outputInView.peek().lines.find((line) => {
      return source !== undefined && line.source === at.track.source.number && Math.abs(pixelOf(picture, line.offset, source) - x) < 5;
    });
    return near === undefined ? null : { x, y, title: visible(near.text), lines: [`at byte ${count(near.offset)}`] };
  }
  const { part, index } = at.found;
  const { frames } = part;
  const id = frames.function[index] as number;
  const instructions = (frames.endInstruction[index] as number) - (frames.beginInstruction[index] as number);
  const own = frames.own[index] as number;
  const lines = [
    `${count(instructions)} instructions${Number.isNaN(own) ? "" : `, ${count(own)} its own`}`,
  ];
  const time = (part.end.t[index] as number) - (part.begin.t[index] as number);
  if (picture.info.times !== undefined && time >= 0) lines.push(ticks(picture, time));
  lines.push(navigate.howItBegan(at.found));
  const file = fileOfFunction(id);
  if (file !== null) lines.push(visible(file));
  return { x, y, title: visible(state.functionName(id === NONE ? undefined : id)), lines };
}

const DRAG_LEAST = 4;

export function Timeline() {
  const base = useRef<HTMLCanvasElement>(null);
  const top = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const size = useRef(signal(0)).current;

  useEffect(() => {
    const [canvas, layer, element] = [base.current, top.current, box.current];
    if (canvas === null || layer === null || element === null) return;
    let due = { base: false, top: false };
    let requested = false;
    const request = (which: "base" | "top") => {
      due[which] = true;
      if (requested) return;
      requested = true;
      requestAnimationFrame(() => {
        requested = false;
        const now = due;
        due = { base: false, top: false };
        if (now.base) paint.base();
        if (now.base || now.top) paint.top();
      });
    };
    const watch = (draw: () => void, which: "base" | "top") => {
      // Draws once with what it read observed; a change requests the next picture.
      let stop: (() => void) | undefined;
      return {
        draw: () => {
          stop?.();
          let first = true;
          stop = effect(() => {
            void size.value;
            if (first) {
              first = false;
              draw();
            } else request(which);
          });
        },
        stop: () => stop?.(),
      };
    };
    const one = watch(() => drawAll(canvas), "base");
    const two = watch(() => drawTop(layer), "top");
    const paint = { base: one.draw, top: two.draw };
    request("base");
    const loading = effect(() => {
      const info = state.buffer.value;
      void size.value;
      const view = state.view.value;
      if (info !== null) untracked(() => load(info, info.sources, view, canvas.clientWidth - GUTTER));
    });
    const observer = new ResizeObserver(() => (size.value += 1));
    observer.observe(element);
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const rect = element.getBoundingClientRect();
      const x = event.clientX - rect.left;
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 24 : 1;
      const picture = navigate.scene.current;
      if (picture === null) return;
      if (event.altKey || x < GUTTER) {
        const most = Math.max(0, picture.height - element.clientHeight);
        navigate.scroll.value = Math.min(most, Math.max(0, navigate.scroll.peek() + unit * event.deltaY));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const delta = event.deltaX === 0 ? event.deltaY : event.deltaX;
        navigate.pan((unit * delta) / Math.max(1, picture.width));
      } else {
        const factor = Math.exp(Math.max(-1, Math.min(1, (unit * event.deltaY) / 300)));
        navigate.zoom(factor, x);
      }
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      one.stop();
      two.stop();
      loading();
      observer.disconnect();
      element.removeEventListener("wheel", wheel);
    };
  }, []);

  const drag = useRef<{ x: number; y: number; pan: boolean; scene: Scene; view: state.Range } | null>(null);
  const place = (event: PointerEvent) => {
    const rect = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return { x: event.clientX - rect.left, y: event.clientY - rect.top };
  };
  const down = (event: PointerEvent) => {
    const picture = navigate.scene.current;
    const at = place(event);
    if (picture === null || at.x < picture.left || event.button > 1) return;
    const pan = event.button === 1 || event.shiftKey;
    drag.current = { ...at, pan, scene: picture, view: state.view.peek() };
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    if (event.button === 1) event.preventDefault();
  };
  const move = (event: PointerEvent) => {
    const at = place(event);
    navigate.pointer.x = at.x < GUTTER ? null : at.x;
    const start = drag.current;
    if (start === null) {
      hover.value = tipFor(at.x, at.y);
      return;
    }
    hover.value = null;
    if (start.pan) {
      const [a, b] = [offsetAt(start.scene, start.x), offsetAt(start.scene, at.x)];
      state.show({ from: start.view.from + a - b, to: start.view.to + a - b });
    } else if (Math.abs(at.x - start.x) >= DRAG_LEAST || dragged.peek() !== null) {
      const [x0, x1] = [Math.min(at.x, start.x), Math.max(at.x, start.x)];
      dragged.value = { from: offsetAt(start.scene, Math.max(GUTTER, x0)), to: offsetAt(start.scene, x1) };
    }
  };
  const up = (event: PointerEvent) => {
    const start = drag.current;
    const at = place(event);
    drag.current = null;
    if (start === null) return;
    if (dragged.peek() !== null) {
      state.selection.value = dragged.peek();
      dragged.value = null;
      return;
    }
    if (start.pan || event.type === "pointercancel") return;
    click(at.x, at.y);
  };
  const click = (x: number, y: number) => {
    const at = hit(x, y);
    const picture = navigate.scene.current;
    if (picture === null || at === null) return;
    if (at.found !== null) {
      const { part, index } = at.found;
      const id = part.frames.function[index] as number;
      const source = picture.sources.get(part.source) ?? picture.main;
      const offset = offsetAt(picture, x, source);
      const value = source.correspondence.convert("u", "i", offset);
      const begin = part.frames.beginInstruction[index] as number;
      const end = part.frames.endInstruction[index] as number;
      state.focusOn(
        {
          source: part.source,
          offset: Math.floor(offset),
          atInstruction: Math.floor(Math.min(Math.max(begin, value), Math.max(begin, end - 1))),
          thread: part.frames.thread[index] as number,
          depth: part.frames.depth[index] as number,
        },
        { reveal: false },
      );
      if (id !== NONE) state.choose(id);
      navigate.announce(navigate.describe(at.found));
      return;
    }
    const source = picture.sources.get(at.track.source.number) ?? picture.main;
    const offset = offsetAt(picture, x, source);
    const code = source.source.instructions > 0 ? source.source.number : state.mainSource.peek();
    state.focusOn({ source: code, offset: Math.floor(offset) }, { reveal: false });
  };
  const double = (event: MouseEvent) => {
    const rect = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const at = hit(event.clientX - rect.left, event.clientY - rect.top);
    if (at?.found != null) navigate.fitFocus();
    else if (navigate.scene.current !== null) {
      state.show(zoomed(navigate.scene.current, 0.5, event.clientX - rect.left));
    }
  };
  const info = state.buffer.value;
  const tip = hover.value;
  return (
    <div
      class="timeline"
      ref={box}
      onPointerDown={down}
      onPointerMove={move}
      onPointerUp={up}
      onPointerCancel={up}
      onPointerLeave={() => {
        navigate.pointer.x = null;
        hover.value = null;
      }}
      onDblClick={double}
    >
      <canvas
        ref={base}
        id="timeline"
        role="application"
        aria-roledescription="timeline"
        aria-label="Timeline of calls. Arrows move the focus between frames; the table after it has the same frames."
        tabIndex={0}
      />
      <canvas ref={top} class="top-layer" aria-hidden="true" />
      {info !== null && info.sources.length === 0 && (
        <p class="empty">
          <strong>There is no trace source in this buffer.</strong>
          {info.bytes === 0 ? "It has no bytes." : "Its bytes are not those of a source that is configured."}
        </p>
      )}
      {tip !== null && (
        <div class="tip" style={tipStyle(tip)}>
          <strong>{tip.title}</strong>
          {tip.lines.map((line) => (
            <span key={line}>{line}</span>
          ))}
        </div>
      )}
    </div>
  );
}

function tipStyle(tip: Hover) {
  const right = tip.x > (navigate.scene.current?.width ?? 0) / 2;
  return {
    top: `${tip.y + 16}px`,
    ...(right
      ? { right: `${Math.max(4, (navigate.scene.current?.width ?? 0) - tip.x + 12)}px` }
      : { left: `${tip.x + 14}px` }),
  };
}

