/** What is in the place of content that is not there: why, and what to do about it. */

import type { ComponentChildren } from "preact";

export interface NoticeProps {
  readonly title: string;
  /** When the page has no other heading. */
  readonly main?: boolean;
  readonly children?: ComponentChildren;
  /** Given under a heading of its own; a snippet or option keeps its line breaks. */
  readonly hint?: string;
  readonly actions?: ComponentChildren;
}

export function Notice({ title, main = false, children, hint, actions }: NoticeProps) {
  return (
    <section class="notice">
      {main ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
      {hint && (
        <>
          <h3>What to do</h3>
          <Hint text={hint} />
        </>
      )}
      {actions && <p class="actions">{actions}</p>}
    </section>
  );
}

/** What to do: sentences as text, commands as they are typed. */
export function Hint({ text }: { text: string }) {
  return text.endsWith(".") ? <p class="hint">{text}</p> : <pre class="hint">{text}</pre>;
}

export interface ProgressBarProps {
  readonly label: string;
  readonly done: number;
  readonly total: number;
}

/** Progress of known or unknown extent; the stage is named. */
export function ProgressBar({ label, done, total }: ProgressBarProps) {
  const known = total > 0;
  const percent = known ? Math.min(100, Math.round((done / total) * 100)) : undefined;
  return (
    <div class="progress">
      <p role="status" class="sentence">
        {label}
        {known && <span class="quiet"> {percent}%</span>}
      </p>
      <progress aria-label={label} max={100} value={percent} />
    </div>
  );
}
