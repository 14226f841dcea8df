// Everything that a picture of the present view is made of.

import * as state from "../model/state";
import type { AxisKind, Range } from "../model/state";
import * as store from "../data/store";
import type { Part, TilePiece } from "../data/store";
import type { BufferInfo, SourceInfo } from "../data/types";
import { correspondence, duration, idleTimes, Projection } from "./projection";
import type { Correspondence } from "./projection";
import type { Column } from "./relation";
import { depthsOf, layOut } from "./tracks";
import type { Track } from "./tracks";

export interface SourceScene {
  source: SourceInfo;
  parts: Part[];
  exact: boolean;
  tiles: TilePiece[];
  correspondence: Correspondence;
  projection: Projection;
}

export interface Scene {
  info: BufferInfo;
  view: Range;
  kind: AxisKind;
  width: number;
  left: number;
  tracks: Track[];
  height: number;
  sources: Map<number, SourceScene>;
  /** The source of the ruler. */
  main: SourceScene;
}

export const GUTTER = 118;

export function columnOf(kind: AxisKind): Column {
  return kind === "bytes" ? "u" : kind === "time" ? "t" : "i";
}

/** The axis that is drawn: that which was chosen, where the trace has it. */
export function axisOf(info: BufferInfo): AxisKind {
  const kind = state.axis.value;
  if (kind === "time" && (info.times === undefined || duration(info) <= 0)) return state.defaultAxis();
  if (kind === "instructions" && state.codeSources.value.length === 0) return "bytes";
  return kind;
}

export function makeScene(width: number, left: number): Scene | null {
  const info = state.buffer.value;
  if (info === null || info.sources.length === 0) return null;
  void store.loaded.value;
  const view = state.view.value;
  const kind = axisOf(info);
  const inner = Math.max(1, width - left);
  const level = store.levelFor(info, (view.to - view.from) / inner);
  const whole = store.wholeLevel(info);
  const sources = new Map<number, SourceScene>();
  const depths = new Map();
  const mainNumber = mainOf(info);
  const order = [...info.sources].sort((a, b) => Number(b.number === mainNumber) - Number(a.number === mainNumber));
  let breaks: ReturnType<typeof idleTimes> | null = null;
  const correspondences = new Map<number, { parts: Part[]; exact: boolean; c: Correspondence }>();
  for (const source of order) {
    const { parts, exact } = store.partsFor(info, source.number, view);
    const c = correspondence(info, source, view, level, whole, parts);
    correspondences.set(source.number, { parts, exact, c });
  }
  if (state.compress.value && kind === "time") {
    const code = order.filter((source) => source.instructions > 0);
    breaks = idleTimes(
      code.map((source) => (correspondences.get(source.number) as { c: Correspondence }).c),
      view,
    );
  }
  let main: SourceScene | null = null;
  for (const source of order) {
    const { parts, exact, c } = correspondences.get(source.number) as {
      parts: Part[];
      exact: boolean;
      c: Correspondence;
    };
    const tiles = info.view ? store.tilesFor(info, source.number, level, view) : [];
    const column = columnOf(kind);
    // Times are those of the buffer; instructions are counted by source.
    const shares = main !== null && (kind !== "instructions" || source.instructions === 0);
    const projection: Projection =
      shares && main !== null
        ? main.projection
        : new Projection(
            kind,
            c.convert("u", column, view.from, true),
            c.convert("u", column, view.to),
            left,
            inner,
            breaks ?? [],
          );
    // The position of what has no instructions is that of its offset.
    const own: Correspondence = source.instructions === 0 && main !== null ? main.correspondence : c;
    const scene: SourceScene = { source, parts, exact, tiles, correspondence: own, projection };
    sources.set(source.number, scene);
    main ??= scene;
    if (source.instructions > 0) {
      const overview = info.view
        ? store.tilesFor(info, source.number, whole, { from: 0, to: info.bytes })
        : [];
      depths.set(source.number, depthsOf(parts, [...overview, ...tiles]));
    }
  }
  if (main === null) return null;
  const { tracks, height } = layOut(info, depths);
  return { info, view, kind, width, left, tracks, height, sources, main };
}

