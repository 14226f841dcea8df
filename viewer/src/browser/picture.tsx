// The coarse picture: what ran in the parts that were read. What was not read is drawn as such.

import type { ReadonlySignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { colorOf, fills, theme } from "../draw/palette";
import { hatch, prepare } from "../draw/surface";
import { bytes, count, percent, things } from "../format";
import { visible } from "../text";
import type { Sample, Strip } from "./coarse";

/** The height of the row of a source, in CSS pixels, and of its name above it. */
const ROW = 34;
const NAME = 18;
/** The least width of a part, in CSS pixels: it is drawn wider than it is. */
const LEAST = 3;
/** Functions in the legend. */
const NAMED = 8;

type Own = NonNullable<Sample["sources"][number]>;

interface Row {
  strip: Strip;
  source: number;
  name: string;
}

/** A source has a row where anything of it was read. */
function rows(strips: readonly Strip[]): Row[] {
  const has = (strip: Strip, n: number) =>
    strip.samples.some(({ sources: { [n]: own } }) => own === null || (own !== undefined && did(own)));
  return strips.flatMap((strip) =>
    strip.sources
      .map((own, source) => ({ strip, source, name: strips.length > 1 ? `${strip.name} ${own}` : own }))
      .filter(({ source }) => has(strip, source)),
  );
}

const did = (own: Own): boolean => own.instructions + own.exceptions + own.gaps + own.writes + own.others > 0;

/** The functions of all parts that were read, those with most instructions first. */
function sums(strips: readonly Strip[]): [string, number][] {
  const all = new Map<string, number>();
  for (const own of strips.flatMap(({ samples }) => samples.flatMap(({ sources }) => sources))) {
    own?.functions.forEach(({ name, instructions }) => all.set(name, (all.get(name) ?? 0) + instructions));
  }
  return [...all].sort((a, b) => b[1] - a[1]);
}

/** A dotted line: not read yet. */
function blank(context: CanvasRenderingContext2D, y: number, width: number): void {
  const { sunken, gap } = theme.value;
  context.fillStyle = sunken;
  context.fillRect(0, y, width, ROW);
  context.fillStyle = gap;
  for (let x = 1; x < width; x += 6) context.fillRect(x, y + ROW / 2, 2, 1);
}

function draw(canvas: HTMLCanvasElement, strips: readonly Strip[], indexed: number): void {
  const surface = prepare(canvas);
  if (surface === null) return;
  const { context, width } = surface;
  const colours = theme.value;
  const table = fills(colours);
  rows(strips).forEach(({ strip, source, name }, n) => {
    const y = n * (ROW + NAME) + NAME;
    context.fillStyle = colours.text;
    context.font = `12px ${colours.sans}`;
    context.fillText(visible(name), 0, y - 5, width);
    blank(context, y, width);
    for (const { from, to, sources } of strip.samples) {
      const own = sources[source];
      if (own == null) continue;
      const x = Math.min(width - LEAST, Math.floor((from / strip.bytes) * width));
      const wide = Math.max(LEAST, Math.ceil((to / strip.bytes) * width) - x);
      context.fillStyle = colours.surface;
      context.fillRect(x, y, wide, ROW);
      let top = y;
      for (const { name, instructions } of own.functions) {
        const height = (ROW * instructions) / own.instructions;
        context.fillStyle = colours.forced ? colours.density : (table[colorOf(name, null)] as string);
        context.fillRect(x, top, wide, height);
        top += height;
      }
      if (own.instructions > 0 && top < y + ROW) {
        context.fillStyle = colours.densitySoft;
        context.fillRect(x, top, wide, y + ROW - top);
      }
      if (own.instructions === 0 && own.writes + own.others > 0) {
        context.fillStyle = colours.output;
        context.fillRect(x, y + ROW / 2, wide, ROW / 2);
      }
      context.fillStyle = hatch(context, colours);
      if (own.gaps > 0) context.fillRect(x, y + (ROW * 2) / 3, wide, ROW / 3);
      context.fillStyle = colours.bad;
      if (own.exceptions > 0) context.fillRect(x, y, wide, 4);
    }
    context.fillStyle = colours.accent;
    context.fillRect(0, y + ROW + 1, width * indexed, 2);
  });
}

/** A picture of what was read so far; `indexed` is the part of the trace that is indexed. */
export function Picture(props: { strips: ReadonlySignal<readonly Strip[]>; indexed: ReadonlySignal<number> }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const strips = props.strips.value;
  const indexed = props.indexed.value;
  useEffect(() => {
    if (canvas.current !== null) draw(canvas.current, strips, indexed);
  }, [strips, indexed, theme.value]);
  const samples = strips.flatMap((strip) => strip.samples);
  const read = samples.reduce((sum, { from, to }) => sum + to - from, 0);
  const all = strips.reduce((sum, strip) => sum + strip.bytes, 0);
  const unknown = samples.filter(({ sources }) => sources.includes(null)).length;
  const functions = sums(strips);
  const colours = theme.value;
  const table = fills(colours);
  const shown = rows(strips);
  const height = shown.length * (ROW + NAME) + 4;
  return (
    <figure class="coarse">
      <figcaption>
        <strong>Coarse picture.</strong> {things(samples.length, "part")} of {bytes(strips[0]?.tile ?? 0)}, {percent(read, all)}{" "}
        of the trace, {samples.length === 1 ? "is" : "are"} read. The rest, with a dotted line, is not read yet.
        {unknown > 0 && ` Of ${things(unknown, "part")} it is not known yet what all sources did.`} The index is at{" "}
        {Math.floor(100 * indexed)} %; the exact picture follows it.
      </figcaption>
      <canvas
        ref={canvas}
        height={height}
        style={{ height: `${height}px` }}
        role="img"
        aria-label={`What ran in the parts that are read, of ${shown.map(({ name }) => visible(name)).join(", ")}`}
      />
      <ul>
        {functions.slice(0, NAMED).map(([name]) => (
          <li key={name}>
            <i class="swatch" style={{ background: table[colorOf(name, null)] }} /> <code>{visible(name, 60)}</code>
          </li>
        ))}
        {functions.length > NAMED && <li>and {count(functions.length - NAMED)} others</li>}
      </ul>
    </figure>
  );
}
