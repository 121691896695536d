/** Sectors of a ring as paths. */

/**
 * The sector between two fractions of the full circle, from the top clockwise, about (0, 0).
 *
 * @param inner radius of the hole, px
 * @param outer radius of the ring, px
 */
export function ringPath(from: number, to: number, inner: number, outer: number): string {
  // An arc that ends where it begins draws nothing.
  if (to - from > 0.999) {
    const middle = (from + to) / 2;
    return ringPath(from, middle, inner, outer) + ringPath(middle, to, inner, outer);
  }
  const point = (share: number, radius: number) => {
    const angle = share * 2 * Math.PI;
    return `${rounded(Math.sin(angle) * radius)} ${rounded(-Math.cos(angle) * radius)}`;
  };
  const long = to - from > 0.5 ? 1 : 0;
  return (
    `M${point(from, outer)}A${outer} ${outer} 0 ${long} 1 ${point(to, outer)}` +
    `L${point(to, inner)}A${inner} ${inner} 0 ${long} 0 ${point(from, inner)}Z`
  );
}

function rounded(value: number): string {
  const text = value.toFixed(2);
  return text === "-0.00" ? "0.00" : text;
}
