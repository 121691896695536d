/** A distribution as bars; the numbers are beside it. */

export interface HistogramProps {
  readonly label: string;
  readonly counts: readonly number[];
  /** What a bar says when pointed at. */
  readonly tip: (bar: number) => string;
}

const HEIGHT = 44;
const WIDTH = 320;

export function Histogram({ label, counts, tip }: HistogramProps) {
  if (counts.length < 2) return null;
  const most = Math.max(...counts);
  const pitch = WIDTH / counts.length;
  return (
    <svg
      class="histogram"
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={label}
    >
      {counts.map((each, bar) => {
        const height = each === 0 ? 0 : Math.max(1.5, (each / most) * HEIGHT);
        return (
          <rect
            key={bar}
            x={bar * pitch}
            y={HEIGHT - height}
            width={Math.max(1, pitch - 1)}
            height={height}
          >
            <title>{tip(bar)}</title>
          </rect>
        );
      })}
    </svg>
  );
}
