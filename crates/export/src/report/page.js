"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const number = (n) => n.toLocaleString("en-US");
const make = (tag, text, name) => {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (name) e.className = name;
  return e;
};

// Functions: a table that each column sorts.
const columns = [["calls", 1], ["self", 2], ["self %", 2], ["total", 3], ["total %", 3]];
if (data.functions.some((f) => f[4] > 0)) columns.push(["cycles", 4]);
if (data.functions.some((f) => f[5] > 0)) columns.push(["ticks", 5]);
columns.push(["function", 0]);
let order = 2;
const share = (n) => (100 * n / Math.max(1, data.instructions)).toFixed(1);
function functions() {
  const rows = [...data.functions];
  rows.sort((a, b) => (order === 0 ? a[0].localeCompare(b[0]) : b[order] - a[order]));
  const body = at("functions").tBodies[0];
  body.replaceChildren(...rows.map((f) => {
    const row = make("tr");
    for (const [name, n] of columns) {
      row.append(make("td", n === 0 ? f[0] : name.endsWith("%") ? share(f[n]) : number(f[n]), n === 0 ? "name" : ""));
    }
    return row;
  }));
}
const head = at("functions") && at("functions").tHead.insertRow();
for (const [name, n] of head ? columns : []) {
  const cell = make("th", undefined, n === 0 ? "name" : "");
  cell.scope = "col";
  const button = make("button", name);
  button.onclick = () => { order = n; functions(); at("sorted").textContent = "Sorted by " + name + "."; };
  cell.append(button);
  head.append(cell);
}
if (head) functions();

// Flame graph: frames are buttons; one that is pressed takes the whole width.
// The hue of a name is that of its group, its lightness its own.
const groupColour = (group, light) =>
  data.groups[group] === "threads" ? `hsl(0 0% ${light}%)` : `hsl(${(group * 67 + 200) % 360} 55% ${light}%)`;
const hue = (name) => groupColour(data.group[name], 66 + (name * 5) % 12);
const legend = at("groups");
if (legend) {
  legend.append(...data.groups.map((name, group) => {
    const item = make("span"), mark = make("i");
    mark.style.background = groupColour(group, 70);
    item.append(mark, name);
    return item;
  }));
}
let root = 0;
function flame() {
  const box = at("flame");
  if (!box) return;
  const width = box.clientWidth - 2;
  if (data.flame.length === 0) return;
  const [, , from, sum] = data.flame[root];
  const frames = [];
  let deepest = 0;
  data.flame.forEach(([name, depth, left, own, self], n) => {
    const whole = left <= from && left + own >= from + sum;
    const x = whole ? 0 : (left - from) / sum * width;
    const w = whole ? width : own / sum * width;
    if (!whole && (left < from || left >= from + sum) || w < 1) return;
    deepest = Math.max(deepest, depth);
    const text = `${data.names[name]}: ${number(own)} instructions (${share(own)} %), ${number(self)} itself`;
    const frame = make("button", w > 24 ? data.names[name] : "", depth < data.flame[root][1] ? "dim" : "");
    frame.style.cssText = `left:${x}px;top:${depth * 18}px;width:${Math.max(1, w)}px;background:${hue(name)}`;
    frame.setAttribute("aria-label", text);
    frame.onclick = () => { root = n; flame(); at("where").textContent = text; };
    frame.onfocus = frame.onmouseenter = () => { at("where").textContent = text; };
    if (w < 8) {
      frame.tabIndex = -1;
      // Not wider than its share.
      frame.style.padding = "0";
    }
    frames.push(frame);
  });
  const room = make("div");
  room.style.height = `${(deepest + 1) * 18}px`;
  box.replaceChildren(room, ...frames);
}
if (at("reset")) at("reset").onclick = () => { root = 0; flame(); };