function mainOf(info: BufferInfo): number {
  const code = info.sources.filter((source) => source.instructions > 0);
  const focused = state.focus.peek()?.source;
  const chosen = code.find((source) => source.number === focused);
  const most = code.reduce<SourceInfo | undefined>(
    (best, s) => (best === undefined || s.instructions > best.instructions ? s : best),
    undefined,
  );
  return (chosen ?? most ?? info.sources[0])?.number ?? 0;
}

/** The offset, with its fraction, at a pixel. */
export function offsetAt(scene: Scene, x: number, source = scene.main): number {
  const value = source.projection.value(x);
  return source.correspondence.convert(columnOf(scene.kind), "u", value);
}

/** The pixel of an offset. */
export function pixelOf(scene: Scene, offset: number, source = scene.main): number {
  const value = source.correspondence.convert("u", columnOf(scene.kind), offset);
  return source.projection.x(value);
}

/** The fractional offset of the focus. */
export function focusOffset(scene: Scene, focus: state.Focus): number {
  const source = scene.sources.get(focus.source);
  if (source === undefined || focus.atInstruction === undefined) return focus.offset;
  const u = source.correspondence.convert("i", "u", focus.atInstruction);
  // A correspondence that is not exact here does not move the focus to another byte.
  return Math.abs(u - focus.offset) < 1.5 || u >= focus.offset ? Math.min(u, focus.offset + 1) : focus.offset;
}

/** The range of offsets of a part of the screen, for zooming. */
export function rangeAt(scene: Scene, x0: number, x1: number): Range {
  return { from: offsetAt(scene, x0), to: offsetAt(scene, x1) };
}

/** What the view is after zooming by `factor` at pixel `x`: in proportion on the axis that is shown. */
export function zoomed(scene: Scene, factor: number, x: number): Range {
  const { projection, correspondence: c } = scene.main;
  const column = columnOf(scene.kind);
  const { info, view } = scene;
  const at = projection.value(x);
  const span = projection.to - projection.from;
  const right = scene.left + projection.width;
  if (projection.isBroken) {
    const from = x - (x - scene.left) * factor;
    const to = x + (right - x) * factor;
    return { from: offsetAt(scene, from), to: offsetAt(scene, to) };
  }
  const part = (x - scene.left) / projection.width;
  const [a, b] = [at - part * span * factor, at + (1 - part) * span * factor];
  const [first, last] = [c.convert("u", column, 0), c.convert("u", column, info.bytes)];
  let from = a <= first ? 0 : c.convert(column, "u", a);
  let to = b >= last ? info.bytes : c.convert(column, "u", b);
  if (!(to > from)) {
    // The axis does not distinguish these offsets.
    const u = view.from + part * (view.to - view.from);
    from = u - part * (view.to - view.from) * factor;
    to = u + (1 - part) * (view.to - view.from) * factor;
  }
  return { from, to };
}

/** The view after moving it by a part of its width. */
export function panned(scene: Scene, part: number): Range {
  const { projection, correspondence: c } = scene.main;
  const column = columnOf(scene.kind);
  const shift = part * (projection.to - projection.from);
  const first = c.convert("u", column, 0);
  const last = c.convert("u", column, scene.info.bytes);
  if (projection.from + shift <= first) return { from: 0, to: scene.view.to - scene.view.from };
  if (projection.to + shift >= last) {
    return { from: scene.info.bytes - (scene.view.to - scene.view.from), to: scene.info.bytes };
  }
  const from = c.convert(column, "u", projection.from + shift, true);
  const to = c.convert(column, "u", projection.to + shift);
  if (to > from && (from !== scene.view.from || to !== scene.view.to)) return { from, to };
  const by = part * (scene.view.to - scene.view.from);
  return { from: scene.view.from + by, to: scene.view.to + by };
}
