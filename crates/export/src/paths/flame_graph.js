"use strict";
// Click: enlarge a frame. Escape, or a click on the heading: all frames. Typing: search by name.
const WIDTH = 1200, CHARACTER = 6.7;
const heading = document.querySelector("text.h"), whole = heading.textContent;
const frames = [...document.querySelectorAll("g.f")].map((group) => {
  const box = group.querySelector("rect"), number = (name) => Number(box.getAttribute(name));
  const title = group.querySelector("title").textContent;
  const name = title.slice(0, title.lastIndexOf(": "));
  return { group, box, title, name, x: number("x"), y: number("y"), width: number("width") };
});
let pattern = "";
function place(frame, x, width) {
  frame.group.style.display = width < 0.3 ? "none" : "";
  frame.box.setAttribute("x", x);
  frame.box.setAttribute("width", Math.max(0, width));
  let text = frame.group.querySelector("text");
  const room = Math.floor((width - 6) / CHARACTER);
  if (!text && room > 2) {
    text = document.createElementNS("http://www.w3.org/2000/svg", "text");
    text.setAttribute("y", frame.y + 12);
    frame.group.append(text);
  }
  if (!text) return;
  text.setAttribute("x", x + 3);
  text.textContent = room <= 2 ? "" : frame.name.length <= room ? frame.name : frame.name.slice(0, room - 1) + "\u2026";
}
function show(root) {
  const scale = WIDTH / root.width, near = 0.2;
  for (const frame of frames) {
    const above = frame.y < root.y && frame.x <= root.x + near && frame.x + frame.width >= root.x + root.width - near;
    const inside = frame.y >= root.y && frame.x >= root.x - near && frame.x + frame.width <= root.x + root.width + near;
    frame.group.style.opacity = above ? 0.55 : 1;
    if (above) place(frame, 0, WIDTH);
    else place(frame, (frame.x - root.x) * scale, inside ? frame.width * scale : 0);
  }
}
const all = { x: 0, y: -1, width: WIDTH };
function search() {
  let found = 0;
  for (const frame of frames) {
    const is = pattern !== "" && frame.name.toLowerCase().includes(pattern.toLowerCase());
    frame.box.style.stroke = is ? "#0a55c4" : "";
    frame.box.style.strokeWidth = is ? 2 : "";
    found += is;
  }
  heading.textContent = pattern === "" ? whole : `search: ${pattern} (${found} frames)`;
}
for (const frame of frames) {
  frame.group.addEventListener("click", () => { show(frame); heading.textContent = frame.title; });
}
heading.addEventListener("click", () => { show(all); heading.textContent = whole; });
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") { pattern = ""; show(all); }
  else if (event.key === "Backspace") pattern = pattern.slice(0, -1);
  else if (event.key.length === 1) pattern += event.key;
  else return;
  event.preventDefault();
  search();
});
