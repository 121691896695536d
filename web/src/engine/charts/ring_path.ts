/** Sectors of a ring as paths. */

/**
 * The sector between two fractions of the full circle, from the top clockwise, about (0, 0).
 *
 * @param inner radius of the hole, px
 * @param outer radius of the ring, px
 */
export function ringPath(from: number, to: number, inner: number, outer: number): string {
  // An arc that ends where it begins draws nothing, and two halves would show their seams.
  if (to - from > 0.999) return circle(outer, 1) + circle(inner, 0);
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

/** All around from the top; `sweep` 1 is clockwise, and what turns the other way cuts a hole. */
function circle(radius: number, sweep: 0 | 1): string {
  const half = (to: number) => `A${radius} ${radius} 0 1 ${sweep} 0 ${to}`;
  return `M0 ${-radius}${half(radius)}${half(-radius)}Z`;
}

function rounded(value: number): string {
  const text = value.toFixed(2);
  return text === "-0.00" ? "0.00" : text;
}
