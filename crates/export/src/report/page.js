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

// Timeline: one canvas for the threads of each unit.
const ROW = 16;
const redraws = data.units.map((unit, number_) => {
  const threads = data.threads.filter((t) => t.unit === unit);
  const canvas = at("timeline" + number_), status = at("slice" + number_);
  const places = threads.flatMap((t) => t.slices.flatMap((s) => [s[0], s[1]]).concat(t.losses));
  let first = places.reduce((a, b) => Math.min(a, b), Infinity);
  let last = places.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!isFinite(first)) { first = 0; last = 1; }
  let [view0, view1] = [first, Math.max(last, first + 1)];
  let placed = [];
  function timeline() {
    const style = getComputedStyle(document.documentElement);
    const width = canvas.clientWidth, ratio = devicePixelRatio || 1;
    let height = 22;
    const tops = threads.map((t) => { const top = height; height += 18 + (t.depth + 1) * ROW; return top; });
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
      for (const slice of thread.slices) {
        const [begin, end, depth, name] = slice;
        if (end < view0 || begin > view1) continue;
        const x = Math.max(0, (begin - view0) * scale), w = Math.max(1, Math.min(width, (end - view0) * scale) - x);
        const y = tops[n] + 18 + depth * ROW;
        c.fillStyle = hue(name);
        c.fillRect(x, y, w, ROW - 1);
        if (w > 5) placed.push([x, y, w, slice]);
        if (w > 30) {
          c.save();
          c.beginPath();
          c.rect(x, y, w - 2, ROW);
          c.clip();
          c.fillStyle = "#17120a";
          c.fillText(data.names[name], x + 3, y + ROW / 2);
          c.restore();
        }
      }
      c.fillStyle = style.getPropertyValue("--hot");
      for (const loss of thread.losses) {
        if (loss < view0 || loss > view1) continue;
        c.fillRect(Math.min(width - 2, (loss - view0) * scale), tops[n], 2, 18 + (thread.depth + 1) * ROW);
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
    const hit = placed.filter(([x, y, w]) => e.offsetX >= x && e.offsetX <= x + w && e.offsetY >= y && e.offsetY < y + ROW).pop();
    if (hit) status.textContent = `${data.names[hit[3][3]]}: ${number(hit[3][0])} to ${number(hit[3][1])}, ${number(hit[3][1] - hit[3][0])} ${unit}`;
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
