import assert from "node:assert/strict";
import { test } from "node:test";
import { partsFor } from "./parts.ts";

test("parts are in stacking order under the server's names; new ones come last", () => {
  const labels = { input: "Input wait", device_compute_16: "Device compute, 16-bit" };
  const parts = partsFor(["new_part", "input", "device_compute_16"], labels);
  assert.deepEqual(
    parts.map(({ label, colour }) => [label, colour]),
    [
      ["Device compute, 16-bit", "device-16"],
      ["Input wait", "input"],
      ["new_part", "other"],
    ],
  );
});
