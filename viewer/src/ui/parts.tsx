// Small pieces that panels share.

import type { ComponentChildren } from "preact";
import { COLORS, fills, theme } from "../draw/palette";
import { functionName } from "../model/state";
import { functionColor } from "../timeline/view";
import { visible } from "../text";

/** Why a panel shows nothing, and what to do. */
export function Empty(props: { what: string; children?: ComponentChildren }) {
  return (
    <p class="empty">
      <strong>{props.what}</strong>
      {props.children}
    </p>
  );
}

export function Working() {
  return <Empty what="Reading the trace…" />;
}

export function Problem(props: { text: string }) {
  return (
    <Empty what="This could not be read.">
      <span>{visible(props.text, 600)}</span>
    </Empty>
  );
}

/** The name of a function with its colour in the timeline. */
export function FunctionName(props: { id: number; name?: string }) {
  const fill = fills(theme.value)[functionColor(props.id) % COLORS];
  return (
    <>
      <i class="swatch" aria-hidden="true" style={{ background: fill ?? "" }} />
      <span class="code">{visible(props.name ?? functionName(props.id))}</span>
    </>
  );
}
