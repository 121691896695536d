/** Names beside their colours, in one line. */

export interface HueName {
  readonly label: string;
  /** Class that sets `--hue`; "" where the label draws its own mark. */
  readonly hue: string;
}

export function HueKey({ items }: { items: readonly HueName[] }) {
  return (
    <ul class="part-key quiet">
      {items.map(({ label, hue }) => (
        <li key={label}>
          {hue && (
            <svg class="swatch" width="12" height="12" aria-hidden="true">
              <rect width="12" height="12" rx="2" class={`area ${hue}`} />
            </svg>
          )}
          {label}
        </li>
      ))}
    </ul>
  );
}
