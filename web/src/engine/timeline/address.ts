/** The whole view in the address: `tl.*` parameters. */

import type { Span, TimelineMeta } from "../../base/timeline.ts";
import { type Arrangement, AS_RECORDED, opened } from "./arrangement.ts";

export type ColourMode = "name" | "category" | "step";
export type Hand = "select" | "pan" | "zoom" | "timing";
export const HANDS: readonly Hand[] = ["select", "pan", "zoom", "timing"];
export const COLOUR_MODES: readonly ColourMode[] = ["name", "category", "step"];

/** What is looked for in the whole trace. */
export interface Sought {
  readonly text: string;
  readonly regex: boolean;
  /** Name of the stat whose values are searched; "" for names. */
  readonly stat: string;
}

/** How a range is shown as a flame. */
export interface FlameView {
  /** Groups from the root on, as the server takes them. */
  readonly by: string;
  readonly inverted: boolean;
  /** Range that it is compared with; of another run: null is its steps. */
  readonly base: Span | null;
  /** Run that the base is of; "" for this one. */
  readonly baseRun: string;
}

/** A view with a name. */
export interface Bookmark {
  readonly name: string;
  readonly span: Span;
}

/** Another run below this one. */
export interface SecondRun {
  readonly run: string;
  /** Number of the step that begins at once in both; null: one that is in view. */
  readonly step: number | null;
}

export interface TimelineLink {
  /** null: the whole trace. */
  readonly view: Span | null;
  readonly scroll: number;
  readonly event: number | null;
  readonly range: Span | null;
  /** Tracks of the range; null: all. */
  readonly rangeTracks: readonly number[] | null;
  /** null: the range is shown as tables. */
  readonly flame: FlameView | null;
  readonly second: SecondRun | null;
  /** Whether the critical path of the range is shown. */
  readonly path: boolean;
  readonly marks: readonly number[];
  /** What is written at a mark, by its time. */
  readonly notes: ReadonlyMap<number, string>;
  readonly bookmarks: readonly Bookmark[];
  readonly logCounters: boolean;
  readonly sought: Sought;
  readonly colours: ColourMode;
  readonly hand: Hand;
  readonly arranged: Arrangement;
  readonly arrows: boolean;
  /** Section to go to, as another page names it; not kept in the address. */
  readonly at: number | null;
}

type Texts = Readonly<Record<string, string>>;

function spanText(span: Span | null): string {
  return span ? `${Math.round(span.begin)}~${Math.round(span.end)}` : "";
}

function spanFrom(text: string | undefined): Span | null {
  const match = /^(-?\d{1,16})~(-?\d{1,16})$/.exec(text ?? "");
  if (!match) return null;
  const span = { begin: Number(match[1]), end: Number(match[2]) };
  return span.end > span.begin ? span : null;
}

function numbers(text: string | undefined): number[] {
  return (text ?? "")
    .split(",")
    .filter((part) => /^-?\d{1,16}$/.test(part))
    .map(Number);
}

function pairs(text: string | undefined): [number, number][] {
  return (text ?? "")
    .split(",")
    .map((part) => /^(\d{1,9})-(\d{1,9})$/.exec(part))
    .filter((match) => match !== null)
    .map((match) => [Number(match[1]), Number(match[2])]);
}

/** `place:text` parts; what cannot be read is left out. */
function named(text: string | undefined): [string, string][] {
  return (text ?? "").split(",").flatMap((part) => {
    const match = /^(-?\d{1,16}(?:~-?\d{1,16})?):(.*)$/.exec(part);
    if (!match) return [];
    try {
      return [[match[1] as string, decodeURIComponent(match[2] as string).slice(0, LONGEST_NOTE)]];
    } catch {
      return [];
    }
  });
}

/** An address has room for a sentence at each mark. */
export const LONGEST_NOTE = 200;

const pairText = ([a, b]: readonly [number, number]) => `${a}-${b}`;

/** A section by its name, or by the end of it: "/device:GPU:6", "GPU:6". */
function sectionNamed(name: string, meta: TimelineMeta): number | null {
  if (name === "") return null;
  const found =
    meta.sections.find((section) => section.name === name) ??
    meta.sections.find((section) => section.name.endsWith(name));
  return found?.id ?? null;
}

function tracksAt(name: string, meta: TimelineMeta): readonly number[] | null {
  const id = sectionNamed(name, meta);
  return meta.sections.find((section) => section.id === id)?.tracks ?? null;
}

function flameTexts(flame: FlameView | null): Record<string, string> {
  if (!flame) return {};
  const { by, inverted, base, baseRun } = flame;
  return { flame: inverted ? `${by},inverted` : by, base: spanText(base), baserun: baseRun };
}

