// What is drawn beside frames: exceptions, lost trace, output, the ruler.

import { KIND } from "../data/layout";
import type { ValueRow } from "../data/layout";
import type { OutputLine } from "../data/types";
import type { ValuesInView } from "../timeline/values";
import { bytes as bytesText, count, seconds, short } from "../format";
import { visible } from "../text";
import type { Theme } from "./palette";
import type { Scene, SourceScene } from "./scene";
import { columnOf } from "./scene";
import { niceStep } from "./projection";
import { fitted, hatch, textWidth } from "./surface";
import { RULER_HEIGHT } from "./tracks";
import type { Track } from "./tracks";

type Context = CanvasRenderingContext2D;

/** Values of the events of `part` on the axis. */
function eventValues(scene: Scene, source: SourceScene, part: SourceScene["parts"][number]): Float64Array {
  if (source.source.instructions === 0) {
    const column = columnOf(scene.kind);
    return part.events.u.map((u) => source.correspondence.convert("u", column, u));
  }
  if (scene.kind === "instructions") return part.detail?.eventInstruction ?? new Float64Array(0);
  return scene.kind === "time" ? part.events.t : part.events.u;
}

/** Lost trace, from where it was lost to where the trace goes on, if that is known, over all rows of a source. */
export function drawGaps(context: Context, theme: Theme, scene: Scene, source: SourceScene, top: number, bottom: number): void {
  const { projection } = source;
  const right = scene.left + projection.width;
  for (const part of source.parts) {
    const { detail } = part;
    if (detail === null) continue;
    const at = eventValues(scene, source, part);
    for (let e = 0; e < at.length; e++) {
      if (detail.eventKind[e] !== KIND.gap) continue;
      const u = part.events.u[e] as number;
      const next = part.events.end[e] as number;
      const column = columnOf(scene.kind);
      const x0 = projection.x(at[e] as number);
      const end = next > u ? projection.x(source.correspondence.convert("u", column, next, true)) : x0;
      const x1 = Math.max(x0 + 5, end);
      if (x1 < scene.left || x0 > right) continue;
      const [from, to] = [Math.max(scene.left, x0), Math.min(right, x1)];
      context.fillStyle = hatch(context, theme);
      context.fillRect(from, top, to - from, bottom - top);
      context.fillStyle = theme.bad;
      context.fillRect(from, top, Math.min(2, to - from), bottom - top);
      if (next <= u || to - from < 40) continue;
      const length = gapLength(scene, source, u, next);
      context.font = `600 11px ${theme.sans}`;
      const text = fitted(context, `trace lost: ${length}`, to - from - 14);
      if (text === "") continue;
      const width = textWidth(context, text) + 10;
      context.fillStyle = theme.surface;
      context.fillRect(from + 4, top + 3, width, 16);
      context.fillStyle = theme.text;
      context.textBaseline = "middle";
      context.fillText(text, from + 9, top + 11.5);
    }
  }
}

function gapLength(scene: Scene, source: SourceScene, from: number, to: number): string {
  // The times before and after it are bounds: instructions were executed between them, too.
  for (const relation of source.correspondence.relations(from, to)) {
    for (const [a, b] of relation.steps(from, to)) {
      const most = (relation.t[b] as number) - (relation.t[a] as number);
      if (most > 0) return `at most ${ticks(scene, most)}`;
    }
  }
  return bytesText(Math.round(to - from));
}

