// A canvas in device pixels, and how shapes with meaning are drawn.

import type { Theme } from "./palette";

export interface Surface {
  context: CanvasRenderingContext2D;
  /** In CSS pixels. */
  width: number;
  height: number;
}

/** Fits a canvas to its element, cleared. */
export function prepare(canvas: HTMLCanvasElement): Surface | null {
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  const context = canvas.getContext("2d");
  if (context === null || width === 0 || height === 0) return null;
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

const patterns = new Map<string, CanvasPattern | null>();

/** Diagonal lines: trace that is missing. */
export function hatch(context: CanvasRenderingContext2D, theme: Theme): CanvasPattern | string {
  const ratio = window.devicePixelRatio || 1;
  const key = `${theme.gap} ${theme.surface} ${ratio}`;
  let pattern = patterns.get(key);
  if (pattern === undefined) {
    const size = Math.round(8 * ratio);
    const tile = document.createElement("canvas");
    tile.width = size;
    tile.height = size;
    const c = tile.getContext("2d");
    if (c !== null) {
      c.fillStyle = theme.sunken;
      c.fillRect(0, 0, size, size);
      c.strokeStyle = theme.gap;
      c.lineWidth = Math.max(1, 1.3 * ratio);
      c.beginPath();
      for (const shift of [-size, 0, size]) {
        c.moveTo(shift, size);
        c.lineTo(shift + size, 0);
      }
      c.stroke();
    }
    pattern = context.createPattern(tile, "repeat");
    pattern?.setTransform(new DOMMatrix().scale(1 / ratio));
    patterns.set(key, pattern);
  }
  return pattern ?? theme.gap;
}

const widths = new Map<string, number>();

/** The width of a text, measured once. */
export function textWidth(context: CanvasRenderingContext2D, text: string): number {
  const key = `${context.font}\n${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 5000) widths.clear();
    width = context.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

/** `text`, cut with an ellipsis to `width`; empty where no letter has room. */
export function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  const whole = textWidth(context, text);
  if (whole <= width) return text;
  const letters = Math.floor((text.length * width) / whole) - 1;
  return letters >= 2 ? `${text.slice(0, letters)}…` : "";
}

/** The rectangles of one picture by colour: few changes of state, text last. */
export class Rectangles {
  private readonly byFill = new Map<string, number[]>();

  add(fill: string, x: number, y: number, width: number, height: number): void {
    let list = this.byFill.get(fill);
    if (list === undefined) {
      list = [];
      this.byFill.set(fill, list);
    }
    list.push(x, y, width, height);
  }

  paint(context: CanvasRenderingContext2D): void {
    for (const [fill, list] of this.byFill) {
      context.fillStyle = fill;
      for (let k = 0; k < list.length; k += 4) {
        context.fillRect(
          list[k] as number,
          list[k + 1] as number,
          list[k + 2] as number,
          list[k + 3] as number,
        );
      }
    }
  }
}
