/** A percentage as a report has it, with as many decimals as it has; a dash where no time counted. */
export function formatPercent(percent: number | null): string {
  return percent === null ? '–' : `${percent} %`;
}
