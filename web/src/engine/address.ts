/** The address of a view: everything a person chose is in the URL's hash and nowhere else. */

/** What a recording is selected by; the server takes the same words (docs/selections.md). */
export const PARTS = ["steps", "range", "device"] as const;
export type Part = (typeof PARTS)[number];

/** A part of the recording, in the order in which it was narrowed down; empty for all of it. */
export type Selection = Readonly<Partial<Record<Part, string>>>;

export interface Route {
  /** Tool id, or the name of one of the shell's own pages. */
  readonly page: string;
  readonly run: string;
  readonly host: string;
  /** What times are of, where a page can choose: "recording", or "" for the mean step. */
  readonly per: string;
  readonly selection: Selection;
  /** Options of the tool, and state of its view under dotted names ("ops.sort"). */
  readonly params: Readonly<Record<string, string>>;
}

/** What the times of a view are of. */
export function baseOf({ per }: Route): "step" | "recording" {
  return per === "recording" ? per : "step";
}

/** A part of a selection for people: "steps 10–20", "1.2–1.4 ms", "GPU:0". */
export function partText(part: Part, value: string): string {
  const text = value.replace(/-(?=[\d.])/g, "–");
  if (part === "steps") return `${/[-–]/.test(value) ? "steps" : "step"} ${text}`;
  if (part === "range") return text.replace(/(\d)(?=[a-zµ])/g, "$1\u00a0");
  return /^[\d,–-]+$/.test(text) ? `device ${text}` : value;
}

/** A range as the server takes it: milliseconds, from times in ps. */
export function rangeText(begin: number, end: number): string {
  const text = (ps: number) => String(Number((ps / 1e9).toFixed(9)));
  return `${text(begin)}-${text(end)}ms`;
}

/** A selection with another value of a part, which then comes last; "" takes the part off. */
export function narrowed(selection: Selection, part: Part, value: string): Selection {
  const { [part]: _, ...rest } = selection;
  return value === "" ? rest : { ...rest, [part]: value };
}

/** Reads `#/<page>?run=…&host=…&per=…&steps=…&…`; an empty hash gives an empty page. */
export function parseHash(hash: string): Route {
  const [path = "", search = ""] = splitOnce(hash.replace(/^#\/?/, ""), "?");
  const params: Record<string, string> = {};
  let selection: Selection = {};
  for (const [name, value] of new URLSearchParams(search)) {
    const part = PARTS.find((each) => each === name);
    if (part) selection = narrowed(selection, part, value);
    else params[name] = value;
  }
  const { run = "", host = "", per = "", ...rest } = params;
  return { page: decode(path), run, host, per, selection, params: rest };
}

/** The hash of a route; empty values are left out. */
export function formatHash(route: Route): string {
  const search = new URLSearchParams();
  if (route.run) search.set("run", route.run);
  if (route.host) search.set("host", route.host);
  if (route.per) search.set("per", route.per);
  for (const [name, value] of Object.entries({ ...route.selection, ...route.params })) {
    if (value !== "") search.set(name, value);
  }
  // Slashes and colons are legal in a fragment, and links are read by people.
  const text = search.toString().replaceAll("%2F", "/").replaceAll("%3A", ":");
  return `#/${encodeURIComponent(route.page)}${text ? `?${text}` : ""}`;
}

/** Parameters under `prefix.`, without it. */
export function subParams(
  params: Readonly<Record<string, string>>,
  prefix: string,
): Record<string, string> {
  const start = `${prefix}.`;
  return Object.fromEntries(
    Object.entries(params)
      .filter(([name]) => name.startsWith(start))
      .map(([name, value]) => [name.slice(start.length), value]),
  );
}

/** `params` with everything under `prefix.` replaced by `values`. */
export function withSubParams(
  params: Readonly<Record<string, string>>,
  prefix: string,
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  const start = `${prefix}.`;
  const kept = Object.entries(params).filter(([name]) => !name.startsWith(start));
  const added = Object.entries(values).map(([name, value]) => [start + name, value] as const);
  return Object.fromEntries([...kept, ...added]);
}

function splitOnce(text: string, mark: string): string[] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