// Timeline: one canvas for the threads of each unit. Its rows are lower where they are many.
const ROW = 16, LABEL = 18, ROOM = 6000;
// Slices that are narrower than this are drawn as their shares of the height of a block.
const NARROW = 4, BLOCK = 8;
// Adds to the blocks of a row, from `x` on, the share of them that a function of the width `w` has.
function addShare(dense, depth, x, w, name) {
  const blocks = dense.get(depth) || dense.set(depth, new Map()).get(depth);
  for (let block = Math.floor(x / BLOCK); block * BLOCK <= x + w; block++) {
    const part = Math.min((block + 1) * BLOCK, x + w) - Math.max(block * BLOCK, x);
    const names = blocks.get(block) || blocks.set(block, new Map()).get(block);
    names.set(name, (names.get(name) || 0) + part / BLOCK);
  }
}
const redraws = data.units.map((unit, number_) => {
  const threads = data.threads.filter((t) => t.unit === unit);
  const canvas = at("timeline" + number_), status = at("slice" + number_);
  const places = threads.flatMap((t) => t.slices.flatMap((s) => [s[0], s[1]]).concat(t.losses));
  let first = places.reduce((a, b) => Math.min(a, b), Infinity);
  let last = places.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!isFinite(first)) { first = 0; last = 1; }
  let [view0, view1] = [first, Math.max(last, first + 1)];
  let placed = [], row = ROW;
  function timeline() {
    const style = getComputedStyle(document.documentElement);
    const width = canvas.clientWidth;
    let height = 22;
    const deep = threads.reduce((sum, t) => sum + t.depth + 1, 0);
    row = Math.max(1, Math.min(ROW, Math.floor((ROOM - LABEL * threads.length) / Math.max(1, deep))));
    const tops = threads.map((t) => { const top = height; height += LABEL + (t.depth + 1) * row; return top; });
    // Browsers have a limit of the height of a canvas.
    const ratio = Math.min(devicePixelRatio || 1, 30000 / height);
    canvas.style.height = height + "px";
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const c = canvas.getContext("2d");
    c.scale(ratio, ratio);
    c.font = "11px monospace";
    c.textBaseline = "middle";
    const scale = width / (view1 - view0);
    placed = [];
    c.fillStyle = style.getPropertyValue("--dim");
    const marks = Math.min(4, Math.max(1, Math.floor(view1 - view0)));
    for (let n = 0; n <= marks; n++) {
      const text = number(Math.round(view0 + (view1 - view0) * n / marks));
      c.fillText(text, Math.min(width - c.measureText(text).width, n * width / marks), 10);
    }
    threads.forEach((thread, n) => {
      c.fillStyle = style.getPropertyValue("--fg");
      c.fillText(thread.name, 4, tops[n] + 9);
      const dense = new Map();
      const label = (name, x, y, w, colour = "#17120a") => {
        if (w <= 30 || row < 10) return;
        c.save();
        c.beginPath();
        c.rect(x, y, w - 2, row);
        c.clip();
        c.fillStyle = colour;
        c.fillText(data.names[name], x + 3, y + row / 2);
        c.restore();
      };
      for (const slice of thread.slices) {
        const [begin, end, depth, name] = slice;
        if (end < view0 || begin > view1) continue;
        const x = Math.max(0, (begin - view0) * scale), w = Math.min(width, (end - view0) * scale) - x;
        if (w < NARROW) {
          addShare(dense, depth, x, w, name);
          continue;
        }
        const y = tops[n] + LABEL + depth * row;
        c.fillStyle = hue(name);
        c.fillRect(x, y, w, Math.max(1, row - 1));
        placed.push([x, y, w, slice]);
        label(name, x, y, w);
      }
      for (const [depth, blocks] of dense) {
        const y = tops[n] + LABEL + depth * row, room = Math.max(1, row - 1);
        let run = null;
        for (const [block, names] of [...blocks].sort((a, b) => a[0] - b[0])) {
          const shares = [...names].sort((a, b) => b[1] - a[1]), x = block * BLOCK;
          let top = y;
          for (const [name, part] of shares) {
            c.fillStyle = hue(name);
            c.fillRect(x, top, BLOCK, Math.max(1, part * room));
            top += part * room;
          }
          const texts = shares.slice(0, 4).map(([name, part]) => `${data.names[name]} ${Math.round(100 * part)} %`);
          placed.push([x, y, BLOCK, null, texts.join(", ") + ` of this part`]);
          const [name] = shares[0];
          // A name above the bars has the colour of text on the background.
          const colour = top - y < room * 0.6 ? style.getPropertyValue("--fg") : undefined;
          if (run && run.name === name && run.end === x) run.end += BLOCK;
          else {
            if (run) label(run.name, run.x, y, run.end - run.x, run.colour);
            run = { name, x, end: x + BLOCK, colour };
          }
        }
        if (run) label(run.name, run.x, y, run.end - run.x, run.colour);
      }
      c.fillStyle = style.getPropertyValue("--hot");
      for (const loss of thread.losses) {
        if (loss < view0 || loss > view1) continue;
        c.fillRect(Math.min(width - 2, (loss - view0) * scale), tops[n] + LABEL, 2, (thread.depth + 1) * row);
      }
    });
  }
  function zoom(factor, centre) {
    const span = Math.min(Math.max(1, (view1 - view0) * factor), last - first + 1);
    view0 = Math.max(first, Math.min(centre - (centre - view0) * factor, last + 1 - span));
    view1 = view0 + span;
    timeline();
  }
  const move = (part) => zoom(1, 0 * (view0 += part * (view1 - view0)) + view0);
  const time = (x) => view0 + (view1 - view0) * x / canvas.clientWidth;
  canvas.onwheel = (e) => { if (e.ctrlKey || e.shiftKey) { e.preventDefault(); zoom(e.deltaY > 0 ? 1.3 : 1 / 1.3, time(e.offsetX)); } };
  const middle = () => (view0 + view1) / 2;
  canvas.onkeydown = (e) => {
    const keys = { "+": () => zoom(0.5, middle()), "-": () => zoom(2, middle()), ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "0": all };
    if (keys[e.key]) { keys[e.key](); e.preventDefault(); }
  };
  canvas.onmousemove = (e) => {
    const hit = placed.filter(([x, y, w]) => e.offsetX >= x && e.offsetX <= x + w && e.offsetY >= y && e.offsetY < y + row).pop();
    if (hit) status.textContent = hit[4] || `${data.names[hit[3][3]]}: ${number(hit[3][0])} to ${number(hit[3][1])}, ${number(hit[3][1] - hit[3][0])} ${unit}`;
  };
  let drag = null;
  canvas.onmousedown = (e) => { drag = time(e.offsetX); };
  canvas.onmouseup = (e) => {
    const to = time(e.offsetX);
    if (drag !== null && Math.abs(to - drag) > (view1 - view0) / 100) { [view0, view1] = [Math.min(drag, to), Math.max(drag, to)]; timeline(); }
    drag = null;
  };
  function all() { [view0, view1] = [first, Math.max(last, first + 1)]; timeline(); }
  const does = [() => zoom(0.5, middle()), () => zoom(2, middle()), () => move(-0.3), () => move(0.3), all];
  [...at("tools" + number_).children].forEach((button, n) => { button.onclick = does[n]; });
  return timeline;
});
const timelines = () => redraws.forEach((redraw) => redraw());

addEventListener("resize", () => { flame(); timelines(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", timelines);
flame();
timelines();
