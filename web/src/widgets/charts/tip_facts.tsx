/** What a tip says: a heading, and names with values; what is not known is left out. */

export interface TipFactsProps {
  readonly title: string;
  /** Beside the title. */
  readonly aside?: string;
  readonly facts: readonly (readonly [string, string])[];
}

export function TipFacts({ title, aside, facts }: TipFactsProps) {
  return (
    <>
      <p class="tip-head">
        <strong class="tip-name">{title}</strong> {aside && <span>{aside}</span>}
      </p>
      <dl class="tip-facts">
        {facts
          .filter(([, value]) => value !== "")
          .map(([label, value], place) => (
            <div key={place}>
              <dt class="quiet">{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </>
  );
}
