// From keys to commands. No command is run while a field has the focus.

import { COMMANDS, dialog } from "./commands";
import type { Command } from "./commands";

const byKey = new Map<string, Command>();
for (const command of COMMANDS) for (const key of command.keys) byKey.set(key, command);

function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  const kinds = ["text", "search", "number"];
  return target instanceof HTMLInputElement && kinds.includes(target.type);
}

/** The command of a key, if it has one. */
function commandOf(event: KeyboardEvent): Command | undefined {
  if (event.altKey) return undefined;
  const control = event.ctrlKey || event.metaKey;
  if (control) return byKey.get(`Ctrl+${event.key.toLowerCase()}`);
  const shifted = event.shiftKey ? byKey.get(`Shift+${event.key}`) : undefined;
  if (shifted !== undefined) return shifted;
  // A letter with Shift that has no command of its own is that without; arrows are not.
  if (event.shiftKey && event.key.startsWith("Arrow")) return undefined;
  return byKey.get(event.key) ?? byKey.get(event.key.toLowerCase());
}

const heldKeys = new Map<string, Command>();
let running = false;

function repeat(): void {
  if (running) return;
  running = true;
  let last = performance.now();
  const frame = (now: number) => {
    const seconds = Math.min(0.05, (now - last) / 1000);
    last = now;
    for (const command of heldKeys.values()) command.held?.(seconds);
    running = heldKeys.size > 0;
    if (running) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

export function observeKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || dialog.peek() !== null) return;
    if (isField(event.target)) {
      if (event.key === "Escape") (event.target as HTMLElement).blur();
      else if (!event.ctrlKey && !event.metaKey) return;
    }
    const command = commandOf(event);
    if (command === undefined) return;
    const target = event.target as Element | null;
    // Arrows belong to what has them: tabs, lists, radio buttons, dividers.
    const arrows = event.key.startsWith("Arrow") && !event.shiftKey;
    if (arrows && target !== document.body && target?.id !== "timeline") return;
    if (event.repeat && command.held === undefined && !arrows && !"jk,.np[]".includes(event.key)) return;
    event.preventDefault();
    if (command.held === undefined) command.run();
    else if (!event.repeat) {
      command.run();
      heldKeys.set(event.code, command);
      // A short press is one step; a held key moves with each frame.
      setTimeout(() => {
        if (heldKeys.has(event.code)) repeat();
      }, 180);
    }
  });
  addEventListener("keyup", (event) => heldKeys.delete(event.code));
  addEventListener("blur", () => heldKeys.clear());
}
