/** Names and values side by side. */

import type { ComponentChildren } from "preact";

export interface Fact {
  readonly label: string;
  readonly value: ComponentChildren;
  /** Said under the value, more quietly. */
  readonly note?: ComponentChildren;
  /** For values that may be long: it takes two columns. */
  readonly wide?: boolean;
}

/** A definition list in as many columns as fit. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map((fact) => (
        <div key={fact.label} class={fact.wide ? "wide" : undefined}>
          <dt>{fact.label}</dt>
          <dd>
            {fact.value}
            {fact.note && <span class="quiet fact-note"> {fact.note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The few numbers a page begins with, in large type. */
export function Figures({ figures }: { figures: readonly Fact[] }) {
  return (
    <dl class="figures">
      {figures.map((figure) => (
        <div key={figure.label}>
          <dt>{figure.label}</dt>
          <dd>
            <span class="figure-value">{figure.value}</span>
            {figure.note && <span class="quiet figure-note">{figure.note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
