/** An event as a button that goes to it. */

import { duration } from "../../base/format.ts";
import { shortName } from "../../base/short_name.ts";
import { shortened, visible } from "../../base/text.ts";
import type { Place } from "../../base/timeline.ts";
import type { TimelineState } from "../model/state.ts";

const LONGEST_NAME = 80;

interface PlaceButtonProps {
  readonly state: TimelineState;
  readonly place: Place;
  /** Whether to tell its track and length, too. */
  readonly brief?: boolean;
}

export function PlaceButton({ state, place, brief = false }: PlaceButtonProps) {
  const name = visible(place.name) || "(no name)";
  return (
    <>
      <button type="button" class="tl-link" title={name} onClick={() => state.go(place)}>
        {shortened(shortName(name), LONGEST_NAME)}
      </button>
      {!brief && (
        <span class="quiet">
          {" "}
          {duration(place.end_ps - place.begin_ps, "ps")},{" "}
          {visible(state.meta.tracks[place.track]?.name ?? "")}
        </span>
      )}
    </>
  );
}
