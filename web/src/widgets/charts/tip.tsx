/** What is beside the pointer in a chart, and is read out as keys move. */

import type { ComponentChildren } from "preact";
import { tipLeft } from "../../engine/key_step.ts";

export interface TipProps {
  /** The place it is about, px from the left of the chart, and how wide the chart is. */
  readonly x: number;
  readonly width: number;
  /** px from the top of the chart; as the style sheet says where absent. */
  readonly top?: number;
  readonly children: ComponentChildren;
}

const TIP_PX = 300;

export function Tip({ x, width, top, children }: TipProps) {
  const place = { left: `${tipLeft(x, width, TIP_PX)}px`, width: `${TIP_PX}px` };
  return (
    <div
      class="tip"
      role="status"
      style={top === undefined ? place : { ...place, top: `${top}px` }}
    >
      {children}
    </div>
  );
}
