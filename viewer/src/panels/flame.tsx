// The flame graph of a report: which paths of calls have how many instructions, over the whole trace.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import * as state from "../model/state";
import type { Report } from "../data/types";
import { COLORS, colorOf, fills, theme } from "../draw/palette";
import { count, percent } from "../format";
import { visible } from "../text";
import { functionColor } from "../timeline/view";

const ROW = 24;
/** A frame with a name, which is chosen with the keyboard, is at least as wide; narrower ones are drawn only. */
const NAMED = 24;

export function Flame() {
  const report = state.capture.value?.exported?.report;
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [root, setRoot] = useState(0);
  const [text, setText] = useState("");
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  if (report === undefined) return null;
  return (
    <>
      <div class="panelhead">
        <p>The width of a function is its share of the instructions. Choose one to enlarge it.</p>
        <span class="space" />
        <button type="button" class="button" disabled={root === 0} onClick={() => setRoot(0)}>
          Show all
        </button>
      </div>
      <p class="panelhead" role="status">
        {text === "" ? `${count(report.instructions)} instructions` : text}
      </p>
      <div class="flame" id="flame" ref={box}>
        {width > 0 && <Frames report={report} width={width} root={root} choose={setRoot} describe={setText} />}
      </div>
    </>
  );
}

function Frames(props: { report: Report; width: number; root: number; choose: (n: number) => void; describe: (text: string) => void }) {
  const { report, width, root } = props;
  const [, base, first, sum] = report.flame[root] ?? [0, 0, 0, 1, 0];
  const colors = fills(theme.value);
  // A function has the colour that it has in the timeline.
  const ids = new Map([...state.functions.value.values()].map((own) => [own.name, own.id]));
  let deepest = 0;
  const colorOfName = (name: string, group: number | null) => {
    const id = ids.get(name);
    return id === undefined ? colorOf(name, group) : functionColor(id) % COLORS;
  };
  const shown = report.flame.flatMap(([name, depth, from, own, self], n) => {
    // What is below the chosen one, and what is around it.
    const isAround = from <= first && from + own >= first + sum && depth <= base;
    if (!isAround && (from < first || from >= first + sum || depth <= base)) return [];
    const x = isAround ? 0 : ((from - first) / sum) * width;
    const w = isAround ? width : (own / sum) * width;
    if (w < 1) return [];
    deepest = Math.max(deepest, depth);
    const label = visible(report.names[name] ?? "");
    const text = `${label}: ${count(own)} instructions (${percent(own, report.instructions)}), ${count(self)} of its own`;
    const style = {
      left: `${x}px`,
      top: `${depth * ROW}px`,
      width: `${w}px`,
      color: theme.value.label,
      background: colors[colorOfName(report.names[name] ?? "", report.group[name] ?? null)] ?? "",
    };
    const describe = () => props.describe(text);
    if (w < NAMED) return [<i key={n} style={style} title={text} onPointerEnter={describe} onClick={() => props.choose(n)} />];
    return [
      <button key={n} type="button" style={style} aria-label={text} aria-pressed={n === root} onFocus={describe} onPointerEnter={describe} onClick={() => props.choose(n)}>
        {label}
      </button>,
    ];
  });
  return <div style={{ height: `${(deepest + 1) * ROW}px` }}>{shown}</div>;
}
