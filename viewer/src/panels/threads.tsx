// The threads of a report over time: those that run in several buffers have one row of calls each.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import * as state from "../model/state";
import type { Report, ReportThread } from "../data/types";
import { colorOf, fills, theme } from "../draw/palette";
import { count, things } from "../format";
import { visible } from "../text";

const [ROW, LABEL, AXIS] = [16, 20, 18];
/** Browsers have a limit of the height of a canvas. */
const MOST_HEIGHT = 15_000;

/** Whether there is something that the timeline does not show: it has one buffer, and one unit of time. */
export function hasThreads(report: Report | undefined, buffers: number): boolean {
  if (report === undefined || report.threads.length === 0) return false;
  return buffers !== 1 || new Set(report.threads.map((thread) => thread.unit)).size > 1;
}

export function Threads() {
  const report = state.capture.value?.exported?.report;
  if (report === undefined) return null;
  const units = [...new Set(report.threads.map((thread) => thread.unit))];
  return (
    <div class="document">
      {units.map((unit) => (
        <Unit key={unit} report={report} unit={unit} threads={report.threads.filter((thread) => thread.unit === unit)} />
      ))}
    </div>
  );
}

function Unit(props: { report: Report; unit: string; threads: ReportThread[] }) {
  const { report, unit, threads } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [text, setText] = useState("");
  let [least, most] = [Infinity, -Infinity];
  for (const thread of threads) {
    for (const [begin, end] of thread.slices) [least, most] = [Math.min(least, begin), Math.max(most, end)];
    for (const at of thread.losses) [least, most] = [Math.min(least, at), Math.max(most, at)];
  }
  const [first, last] = least <= most ? [least, Math.max(most, least + 1)] : [0, 1];
  const [view, setView] = useState<[number, number]>([first, last]);
  const deep = threads.reduce((sum, thread) => sum + thread.depth + 1, 0);
  const row = Math.max(1, Math.min(ROW, Math.floor((MOST_HEIGHT - LABEL * threads.length) / Math.max(1, deep))));
  const height = AXIS + LABEL * threads.length + row * deep;
  useLayoutEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current !== null && width > 0) draw(canvas.current, report, threads, view, width, height, row);
  }, [width, view, theme.value]);
  const zoom = (factor: number, at: number) => {
    const span = Math.min(last - first, Math.max(1, (view[1] - view[0]) * factor));
    const from = Math.max(first, Math.min(last - span, at - ((at - view[0]) / (view[1] - view[0])) * span));
    setView([from, from + span]);
  };
  const middle = (view[0] + view[1]) / 2;
  const move = (share: number) => {
    const span = view[1] - view[0];
    const from = Math.max(first, Math.min(last - span, view[0] + share * span));
    setView([from, from + span]);
  };
  const at = (event: MouseEvent) => view[0] + ((view[1] - view[0]) * event.offsetX) / Math.max(1, width);
  const under = (event: MouseEvent) => {
    let top = AXIS;
    for (const thread of threads) {
      const depth = Math.floor((event.offsetY - top - LABEL) / row);
      top += LABEL + (thread.depth + 1) * row;
      if (event.offsetY >= top) continue;
      const slice = thread.slices.find(([begin, end, own]) => own === depth && begin <= at(event) && end > at(event));
      return slice === undefined ? visible(thread.name) : `${visible(report.names[slice[3]] ?? "")}: ${count(slice[0])} to ${count(slice[1])}, ${count(slice[1] - slice[0])} ${unit}`;
    }
    return "";
  };
  return (
    <section aria-label={`Threads, in ${unit}`}>
      <p class="panelhead">
        <span>Functions of each thread over time, in {unit}. A vertical line is a loss of trace.</span>
        <span class="space" />
        <button type="button" class="button" onClick={() => zoom(0.5, middle)}>Zoom in</button>
        <button type="button" class="button" onClick={() => zoom(2, middle)}>Zoom out</button>
        <button type="button" class="button" onClick={() => move(-0.3)}>Earlier</button>
        <button type="button" class="button" onClick={() => move(0.3)}>Later</button>
        <button type="button" class="button" onClick={() => setView([first, last])}>Show all</button>
      </p>
      <p role="status">{text === "" ? things(threads.length, "thread") : text}</p>
      <canvas
        ref={canvas}
        role="img"
        aria-label={`Timeline of ${things(threads.length, "thread")}; the table below lists them`}
        style={{ width: "100%", height: `${height}px` }}
        onWheel={(event) => {
          if (!event.ctrlKey && !event.shiftKey) return;
          event.preventDefault();
          zoom(event.deltaY > 0 ? 1.3 : 1 / 1.3, at(event));
        }}
        onPointerMove={(event) => setText(under(event))}
      />
      <table>
        <thead>
          <tr>
            <th scope="col">thread</th>
            <th scope="col">calls</th>
            <th scope="col">losses of trace</th>
          </tr>
        </thead>
        <tbody>
          {threads.map((thread, n) => (
            <tr key={n}>
              <td>{visible(thread.name)}</td>
              <td>{count(thread.slices.length)}</td>
              <td>{count(thread.losses.length)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function draw(
  canvas: HTMLCanvasElement,
  report: Report,
  threads: ReportThread[],
  [from, to]: [number, number],
  width: number,
  height: number,
  row: number,
): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const ratio = Math.min(devicePixelRatio, 30_000 / height);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.scale(ratio, ratio);
  context.font = "11px monospace";
  context.textBaseline = "middle";
  const [colors, own] = [fills(theme.value), theme.value];
  const scale = width / (to - from);
  context.fillStyle = own.soft;
  for (let n = 0; n <= 4; n++) {
    const text = count(Math.round(from + ((to - from) * n) / 4));
    context.fillText(text, Math.min(width - context.measureText(text).width, (n * width) / 4), AXIS / 2);
  }
  let top = AXIS;
  for (const thread of threads) {
    context.fillStyle = own.text;
    context.fillText(visible(thread.name), 2, top + LABEL / 2);
    for (const [begin, end, depth, name] of thread.slices) {
      if (end < from || begin > to) continue;
      const x = Math.max(0, (begin - from) * scale);
      const w = Math.max(0.5, Math.min(width, (end - from) * scale) - x);
      const y = top + LABEL + depth * row;
      context.fillStyle = colors[colorOf(report.names[name] ?? "", report.group[name] ?? null)] ?? own.soft;
      context.fillRect(x, y, w, Math.max(1, row - 1));
      if (w < 30 || row < 10) continue;
      context.save();
      context.beginPath();
      context.rect(x, y, w - 2, row);
      context.clip();
      context.fillStyle = own.label;
      context.fillText(visible(report.names[name] ?? ""), x + 3, y + row / 2);
      context.restore();
    }
    context.fillStyle = own.bad;
    for (const loss of thread.losses) {
      if (loss >= from && loss <= to) context.fillRect((loss - from) * scale, top + LABEL, 2, (thread.depth + 1) * row);
    }
    top += LABEL + (thread.depth + 1) * row;
  }
}
