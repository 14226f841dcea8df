// A panel that cannot be drawn does not take the others with it.

import type { ComponentChildren } from "preact";
import { Component } from "preact";
import { Problem } from "./parts";

export class Boundary extends Component<{ children: ComponentChildren }, { reason: string | null }> {
  override state = { reason: null };

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ reason: error instanceof Error ? error.message : String(error) });
  }

  override render() {
    const { reason } = this.state;
    return reason === null ? this.props.children : <Problem text={reason} />;
  }
}
