/**
 * Requests to the server this page came from; every URL is relative to the page. In a report there
 * is no server: the same questions are answered from the file.
 */

import { learnShortNames } from "../base/short_name.ts";
import { report } from "../report/answers.ts";
import { spelledOut } from "./columns.ts";
import type {
  AboutInfo,
  AdviceInfo,
  ErrorInfo,
  ProgressInfo,
  ResultBody,
  SessionInfo,
  ThingInfo,
  ThingsInfo,
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

/** What to tell of a failure, whatever its kind. */
export function errorInfo(error: unknown): ErrorInfo {
  if (error instanceof ApiError) return error.body;
  const what = error instanceof Error ? error.message : String(error);
  return { error: "page", what, where: "", why: "", hint: "Reload the page." };
}

type Query = Readonly<Record<string, string>>;

const ROOT = "api/v1/";

/** Answers that were asked for before this script ran (early.js), by address; each serves once. */
const early = (globalThis as { early?: Record<string, Promise<Response>> }).early ?? {};

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
  // Nothing to show and unreadable input are states of a page: as errors, browsers would log them.
  const headers: Record<string, string> = { accept, "x-stepscope-errors": "soft" };
  if (order) headers["content-type"] = "application/json";
  const { [url]: asked } = early;
  delete early[url];
  try {
    response = report
      ? await report.answer(url)
      : await (asked ??
          fetch(url, {
            headers,
            ...(order ? { method: "POST", body: JSON.stringify(order) } : {}),
            ...(signal ? { signal } : {}),
          }));
    if (asked) signal?.throwIfAborted();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ServerGone("The Stepscope server does not answer.");
  }
  const status = Number(response.headers.get("x-stepscope-status") ?? response.status);
  if (response.ok && status < 400) return response;
  throw new ApiError(status, await errorBody(response));
}

/** An answer in JSON; throws `ApiError` or `ServerGone`. */
export function getJson<T>(url: string, signal?: AbortSignal): Promise<T> {
  return answered(request(url, "application/json", signal), json<T>, signal);
}

/** The answer to an order, both in JSON; throws `ApiError` or `ServerGone`. */
export function postJson<T>(url: string, order: object): Promise<T> {
  return answered(request(url, "application/json", undefined, order), json<T>);
}

/** An answer of bytes; throws `ApiError` or `ServerGone`. */
export function getBytes(url: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  return answered(request(url, "*/*", signal), (response) => response.arrayBuffer(), signal);
}

async function json<T>(response: Response): Promise<T> {
  const body = (await response.json()) as T;
  learnShortNames(body);
  return body;
}

/** The body of an answer: it arrives after the head, and its connection may break meanwhile. */
async function answered<T>(
  asked: Promise<Response>,
  read: (response: Response) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const response = await asked;
  try {
    return await read(response);
  } catch (error) {
    if (signal?.aborted) throw error;
    if (!(error instanceof SyntaxError)) {
      throw new ServerGone("The connection to the Stepscope server broke.");
    }
    const body = {
      error: "bad-answer",
      what: "The server's answer is not valid JSON.",
      where: response.url,
      why: "A proxy may have replaced it, or it was cut off.",
      hint: "Reload the page.",
    };
    throw new ApiError(response.status, body);
  }
}

async function errorBody(response: Response): Promise<ErrorInfo> {
  const blank = { error: `http-${response.status}`, what: "", where: "", why: "", hint: "" };
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

export async function getResult(
  tool: string,
  query: Query,
  signal: AbortSignal,
): Promise<ResultBody> {
  const url = apiUrl(`tool/${tool}`, { ...query, layout: "coded" });
  return spelledOut(await getJson<ResultBody>(url, signal));
}

export function getAdvice(query: Query, signal: AbortSignal): Promise<AdviceInfo> {
  return getJson(apiUrl("advice", query), signal);
}

/** What a text names in a run: findings, steps, ops, kernels, modules, functions. */
export async function getThings(query: Query, signal: AbortSignal): Promise<readonly ThingInfo[]> {
  return (await getJson<ThingsInfo>(apiUrl("things", query), signal)).things;
}

/** The answers about a thing; with `compared` only how it differs from the run before. */
export function getAbout(query: Query, signal: AbortSignal): Promise<Partial<AboutInfo>> {
  return getJson(apiUrl("about", query), signal);
}

export function getProgress(run: string): Promise<ProgressInfo> {
  return getJson(apiUrl("progress", { run }));
}

/** What a report says of what it leaves out; null where a server answers. */
export const reportNotes: readonly string[] | null = report?.notes ?? null;

/** URL of the report on a run as a file to download, or of a list of the texts in it. */
export function reportUrl(run: string, redact: string, preview = ""): string {
  return apiUrl("report", { run, redact, preview });
}

export type ExportFormat = "csv" | "json" | "parquet";

/** URL of one table of a result as a file to download. */
export function exportUrl(tool: string, table: string, format: ExportFormat, query: Query): string {
  return apiUrl(`tool/${tool}/${table}.${format}`, query);
}
