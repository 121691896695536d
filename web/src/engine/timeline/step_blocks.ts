/** Steps as blocks on the ruler; those too narrow to see are one block together. */

import type { Span, TimelineSteps } from "../../base/timeline.ts";

export interface StepBlock {
  readonly x: number;
  readonly width: number;
  /** The step's name, or how many steps there are. */
  readonly text: string;
  readonly count: number;
  /** Neighbouring single steps take turns. */
  readonly odd: boolean;
}

interface Run {
  readonly first: number;
  readonly left: number;
  narrow: boolean;
  right: number;
  count: number;
}

const NARROWEST_PX = 3;
/** A step among narrow ones that is only a little wider than they are: no name fits in it either. */
const LITTLE_WIDER_PX = 8;

/** Whether a step of this width becomes one block with the run before it. */
function joins(run: Run, width: number): boolean {
  if (run.narrow) return width < LITTLE_WIDER_PX;
  return width < NARROWEST_PX && run.right - run.left < LITTLE_WIDER_PX;
}

/** The blocks of the steps in view, on `width` px. */
export function stepBlocks(steps: TimelineSteps, view: Span, width: number): StepBlock[] {
  const scale = width / (view.end - view.begin);
  const blocks: StepBlock[] = [];
  let run: Run | null = null;
  const close = () => {
    if (!run) return;
    const { first, left, right, count } = run;
    const alone = steps.name[first] || String(steps.num[first]);
    const text = count === 1 ? alone : `${count} steps`;
    const wide = Math.max(1, right - left);
    blocks.push({ x: left, width: wide, text, count, odd: count === 1 && first % 2 === 1 });
    run = null;
  };
  for (let i = 0; i < steps.num.length; i++) {
    const begin = steps.begin_ps[i] as number;
    const end = steps.end_ps[i] as number;
    if (end < view.begin || begin > view.end) continue;
    const left = Math.max(0, (begin - view.begin) * scale);
    const right = Math.min(width, (end - view.begin) * scale);
    const narrow = right - left < NARROWEST_PX;
    if (run && left - run.right < NARROWEST_PX && joins(run, right - left)) {
      run.right = Math.max(run.right, right);
      run.count += 1;
      run.narrow = true;
      continue;
    }
    close();
    run = { first: i, left, right, count: 1, narrow };
  }
  close();
  return blocks;
}
