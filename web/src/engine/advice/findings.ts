/** Findings of the advice as a tree of causes, and what they save together. */

export interface FindingLike {
  readonly rule: string;
  readonly saving_ms: number | null;
  /** Rules of findings that cause this one. */
  readonly explained_by: readonly string[];
}

export interface Branch<F extends FindingLike> {
  readonly finding: F;
  /** Symptoms: they go away, or shrink, with this one. */
  readonly symptoms: readonly Branch<F>[];
}

/**
 * Causes with their symptoms below them, in the given order; a symptom of several causes comes
 * below the first of them.
 */
export function causeTree<F extends FindingLike>(findings: readonly F[]): Branch<F>[] {
  // Of several findings of a rule the first is the cause.
  const order = new Map(findings.map(({ rule }, place) => [rule, place] as const).reverse());
  const parents = findings.map((finding) => {
    const causes = finding.explained_by.flatMap((rule) => order.get(rule) ?? []);
    return causes.length > 0 ? Math.min(...causes) : -1;
  });
  // Two findings that name each other as their cause would both be nowhere.
  const isBelow = (place: number, above: number): boolean => {
    const seen = new Set<number>();
    for (let at = place; at >= 0 && !seen.has(at); at = parents[at] as number) {
      if (at === above) return true;
      seen.add(at);
    }
    return false;
  };
  parents.forEach((parent, place) => {
    if (parent >= 0 && isBelow(parent, place)) parents[place] = -1;
  });
  const below = (above: number): Branch<F>[] =>
    findings.flatMap((finding, place) =>
      parents[place] === above ? [{ finding, symptoms: below(place) }] : [],
    );
  return below(-1);
}

/**
 * Step time when all causes are fixed. Savings overlap, so each counts as a share of what the
 * others leave: the sum can never exceed the step.
 */
export function timeAfter(branches: readonly Branch<FindingLike>[], wholeMs: number): number {
  return branches.reduce((left, { finding }) => {
    const saving = Math.min(wholeMs, Math.max(0, finding.saving_ms ?? 0));
    return left * (1 - saving / wholeMs);
  }, wholeMs);
}
