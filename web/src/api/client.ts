/** Requests to the server this page came from; every URL is relative to the page. */

import type {
  AdviceInfo,
  ErrorInfo,
  ProgressInfo,
  ResultBody,
  SessionInfo,
  ToolInfo,
} from "./types.gen.ts";

/** The server answered with an error. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly body: ErrorInfo,
  ) {
    super(body.what);
  }
}

/** The server did not answer at all. */
export class ServerGone extends Error {}

type Query = Readonly<Record<string, string>>;

const ROOT = "api/v1/";

/** Relative URL of an endpoint; empty values are left out. */
export function apiUrl(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== "") search.set(name, value);
  const text = search.toString();
  return ROOT + path + (text ? `?${text}` : "");
}

async function request(
  url: string,
  accept: string,
  signal?: AbortSignal,
  order?: object,
): Promise<Response> {
  let response: Response;
  const headers: Record<string, string> = { accept };
  if (order) headers["content-type"] = "application/json";
  try {
    response = await fetch(url, {
      headers,
      ...(order ? { method: "POST", body: JSON.stringify(order) } : {}),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ServerGone("The Stepscope server does not answer.");
  }
  if (response.ok) return response;
  throw new ApiError(response.status, await errorBody(response));
}

/** An answer in JSON; throws `ApiError` or `ServerGone`. */
export async function getJson<T>(url: string, signal?: AbortSignal): Promise<T> {
  return (await (await request(url, "application/json", signal)).json()) as T;
}

/** The answer to an order, both in JSON; throws `ApiError` or `ServerGone`. */
export async function postJson<T>(url: string, order: object): Promise<T> {
  return (await (await request(url, "application/json", undefined, order)).json()) as T;
}

/** An answer of bytes; throws `ApiError` or `ServerGone`. */
export async function getBytes(url: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await request(url, "*/*", signal)).arrayBuffer();
}

async function errorBody(response: Response): Promise<ErrorInfo> {
  const blank = { error: `http-${response.status}`, what: "", where: "", why: "", do: "" };
  let given: Partial<ErrorInfo> = {};
  try {
    given = (await response.json()) as Partial<ErrorInfo>;
  } catch {
    // A proxy between here and the server may answer in HTML; the status then says all there is.
  }
  const body = { ...blank, ...given };
  return body.what ? body : { ...body, what: `The server answered ${response.status}.` };
}

export function getSession(): Promise<SessionInfo> {
  return getJson(apiUrl("session"));
}

export async function getTools(run: string, host: string): Promise<readonly ToolInfo[]> {
  return (await getJson<{ tools: ToolInfo[] }>(apiUrl("tools", { run, host }))).tools;
}

export function getResult(tool: string, query: Query, signal: AbortSignal): Promise<ResultBody> {
  return getJson(apiUrl(`tool/${tool}`, { ...query, layout: "columns" }), signal);
}

export function getAdvice(query: Query, signal: AbortSignal): Promise<AdviceInfo> {
  return getJson(apiUrl("advice", query), signal);
}

export function getProgress(run: string): Promise<ProgressInfo> {
  return getJson(apiUrl("progress", { run }));
}

export type ExportFormat = "csv" | "json" | "parquet";

/** URL of one table of a result as a file to download. */
export function exportUrl(tool: string, table: string, format: ExportFormat, query: Query): string {
  return apiUrl(`tool/${tool}/${table}.${format}`, query);
}
