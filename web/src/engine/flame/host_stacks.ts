/** Which threads and which steps the stacks of a host are of, as questions for a flame. */

import type { TimelineMeta } from "../../base/timeline.ts";

/** Threads that stacks are merged of, or one thread. */
export interface ThreadSet {
  readonly id: string;
  readonly label: string;
  readonly detail: string;
  readonly tracks: readonly number[];
}

export interface StepChoice {
  readonly id: string;
  readonly label: string;
  readonly begin: number;
  readonly end: number;
}

export interface StackChoice {
  /** Id of a thread set; the first where it is none. */
  readonly threads: string;
  /** Id of a step; all steps where it is none. */
  readonly step: string;
  /** What it stands against: "step:<id>", "run:<run>" or "". */
  readonly against: string;
  readonly inverted: boolean;
}

const STEP = "step:";
const RUN = "run:";

export const againstStep = (id: string) => STEP + id;
export const againstRun = (run: string) => RUN + run;

/** What Python's recorders call the thread that a program starts on. */
const MAIN = "MainThread";

/** The program's thread, then all, then each alone; those with the most events first. */
export function threadSets(meta: TimelineMeta): ThreadSet[] {
  const ofKind = (kind: string) =>
    meta.sections
      .filter((section) => section.kind === kind)
      .flatMap((section) => section.tracks)
      .filter((id) => meta.tracks[id]?.kind === "thread");
  const [python, host] = [ofKind("python"), ofKind("host")];
  const merged = [
    { id: "python", label: "All threads with Python calls", tracks: python },
    { id: "host", label: "All threads of the runtime", tracks: host },
  ].filter(({ tracks }) => tracks.length > 0);
  const events = (id: number) => meta.tracks[id]?.events ?? 0;
  const alone = [...python, ...host]
    .toSorted((a, b) => events(b) - events(a))
    .map((id) => {
      const track = meta.tracks[id];
      const section = meta.sections[track?.section ?? -1];
      return {
        id: String(id),
        label: track?.name ?? "",
        detail: section?.label ?? "",
        tracks: [id],
      };
    });
  const own = alone.find(({ label, tracks }) => label === MAIN && python.includes(tracks[0] ?? -1));
  const rest = alone.filter((each) => each !== own);
  return [...(own ? [own] : []), ...merged.map((each) => ({ ...each, detail: "" })), ...rest];
}

/** The steps of the first host that has any; ids are their places. */
export function stepChoices(meta: TimelineMeta): StepChoice[] {
  const found = meta.steps[0];
  if (!found) return [];
  return found.num.map((num, row) => ({
    id: String(row),
    label: found.name[row] || `step ${num}`,
    begin: found.begin_ps[row] as number,
    end: found.end_ps[row] as number,
  }));
}

/** From the first step to the last; the whole recording where it has none. */
function allSteps(meta: TimelineMeta): { begin: number; end: number } {
  const begins = meta.steps.flatMap(({ begin_ps }) => begin_ps.slice(0, 1));
  const ends = meta.steps.flatMap(({ end_ps }) => end_ps.slice(-1));
  if (begins.length === 0) return { begin: meta.begin_ps, end: meta.end_ps };
  return { begin: Math.min(...begins), end: Math.max(...ends) };
}

/** The question for a flame; null where no thread was recorded. */
export function stackQuestion(
  meta: TimelineMeta,
  choice: StackChoice,
): Readonly<Record<string, string | number>> | null {
  const sets = threadSets(meta);
  const threads = sets.find(({ id }) => id === choice.threads) ?? sets[0];
  if (!threads) return null;
  const steps = stepChoices(meta);
  const stepOf = (id: string) => steps.find((step) => step.id === id);
  const span = stepOf(choice.step) ?? allSteps(meta);
  const other = choice.against.startsWith(STEP)
    ? stepOf(choice.against.slice(STEP.length))
    : undefined;
  return {
    start_ps: span.begin,
    end_ps: Math.max(span.end, span.begin + 1),
    tracks: threads.tracks.join(","),
    by: "stack",
    ...(choice.inverted ? { inverted: "yes" } : {}),
    ...(other
      ? { base_start_ps: other.begin, base_end_ps: Math.max(other.end, other.begin + 1) }
      : {}),
    ...(choice.against.startsWith(RUN) ? { base_run: choice.against.slice(RUN.length) } : {}),
  };
}
