/** The address of a view: everything a person chose is in the URL's hash and nowhere else. */

export interface Route {
  /** Tool id, or the name of one of the shell's own pages. */
  readonly page: string;
  readonly run: string;
  readonly host: string;
  /** What times are of, where a page can choose: "recording", or "" for the mean step. */
  readonly per: string;
  /** Options of the tool, and state of its view under dotted names ("ops.sort"). */
  readonly params: Readonly<Record<string, string>>;
}

/** What the times of a view are of. */
export function baseOf({ per }: Route): "step" | "recording" {
  return per === "recording" ? per : "step";
}

/** Reads `#/<page>?run=…&host=…&per=…&…`; an empty hash gives an empty page. */
export function parseHash(hash: string): Route {
  const [path = "", search = ""] = splitOnce(hash.replace(/^#\/?/, ""), "?");
  const params: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(search)) params[name] = value;
  const { run = "", host = "", per = "", ...rest } = params;
  return { page: decode(path), run, host, per, params: rest };
}

/** The hash of a route; empty values are left out. */
export function formatHash(route: Route): string {
  const search = new URLSearchParams();
  if (route.run) search.set("run", route.run);
  if (route.host) search.set("host", route.host);
  if (route.per) search.set("per", route.per);
  for (const [name, value] of Object.entries(route.params)) {
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
