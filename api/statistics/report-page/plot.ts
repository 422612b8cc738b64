import { formatUptime, type ReportDay } from '../../../core/statistics/reports/content.ts';
import {
  type DayBar,
  DAYS,
  hatchBar,
  isDated,
  layOutNames,
  PERCENTILES,
  piecesOf,
  scaleOf,
} from '../../../core/statistics/reports/page.ts';

/** Horizontal extent of the days in both plots, one above the other, in the units of their view boxes. */
const PLOT = { width: 640, left: 48, right: 612 } as const;

const STRIP = { height: 40, bar: 24, labels: 36 } as const;
const CHART = { height: 118, top: 8, bottom: 96, labels: 110 } as const;

/**
 * Draws a bar for each day, in the colour of its worst state; its title contains the date, the uptime and the state.
 */
export function drawStrip(days: readonly ReportDay[]): string {
  const step = (PLOT.right - PLOT.left) / days.length;
  const bars = days.map(({ date, uptime_percent: uptime, worst_state: state }, day) => {
    const x = PLOT.left + day * step;
    const said = `${date}: ${formatUptime(uptime, 'no data')}, ${state ?? DAYS.absent.meaning}`;
    const { sign } = DAYS[state ?? 'absent'];
    const mark =
      sign === ''
        ? ''
        : `<text class="sign sign-${state}" x="${round(x + step / 2)}" y="${STRIP.bar / 2 + 3.5}">${sign}</text>`;
    return (
      `<rect class="${state ?? 'absent'}" x="${round(x + 1)}" y="0" width="${round(step - 2)}" ` +
      `height="${STRIP.bar}" rx="2"><title>${said}</title></rect>` +
      drawHatch({ state: state ?? 'absent', x: round(x + 1), width: round(step - 2), height: STRIP.bar }) +
      mark
    );
  });
  return (
    `<svg class="strip" viewBox="0 0 ${PLOT.width} ${STRIP.height}" role="img" aria-label="Uptime by ` +
    `day">${bars.join('')}${drawDates(days, STRIP.labels)}</svg>`
  );
}

/** Draws a single bar of the strip, for the legend. */
export function drawKey(state: keyof typeof DAYS): string {
  const { sign } = DAYS[state];
  const mark = sign === '' ? '' : `<text class="sign sign-${state}" x="7" y="10.5">${sign}</text>`;
  return (
    `<svg viewBox="0 0 14 14" aria-hidden="true"><rect class="${state}" width="14" height="14" ` +
    `rx="2"/>${drawHatch({ state, x: 0, width: 14, height: 14 })}${mark}</svg>`
  );
}

function drawHatch(bar: DayBar): string {
  const lines = hatchBar(bar);
  return lines === '' ? '' : `<path class="hatch" d="${lines}"/>`;
}

/** Draws the percentiles of each day as three lines; a day without any interrupts them. Empty if no day has one. */
export function drawLatency(days: readonly ReportDay[]): string {
  const scale = scaleOf(days);
  if (scale === null) return '';
  const { topMs } = scale;
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
    return piecesOf(points)
      .map((piece) => drawPiece(name, piece))
      .join('');
  });
  const ends = layOutNames(days, { yOf, bottom: CHART.bottom }).map(
    ({ name, y }) => `<text x="${PLOT.right + 4}" y="${round(y + 3)}">${name}</text>`,
  );
  return (
    `<svg class="latency" viewBox="0 0 ${PLOT.width} ${CHART.height}" role="img" aria-label="Response time by day: ` +
    `percentiles in milliseconds">${axes.join('')}${lines.join('')}${ends.join('')}` +
    `${drawDates(days, CHART.labels)}</svg>`
  );
}

type Point = { x: number; y: number };

/** Draws a piece of a line; a single day as a dot, because a line of one point is invisible. */
function drawPiece(name: string, piece: readonly Point[]): string {
  const [only] = piece;
  if (piece.length === 1 && only !== undefined)
    return `<circle class="${name} dot" cx="${only.x}" cy="${only.y}" r="2"/>`;
  return `<polyline class="${name}" points="${piece.map(({ x, y }) => `${x},${y}`).join(' ')}"/>`;
}

function drawDates(days: readonly ReportDay[], y: number): string {
  const step = (PLOT.right - PLOT.left) / days.length;
  return days
    .map(({ date }, day) =>
      isDated(day, days.length)
        ? `<text class="middle" x="${round(PLOT.left + (day + 0.5) * step)}" y="${y}">${date.slice(5)}</text>`
        : '',
    )
    .join('');
}

function formatMs(ms: number): string {
  return ms >= 1000 ? `${ms / 1000} s` : `${ms} ms`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