/** Exceptions as marks, other events as dots; without details, their density. */
export function drawEvents(context: Context, theme: Theme, scene: Scene, source: SourceScene, track: Track): void {
  const { projection } = source;
  const right = scene.left + projection.width;
  const middle = track.y + track.height / 2;
  if (source.exact) {
    let last = -Infinity;
    for (const part of source.parts) {
      if (part.detail === null) continue;
      const at = eventValues(scene, source, part);
      for (let e = 0; e < at.length; e++) {
        const kind = part.detail.eventKind[e];
        if (kind !== KIND.exception && kind !== KIND.event && kind !== KIND.trigger && kind !== KIND.dwt) continue;
        const x = projection.x(at[e] as number);
        if (x < scene.left || x > right) continue;
        if (kind !== KIND.exception) {
          context.fillStyle = theme.accent;
          context.fillRect(Math.round(x) - 1, middle - 2, 3, 5);
          continue;
        }
        context.fillStyle = theme.bad;
        context.beginPath();
        context.moveTo(x - 4, track.y + 3);
        context.lineTo(x + 4, track.y + 3);
        context.lineTo(x, track.y + track.height - 3);
        context.fill();
        const number = part.detail.eventValue[e] as number;
        const name = scene.info.exceptions.find((known) => known.number === number)?.name;
        if (x > last + 8 && name !== undefined) {
          context.font = `11px ${theme.sans}`;
          context.textBaseline = "middle";
          const label = visible(name, 40);
          const width = textWidth(context, label);
          if (x + 8 + width < right && nextException(part, e, at, projection) > x + 14 + width) {
            context.fillText(label, x + 7, middle + 0.5);
            last = x + 8 + width;
          }
        }
      }
    }
    return;
  }
  for (const { tiles, from, to } of source.tiles) {
    const most = tiles.exceptions.reduce((most, n) => Math.max(most, n), 1);
    for (let t = 0; t < tiles.tile.length; t++) {
      const begin = (tiles.tile[t] as number) * tiles.size;
      if (begin + tiles.size <= from || begin >= to) continue;
      const column = columnOf(scene.kind);
      const x0 = Math.max(scene.left, projection.x(source.correspondence.convert("u", column, Math.max(from, begin), true)));
      const x1 = Math.min(right, Math.max(x0 + 1, projection.x(source.correspondence.convert("u", column, Math.min(to, begin + tiles.size)))));
      if ((tiles.gaps[t] as number) > 0) {
        context.fillStyle = hatch(context, theme);
        context.fillRect(x0, track.y + 1, Math.max(2, x1 - x0), track.height - 2);
      }
      const n = tiles.exceptions[t] as number;
      if (n === 0) continue;
      const height = 3 + ((track.height - 5) * Math.log2(1 + n)) / Math.log2(1 + most);
      context.fillStyle = theme.bad;
      context.fillRect(x0, track.y + track.height - 1 - height, Math.max(1, Math.min(3, x1 - x0)), height);
    }
  }
}

function nextException(
  part: SourceScene["parts"][number],
  e: number,
  at: Float64Array,
  projection: SourceScene["projection"],
): number {
  for (let k = e + 1; k < at.length; k++) {
    if (part.detail?.eventKind[k] === KIND.exception) return projection.x(at[k] as number);
  }
  return Infinity;
}

/** Lines of output, and whether they are all of those in the view. */
export interface OutputInView {
  lines: readonly OutputLine[];
  complete: boolean;
}

