/** Keeps a failure of one part of the page from taking the rest with it. */

import { Component, type ComponentChildren } from "preact";
import { Notice } from "./notice.tsx";

export interface BoundaryProps {
  /** What is drawn inside, as it is in a sentence. */
  readonly what: string;
  /** Another value means other content, which gets its own chance. */
  readonly of: string;
  readonly children: ComponentChildren;
}

interface BoundaryState {
  readonly error: string;
}

export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { error: "" };

  static override getDerivedStateFromError(error: unknown): BoundaryState {
    return { error: error instanceof Error ? error.message : String(error) };
  }

  override componentDidUpdate(before: BoundaryProps): void {
    if (before.of !== this.props.of && this.state.error) this.setState({ error: "" });
  }

  override componentDidCatch(error: unknown): void {
    console.error(error);
  }

  override render({ what, children }: BoundaryProps, { error }: BoundaryState) {
    if (!error) return children;
    return (
      <Notice title={`${what} could not be drawn.`}>
        <p>
          This is a bug in Stepscope: <code>{error}</code>. The same numbers are in the exports and
          in <code>stepscope show</code>.
        </p>
      </Notice>
    );
  }
}
