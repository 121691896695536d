/** A report answers the questions that the pages put to a server, from its archive. */

import { learnShortNames } from "../base/short_name.ts";
import type { TimelineMeta } from "../base/timeline.ts";
import { type Archive, takeArchive } from "./archive.ts";
import { type Events, readEvents } from "./events.ts";
import { arrowsAround, arrowsIn, eventDetails, flowsOf, type Names } from "./places.ts";
import { densityAnswer, rangeAnswer, searchAnswer } from "./queries.ts";
import { tileBytes, wantedOf } from "./tiles.ts";

const ROOT = "api/v1/";
/** What addresses say beside the question itself: a report holds one run in one layout. */
const UNSAID = ["run", "layout", "v"];
const NOT_FOUND = 404;

/** What only the recording itself answers, by the beginning of the question. */
const ASKING: readonly (readonly [string, string])[] = [
  ["sql", "A query"],
  ["timeline/flame", "The flame of a range"],
  ["timeline/path", "The critical path of a range"],
  ["tool/compare", "A comparison"],
  ["runs", "The list of runs"],
];

/** Why a report has no answer, as the server would say it. */
function refusal(what: string, hint: string): Response {
  const body = { error: "not-in-report", what, where: "", why: "", hint };
  return new Response(JSON.stringify(body), { status: NOT_FOUND });
}

class Report {
  private timeline: Promise<{ events: Events; names: Names }> | null = null;

  constructor(private readonly archive: Archive) {}

  get notes(): readonly string[] {
    return this.archive.manifest.notes;
  }

  /** The answer to a question of the pages. */
  async answer(url: string): Promise<Response> {
    try {
      return await this.found(url);
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error);
      return refusal(`This report cannot be read: ${what}`, "Copy the file again; it was cut off.");
    }
  }

  private async found(url: string): Promise<Response> {
    const [path = "", search = ""] = url.slice(ROOT.length).split("?");
    const asked = new URLSearchParams(search);
    for (const name of UNSAID) asked.delete(name);
    asked.sort();
    const question = asked.toString();
    const member = question ? `${path}?${question}` : path;
    if (this.archive.has(member)) return new Response(await this.archive.bytes(member));
    const asking = ASKING.find(([begin]) => path.startsWith(begin));
    if (asking) {
      return refusal(
        `${asking[1]} reads the recording itself, which a report does not hold.`,
        "Open the recording: stepscope serve PATH.",
      );
    }
    const part = path.startsWith("timeline/") ? path.slice("timeline/".length) : "";
    if (part && this.archive.has("timeline/events")) return this.ask(part, asked);
    return refusal(
      "This report has no answer to that.",
      "It holds each page as it opens first. Open the recording itself for other choices.",
    );
  }

  private async ask(part: string, asked: URLSearchParams): Promise<Response> {
    this.timeline ??= this.load();
    const { events, names } = await this.timeline;
    if (part === "tile") return new Response(tileBytes(events, tileQuestion(asked)));
    const found = answered(part, asked, events, names);
    if (found === null) {
      return refusal(
        "This report does not hold that.",
        "It may be beyond the events that were put in. Open the recording itself for all.",
      );
    }
    return new Response(JSON.stringify(found));
  }

  private async load(): Promise<{ events: Events; names: Names }> {
    const [bytes, counters, meta, names, short_names] = await Promise.all([
      this.archive.bytes("timeline/events"),
      this.archive.bytes("timeline/counters"),
      this.archive.json<TimelineMeta>("timeline/meta"),
      this.archive.json<readonly string[]>("timeline/texts"),
      this.archive.json<Readonly<Record<string, string>>>("timeline/short_names"),
    ]);
    learnShortNames({ short_names });
    return { events: readEvents(bytes, counters, meta), names };
  }
}

/** The report behind this page; null where a server answers. */
export const report: Report | null = (() => {
  const archive = takeArchive();
  return archive && new Report(archive);
})();

function tileQuestion(asked: URLSearchParams) {
  const number = (name: string) => Number(asked.get(name));
  return {
    tracks: asked.get("tracks") ?? "",
    begin: number("start_ps"),
    end: number("end_ps"),
    width: number("width_px"),
    most: number("max_slices"),
  };
}

function answered(
  part: string,
  asked: URLSearchParams,
  events: Events,
  names: Names,
): object | null {
  const { meta } = events;
  const number = (name: string, fallback: number) =>
    asked.has(name) ? Number(asked.get(name)) : fallback;
  const begin = number("start_ps", meta.begin_ps);
  const end = number("end_ps", meta.end_ps);
  const named = asked.has("tracks")
    ? new Set(wantedOf(asked.get("tracks") ?? "").map(({ track }) => track))
    : null;
  const tracks = named ?? new Set(meta.tracks.map(({ id }) => id));
  switch (part) {
    case "names": {
      const first = number("page", 0) * meta.names.per_page;
      return { first, names: names.slice(first, first + meta.names.per_page) };
    }
    case "event":
      return eventDetails(events, names, number("id", -1));
    case "flows": {
      const id = number("id", -1);
      const depth = number("depth", 3);
      const rows = id < 0 ? arrowsIn(events, begin, end, tracks) : arrowsAround(events, id, depth);
      return flowsOf(events, names, rows, id >= 0);
    }
    case "search": {
      const matches = matcher(asked);
      const from = asked.has("from_ps") ? number("from_ps", 0) : null;
      return matches
        ? searchAnswer(events, names, {
            matches,
            tracks,
            begin,
            end,
            columns: number("columns", 1024),
            limit: number("limit", 200),
            at: number("at_ps", begin),
            atEvent: number("at_event", -1),
            from,
          })
        : null;
    }
    case "range":
      return rangeAnswer(events, names, begin, end, named, number("limit", 100));
    case "density":
      return densityAnswer(events, begin, end, number("columns", 1024));
    default:
      return null;
  }
}

/** Which names a search means; null where it asks for arguments, or is not an expression. */
function matcher(asked: URLSearchParams): ((name: string) => boolean) | null {
  const text = asked.get("q") ?? "";
  if (asked.get("stat")) return null;
  if (asked.get("mode") !== "regex") {
    const low = text.toLowerCase();
    return (name) => name.toLowerCase().includes(low);
  }
  try {
    // Expressions of the server's language begin with what JavaScript writes as a flag.
    const folded = text.startsWith("(?i)");
    const expression = new RegExp(folded ? text.slice("(?i)".length) : text, folded ? "iu" : "u");
    return (name) => expression.test(name);
  } catch {
    return null;
  }
}