/** Lines of output at their moments, as far as there is room; else marks. */
export function drawOutput(
  context: Context,
  theme: Theme,
  scene: Scene,
  source: SourceScene,
  track: Track,
  output: OutputInView,
): void {
  const { projection } = source;
  const right = scene.left + projection.width;
  const column = columnOf(scene.kind);
  const middle = track.y + track.height / 2;
  for (const { tiles, from, to } of source.exact ? [] : source.tiles) {
    const most = tiles.writes.reduce((most, n) => Math.max(most, n), 1);
    for (let t = 0; t < tiles.tile.length; t++) {
      const begin = (tiles.tile[t] as number) * tiles.size;
      const n = tiles.writes[t] as number;
      if (n === 0 || begin + tiles.size <= from || begin >= to) continue;
      const x0 = projection.x(source.correspondence.convert("u", column, begin, true));
      const x1 = projection.x(source.correspondence.convert("u", column, begin + tiles.size));
      if (x1 < scene.left || x0 > right) continue;
      context.globalAlpha = 0.25 + (0.6 * n) / most;
      context.fillStyle = theme.output;
      context.fillRect(Math.max(scene.left, x0), track.y + 4, Math.max(1, x1 - x0), track.height - 8);
      context.globalAlpha = 1;
    }
  }
  if (source.exact && !output.complete) {
    context.fillStyle = theme.output;
    for (const part of source.parts) {
      const at = eventValues(scene, source, part);
      for (let e = 0; e < at.length; e++) {
        if (part.detail?.eventKind[e] !== KIND.write) continue;
        context.fillRect(Math.round(projection.x(at[e] as number)), track.y + 4, 1, track.height - 8);
      }
    }
  }
  // Lines that are only the first of those in the view would look as if there were no others.
  const shown = (output.complete ? output.lines : [])
    .filter((line) => line.source === source.source.number)
    .map((line) => ({ line, x: projection.x(source.correspondence.convert("u", column, line.offset)) }))
    .filter(({ x }) => x >= scene.left && x <= right)
    .sort((a, b) => a.x - b.x);
  context.font = `11px ${theme.mono}`;
  context.textBaseline = "middle";
  shown.forEach(({ line, x }, k) => {
    context.fillStyle = theme.output;
    context.fillRect(Math.round(x), track.y + 3, 2, track.height - 6);
    const room = Math.min(right, shown[k + 1]?.x ?? right) - x - 12;
    const text = room > 20 ? fitted(context, visible(line.text, 120), room) : "";
    if (text !== "") context.fillText(text, x + 6, middle + 0.5);
  });
}

/** Values of a series: from the least to the greatest of each tile, and the mean; or each value, up to the next. */
export function drawValues(
  context: Context,
  theme: Theme,
  scene: Scene,
  source: SourceScene,
  track: Track,
  values: ValuesInView | undefined,
): void {
  const { series } = track;
  if (series === undefined || values === undefined) return;
  const rows = values.rows.filter((row) => row.series === series.number);
  const known = (row: ValueRow, value: number) => (Number.isNaN(value) ? row.mean : value);
  const least = series.least ?? Math.min(0, ...rows.map((row) => row.mean));
  const most = series.most ?? Math.max(...rows.map((row) => row.mean));
  const { projection } = source;
  const right = scene.left + projection.width;
  const column = columnOf(scene.kind);
  const bottom = track.y + track.height - 3;
  const y = (value: number) => bottom - (most > least ? ((value - least) / (most - least)) * (track.height - 6) : 0);
  context.fillStyle = theme.output;
  rows.forEach((row, k) => {
    // A value lasts up to the next one.
    const end = row.to > row.from ? row.to : (rows[k + 1]?.from ?? row.from);
    const x0 = Math.max(scene.left, projection.x(source.correspondence.convert("u", column, row.from, true)));
    const x1 = Math.min(right, Math.max(x0 + 1, projection.x(source.correspondence.convert("u", column, end))));
    if (x1 <= scene.left || x0 >= right) return;
    const [top, low] = [y(known(row, row.most)), y(known(row, row.least))];
    context.globalAlpha = 0.3;
    context.fillRect(x0, top, x1 - x0, Math.max(1, low - top));
    context.globalAlpha = 1;
    context.fillRect(x0, y(row.mean) - 0.75, x1 - x0, 1.5);
  });
}

/** A duration: seconds where the frequency is known. */
export function ticks(scene: Pick<Scene, "info">, value: number): string {
  const { frequency } = scene.info;
  return frequency === undefined ? `${short(value)} ticks` : seconds(value / frequency);
}

