/** The card beside the pointer: what is there, in a few words. */

import { bytes, count, duration, percent, significant } from "../../base/format.ts";
import { shortName } from "../../base/short_name.ts";
import { shortened, visible } from "../../base/text.ts";
import { axisTime } from "../../engine/timeline/time_axis.ts";
import type { Timeline } from "./timeline.ts";

const CARD_PX = 320;
const LONGEST_NAME = 160;

export function HoverCard({ timeline }: { timeline: Timeline }) {
  const { state } = timeline;
  const hover = state.hover.value;
  if (!hover || (!hover.hit && !hover.counter)) return null;
  const { width, height } = state.size.value;
  const left = hover.x + 14 + CARD_PX > width ? Math.max(0, hover.x - CARD_PX - 10) : hover.x + 14;
  const low = hover.y > height - 130;
  const place = low
    ? { left: `${left}px`, bottom: `${height - hover.y + 12}px` }
    : { left: `${left}px`, top: `${hover.y + 16}px` };
  const { hit, counter } = hover;
  if (counter) {
    const track = state.meta.tracks[counter.track];
    const value = track?.unit === "bytes" ? bytes(counter.value) : significant(counter.value);
    return (
      <div class="tl-card" style={place}>
        <strong>{visible(track?.name ?? "")}</strong>
        <span>
          {value} at {axisTime(hover.time)}
        </span>
      </div>
    );
  }
  if (!hit) return null;
  const name = shortened(shortName(hover.name ?? "…"), LONGEST_NAME);
  const exact = state.exact.value.get(hit.event);
  const { begin, end } = exact ?? hit.span;
  const length = end - begin;
  return (
    <div class="tl-card" style={place}>
      <strong>{hit.count > 1 ? `${count(hit.count)} events` : name}</strong>
      {hit.count > 1 ? (
        <>
          <span>
            {percent(hit.busy)} busy within {duration(length, "ps")}
          </span>
          <span class="quiet">Longest: {name}</span>
        </>
      ) : (
        <span>
          {hit.cut && !exact
            ? `more than ${duration(length, "ps")}`
            : `${duration(length, "ps")} at ${axisTime(begin)}`}
        </span>
      )}
      <span class="quiet">
        {visible(state.meta.tracks[hit.track]?.name ?? "")} · {state.meta.categories[hit.category]}
      </span>
    </div>
  );
}
