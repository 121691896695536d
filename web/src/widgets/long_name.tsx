/** A name cut in the middle where it does not fit: both its scope and its end stay readable. */

import { headAndTail } from "../base/text.ts";

export function LongName({ name }: { name: string }) {
  const [head, tail] = headAndTail(name);
  return (
    <span class="long-name">
      <span class="long-name-head">{head}</span>
      <span>{tail}</span>
    </span>
  );
}
