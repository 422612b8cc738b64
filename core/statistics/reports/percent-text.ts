/** A percentage as people read it: `99.947 %`, with as many decimals as it has; without one, what is said instead. */
export function formatPercent(percent: number | null, none: string): string {
  return percent === null ? none : `${percent} %`;
}