/** What a value of the axis is, in full. */
export function axisText(scene: Pick<Scene, "info" | "kind">, value: number, step: number): string {
  if (scene.kind === "instructions") return count(Math.round(value));
  if (scene.kind === "bytes") return step < 1 ? value.toFixed(2) : count(Math.round(value));
  const { frequency, times } = scene.info;
  if (frequency !== undefined) {
    const digits = Math.max(0, Math.ceil(-Math.log10(step / frequency)));
    return `${(value / frequency).toFixed(Math.min(12, digits))} s`;
  }
  const first = BigInt(times?.first ?? "0");
  const time = first + BigInt(Math.round(value));
  return time.toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/** The first time is this much after a multiple of `step`. Durations begin at it. */
function offsetOfZero(scene: Scene, step: number): number {
  const { frequency, times } = scene.info;
  if (frequency !== undefined || times === undefined || step < 1) return 0;
  return Number(BigInt(times.first) % BigInt(Math.round(step)));
}

function unitOf(scene: Scene): string {
  if (scene.kind !== "time") return scene.kind;
  return scene.info.frequency === undefined ? "ticks" : "time";
}

export function drawRuler(context: Context, theme: Theme, scene: Scene, height: number): void {
  const { projection } = scene.main;
  const right = scene.left + projection.width;
  context.fillStyle = theme.sunken;
  context.fillRect(0, 0, scene.width, RULER_HEIGHT);
  context.font = `11px ${theme.sans}`;
  context.textBaseline = "middle";
  context.fillStyle = theme.soft;
  context.fillText(unitOf(scene), 10, RULER_HEIGHT / 2);
  if (projection.scale > 0) {
    const least = scene.kind === "bytes" || scene.kind === "instructions" ? 1 : 1e-3;
    const step = Math.max(least, niceStep(110 / projection.scale));
    const zero = scene.kind === "time" ? offsetOfZero(scene, step) : 0;
    let value = Math.ceil((projection.from + zero) / step) * step - zero;
    let last = -Infinity;
    for (let n = 0; n < 400 && value <= projection.to; n++, value += step) {
      const x = Math.round(projection.x(value)) + 0.5;
      if (x < last + 18) continue;
      context.fillStyle = theme.line;
      context.fillRect(x - 0.5, RULER_HEIGHT - 5, 1, height);
      const text = axisText(scene, value, step);
      const width = textWidth(context, text);
      const broken = projection.broken.some((b) => projection.x(b.from) < x + width + 4 && projection.x(b.to) > x);
      if (x + 4 + width <= right && x > last && !broken) {
        context.fillStyle = theme.soft;
        context.fillText(text, x + 4, RULER_HEIGHT / 2);
        last = x + 10 + width;
      }
    }
  }
  context.fillStyle = theme.lineStrong;
  context.fillRect(0, RULER_HEIGHT - 1, scene.width, 1);
}

/** Times that are drawn narrow: lighter, between two lines, with their length in the ruler. */
export function drawBreaks(context: Context, theme: Theme, scene: Scene, height: number): void {
  const { projection } = scene.main;
  for (const { from, to } of projection.broken) {
    const [x0, x1] = [projection.x(from), projection.x(to)];
    context.globalAlpha = 0.55;
    context.fillStyle = theme.surface;
    context.fillRect(x0, RULER_HEIGHT, x1 - x0, height);
    context.globalAlpha = 1;
    context.fillStyle = theme.idle;
    context.fillRect(x0, 0, x1 - x0, RULER_HEIGHT);
    context.fillStyle = theme.lineStrong;
    context.fillRect(Math.round(x0), 0, 1, height);
    context.fillRect(Math.round(x1) - 1, 0, 1, height);
    context.font = `10px ${theme.sans}`;
    context.textBaseline = "middle";
    context.fillStyle = theme.text;
    const text = fitted(context, ticks(scene, to - from).replace(" ticks", ""), x1 - x0 - 4);
    context.fillText(text, (x0 + x1 - textWidth(context, text)) / 2, RULER_HEIGHT / 2);
  }
}