function flameFrom(texts: Texts): FlameView | null {
  const groups = (texts.flame ?? "").split(",").filter(Boolean);
  const by = groups.filter((group) => group !== "inverted").join(",");
  if (by === "") return null;
  const inverted = groups.includes("inverted");
  return { by, inverted, base: spanFrom(texts.base), baseRun: texts.baserun ?? "" };
}

/** How the tracks are arranged at first; an address that names something to look at is kept to. */
export function arrangedFor(link: TimelineLink, meta: TimelineMeta, first: Span): Arrangement {
  const { view, event, range, at, arranged } = link;
  const named = [view, event, range, at].some((part) => part !== null);
  return named ? arranged : opened(arranged, meta, first);
}

export function linkTexts(link: TimelineLink): Record<string, string> {
  const { arranged, sought } = link;
  const all: Record<string, string> = {
    view: spanText(link.view),
    y: link.scroll > 0 ? String(Math.round(link.scroll)) : "",
    event: link.event === null ? "" : String(link.event),
    range: spanText(link.range),
    in: link.range && link.rangeTracks ? link.rangeTracks.join(",") : "",
    ...flameTexts(link.flame),
    path: link.path ? "critical" : "",
    with: link.second?.run ?? "",
    align: link.second && link.second.step !== null ? String(link.second.step) : "",
    marks: link.marks.map(Math.round).join(","),
    notes: [...link.notes]
      .filter(([at, text]) => text !== "" && link.marks.includes(at))
      .map(([at, text]) => `${Math.round(at)}:${encodeURIComponent(text)}`)
      .join(","),
    books: link.bookmarks
      .map(({ name, span }) => `${spanText(span)}:${encodeURIComponent(name)}`)
      .join(","),
    counters: link.logCounters ? "log" : "",
    q: sought.text,
    mode: sought.regex ? "regex" : "",
    stat: sought.stat,
    colours: link.colours === "name" ? "" : link.colours,
    hand: link.hand === "select" ? "" : link.hand,
    arrows: link.arrows ? "all" : "",
    pin: arranged.pinned.join(","),
    hide: [...arranged.hidden].join(","),
    closed: [...arranged.closed].join(","),
    full: [...arranged.full].join(","),
    sections: [...arranged.closedSections].join(","),
    moves: arranged.moves.map(pairText).join(","),
    heights: [...arranged.heights].map(pairText).join(","),
    filter: arranged.filter,
    busy: arranged.busyOnly ? "only" : "",
  };
  return Object.fromEntries(Object.entries(all).filter(([, text]) => text !== ""));
}

export function linkFrom(texts: Texts, meta: TimelineMeta): TimelineLink {
  const tracks = (text: string | undefined) => numbers(text).filter((id) => id in meta.tracks);
  const event = numbers(texts.event)[0];
  return {
    view: spanFrom(texts.view),
    scroll: Math.max(0, numbers(texts.y)[0] ?? 0),
    event: event !== undefined && event >= 0 && event < meta.events ? event : null,
    range: spanFrom(texts.range),
    rangeTracks: texts.in ? tracks(texts.in) : tracksAt(texts.at ?? "", meta),
    flame: flameFrom(texts),
    path: texts.path === "critical",
    second: texts.with ? { run: texts.with, step: numbers(texts.align)[0] ?? null } : null,
    marks: numbers(texts.marks),
    notes: new Map(named(texts.notes).map(([at, text]) => [Number(at), text])),
    bookmarks: named(texts.books).flatMap(([at, name]) => {
      const span = spanFrom(at);
      return span ? [{ name, span }] : [];
    }),
    logCounters: texts.counters === "log",
    sought: { text: texts.q ?? "", regex: texts.mode === "regex", stat: texts.stat ?? "" },
    colours: COLOUR_MODES.find((mode) => mode === texts.colours) ?? "name",
    hand: HANDS.find((hand) => hand === texts.hand) ?? "select",
    arrows: texts.arrows === "all",
    at: sectionNamed(texts.at ?? "", meta),
    arranged: {
      ...AS_RECORDED,
      pinned: tracks(texts.pin),
      hidden: new Set(tracks(texts.hide)),
      closed: new Set(tracks(texts.closed)),
      full: new Set(tracks(texts.full)),
      closedSections: new Set(numbers(texts.sections)),
      moves: pairs(texts.moves),
      heights: new Map(pairs(texts.heights)),
      filter: texts.filter ?? "",
      busyOnly: texts.busy === "only",
    },
  };
}
