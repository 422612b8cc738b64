import type { ReportDay, ResponseMs } from '../../../core/statistics/reports/content.ts';
import { formatPercent } from '../../../core/statistics/reports/percent-text.ts';

/** Where days stand in both plots, one above the other, in the units of their view boxes. */
const PLOT = { width: 640, left: 48, right: 612 } as const;

const STRIP = { height: 40, bar: 24, labels: 36 } as const;
const CHART = { height: 118, top: 8, bottom: 96, labels: 110 } as const;

/** What stands in the bar of a day that was not simply up, for those who do not tell the colours apart. */
const SIGNS: Readonly<Record<string, string>> = { degraded: '~', down: '×', unknown: '?', pending: '…', paused: '‖' };

const PERCENTILES = ['p50', 'p95', 'p99'] as const satisfies readonly (keyof ResponseMs)[];

/** A bar for each day, in the colour of its worst state; its title tells the date, the uptime and the state. */
export function drawStrip(days: readonly ReportDay[]): string {
  const step = (PLOT.right - PLOT.left) / days.length;
  const bars = days.map(({ date, uptime_percent: uptime, worst_state: state }, day) => {
    const x = PLOT.left + day * step;
    const said = `${date}: ${formatPercent(uptime, 'no time counted')}, ${state ?? 'not there yet'}`;
    const sign = SIGNS[state ?? ''];
    const mark =
      sign === undefined
        ? ''
        : `<text class="sign sign-${state}" x="${round(x + step / 2)}" y="${STRIP.bar / 2 + 3.5}">${sign}</text>`;
    return (
      `<rect class="${state ?? 'absent'}" x="${round(x + 1)}" y="0" width="${round(step - 2)}" ` +
      `height="${STRIP.bar}" rx="2"><title>${said}</title></rect>${mark}`
    );
  });
  return (
    `<svg class="strip" viewBox="0 0 ${PLOT.width} ${STRIP.height}" role="img" aria-label="Uptime by ` +
    `day">${bars.join('')}${drawDates(days, STRIP.labels)}</svg>`
  );
}

/** One bar of the strip by itself, for the legend. */
export function drawKey(state: string): string {
  const sign = SIGNS[state];
  const mark = sign === undefined ? '' : `<text class="sign sign-${state}" x="7" y="10.5">${sign}</text>`;
  return (
    `<svg viewBox="0 0 14 14" aria-hidden="true"><rect class="${state}" width="14" height="14" ` +
    `rx="2"/>${mark}</svg>`
  );
}

/** The percentiles of each day as three lines; a day without any interrupts them. Empty where no day has one. */
export function drawLatency(days: readonly ReportDay[]): string {
  const highest = Math.max(...days.flatMap(({ response_ms: ms }) => PERCENTILES.map((name) => ms[name] ?? 0)));
  if (!(highest > 0)) return '';
  const topMs = roundUp(highest);
  const step = (PLOT.right - PLOT.left) / days.length;
  const yOf = (ms: number) => round(CHART.bottom - (ms / topMs) * (CHART.bottom - CHART.top));
  const axes = [0, topMs / 2, topMs].map(
    (ms) =>
      `<path class="axis" d="M${PLOT.left} ${yOf(ms)}H${PLOT.right}"/><text class="end" x="${PLOT.left - 4}" ` +
      `y="${yOf(ms) + 3}">${formatMs(ms)}</text>`,
  );
  const lines = PERCENTILES.map((name) => {
    const points = days.map(({ response_ms: ms }, day) =>
      ms[name] === null ? null : { x: round(PLOT.left + (day + 0.5) * step), y: yOf(ms[name]) },
    );
    return runsOf(points)
      .map((run) => drawRun(name, run))
      .join('');
  });
  const ends = spreadLabels(
    PERCENTILES.flatMap((name) => {
      const last = days.findLast(({ response_ms: ms }) => ms[name] !== null)?.response_ms[name];
      return last === undefined || last === null ? [] : [{ name, y: yOf(last) }];
    }),
  ).map(({ name, y }) => `<text x="${PLOT.right + 4}" y="${round(y + 3)}">${name}</text>`);
  return (
    `<svg class="latency" viewBox="0 0 ${PLOT.width} ${CHART.height}" role="img" aria-label="Response time by day: ` +
    `percentiles in milliseconds">${axes.join('')}${lines.join('')}${ends.join('')}` +
    `${drawDates(days, CHART.labels)}</svg>`
  );
}

type Point = { x: number; y: number };

/** A day between two without measurements is a dot: a line of one point shows nothing. */
function drawRun(name: string, run: readonly Point[]): string {
  const [only] = run;
  if (run.length === 1 && only !== undefined)
    return `<circle class="${name} dot" cx="${only.x}" cy="${only.y}" r="2"/>`;
  return `<polyline class="${name}" points="${run.map(({ x, y }) => `${x},${y}`).join(' ')}"/>`;
}

function runsOf(points: readonly (Point | null)[]): Point[][] {
  const runs: Point[][] = [[]];
  for (const point of points) {
    if (point === null) runs.push([]);
    else runs.at(-1)?.push(point);
  }
  return runs.filter((run) => run.length > 0);
}

/** Labels that would lie on each other are moved apart. */
function spreadLabels<Label extends { y: number }>(labels: readonly Label[]): Label[] {
  const apart = 10;
  const spread = labels.toSorted((a, b) => b.y - a.y);
  let lowest = CHART.bottom;
  return spread.map((label) => {
    const y = Math.min(label.y, lowest);
    lowest = y - apart;
    return { ...label, y };
  });
}

/** Every day of a week, the first of each week of a month. */
function drawDates(days: readonly ReportDay[], y: number): string {
  const step = (PLOT.right - PLOT.left) / days.length;
  const every = days.length <= 7 ? 1 : 7;
  return days
    .map(({ date }, day) =>
      day % every === 0
        ? `<text class="middle" x="${round(PLOT.left + (day + 0.5) * step)}" y="${y}">${date.slice(5)}</text>`
        : '',
    )
    .join('');
}

/** The next of 1, 2 and 5 times a power of ten. */
function roundUp(ms: number): number {
  const power = 10 ** Math.floor(Math.log10(ms));
  return ([1, 2, 5].find((factor) => factor * power >= ms) ?? 10) * power;
}

function formatMs(ms: number): string {
  return ms >= 1000 ? `${ms / 1000} s` : `${ms} ms`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
