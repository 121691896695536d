/** Fills for the parts of a step: a colour, or a colour under a texture where parts share a hue. */

import { useId } from "preact/hooks";
import type { Part } from "../../base/parts.ts";

/** Definitions of the textures of some parts, to stand inside an SVG. `scope` keeps ids apart. */
export function Textures({ parts, scope }: { parts: readonly Part[]; scope: string }) {
  return (
    <defs>
      {parts
        .filter((part) => part.pattern !== "solid")
        .map((part) => (
          <pattern
            key={part.id}
            id={`${scope}-${part.id}`}
            width="6"
            height="6"
            patternUnits="userSpaceOnUse"
            patternTransform="rotate(45)"
          >
            <rect width="6" height="6" class={`fill-${part.colour}`} />
            <rect width="1.5" height="6" class="texture" />
          </pattern>
        ))}
    </defs>
  );
}

/** Attributes that fill a shape as this part. */
export function partFill(part: Part, scope: string): { class?: string; fill?: string } {
  return part.pattern === "solid"
    ? { class: `fill-${part.colour}` }
    : { fill: `url(#${scope}-${part.id})` };
}

/** Names of parts beside their fills, in one line. */
export function PartKey({ parts }: { parts: readonly Part[] }) {
  const scope = useId();
  return (
    <ul class="part-key quiet">
      {parts.map((part) => (
        <li key={part.id}>
          <Swatch part={part} scope={scope} />
          {part.label}
        </li>
      ))}
    </ul>
  );
}

/** The small square that is before a part's name in legends. */
export function Swatch({ part, scope }: { part: Part; scope: string }) {
  return (
    <svg class="swatch" width="12" height="12" aria-hidden="true">
      <Textures parts={[part]} scope={`${scope}-swatch`} />
      <rect width="12" height="12" rx="2" {...partFill(part, `${scope}-swatch`)} />
    </svg>
  );
}
