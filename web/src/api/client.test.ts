import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { ApiError, errorInfo, getBytes, getJson, getResult, ServerGone } from "./client.ts";

const realFetch = globalThis.fetch;

afterEach(() => {
  globalThis.fetch = realFetch;
});

/** The next answer of the server: its head arrives, then `body` does. */
function answer(body: ReadableStream | string, status = 200): void {
  globalThis.fetch = () => Promise.resolve(new Response(body, { status }));
}

/** A body whose connection breaks after its first bytes. */
function broken(): ReadableStream {
  return new ReadableStream({
    start(stream) {
      stream.enqueue(new TextEncoder().encode('{"runs": ['));
      stream.error(new TypeError("network error"));
    },
  });
}

test("an answer arrives whole", async () => {
  answer('{"runs": []}');
  assert.deepEqual(await getJson("api/v1/session"), { runs: [] });
});

test("a connection that breaks inside of a body means that the server is gone", async () => {
  answer(broken());
  await assert.rejects(getJson("api/v1/session"), ServerGone);
  answer(broken());
  await assert.rejects(getBytes("api/v1/timeline/tile"), ServerGone);
});

test("leaving the page while a body arrives is not a failure of the server", async () => {
  const control = new AbortController();
  answer(broken());
  control.abort();
  await assert.rejects(getJson("api/v1/session", control.signal), TypeError);
});

test("an answer that is not JSON is an error with a hint, not a wait without end", async () => {
  answer("<html>proxy</html>");
  await assert.rejects(getJson("api/v1/session"), (error: unknown) => {
    assert.ok(error instanceof ApiError);
    assert.match(error.body.what, /not valid JSON/);
    assert.notEqual(error.body.hint, "");
    return true;
  });
});

test("an error that a proxy answers in HTML still says its status", async () => {
  answer("<html>Bad gateway</html>", 502);
  await assert.rejects(getJson("api/v1/session"), (error: unknown) => {
    assert.ok(error instanceof ApiError);
    assert.equal(error.status, 502);
    assert.equal(error.body.what, "The server answered 502.");
    return true;
  });
});

test("a foreseen error arrives as an answer, with its status beside it", async () => {
  globalThis.fetch = () =>
    Promise.resolve(
      new Response('{"what": "No steps."}', { headers: { "x-stepscope-status": "409" } }),
    );
  await assert.rejects(getJson("api/v1/tool/compare"), (error: unknown) => {
    assert.ok(error instanceof ApiError);
    assert.equal(error.status, 409);
    assert.equal(error.body.what, "No steps.");
    return true;
  });
});

test("every failure has a text", () => {
  assert.equal(errorInfo(new RangeError("too deep")).what, "too deep");
  assert.equal(errorInfo("odd").what, "odd");
});

test("coded columns arrive as cells, at any depth", async () => {
  const coded = { values: ["b", null], codes: [0, 1, 0] };
  const table = { rows: 3, columns: { name: coded, n: [1, 2, 3] } };
  answer(JSON.stringify({ tool: "t", part: { kernels: table }, plain: [{ values: 1 }] }));
  const found = await getResult("t", {}, new AbortController().signal);
  assert.deepEqual(found, {
    tool: "t",
    part: { kernels: { rows: 3, columns: { name: ["b", null, "b"], n: [1, 2, 3] } } },
    plain: [{ values: 1 }],
  });
});
