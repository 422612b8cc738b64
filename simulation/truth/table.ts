import { readable } from '../../bench/report.ts';
import { LONG_KIND, OUTAGE_KINDS, type ScenarioName } from './scenario.ts';
import type { KindScore, Score } from './score.ts';
import type { Setting } from './setting.ts';

/** A setting with its score in each scenario. */
export type Row = { setting: Setting; scores: Readonly<Partial<Record<ScenarioName, Score>>> };

type Column = { head: string; cell: (row: Row) => string };

/** A table of the report, printed once for each interval. */
export type Table = { title: string; columns: readonly Column[] };

const HOURS_A_YEAR = 8766;

/** If none was observed, the true number is below this (95 %). */
const NONE_FOUND = 3;

const NOTHING = '-';

/** Columns of the setting, which begin every table. */
const SETTING_COLUMNS: readonly Column[] = [
  { head: 'locations', cell: ({ setting }) => `${setting.quorum} of ${setting.sources}` },
  { head: 'failures', cell: ({ setting }) => String(setting.downAfterFailures) },
];

/** The tables of the report. */
export const TABLES: readonly Table[] = [
  {
    title: 'False downs per 1,000 monitor-years (how many were seen)',
    columns: (
      [
        ['loss-0.1', 'loss 0.1 %'],
        ['loss-1', 'loss 1 %'],
        ['loss-5', 'loss 5 %'],
        ['bursts', 'bursts'],
        ['away', 'locations go away'],
        ['half-liar', 'half a liar'],
      ] as const
    )
      .map(([scenario, head]): Column => ({ head, cell: ({ scores }) => falseDowns(scores[scenario]) }))
      // If one location suffices for a down, a liar causes a single false report that never ends.
      .concat({
        head: 'a liar',
        cell: ({ setting, scores }) => (setting.quorum === 1 ? 'always down' : falseDowns(scores.liar)),
      }),
  },
  {
    title: 'Outages reported as down, %, by their length',
    columns: OUTAGE_KINDS.map((kind) => ({ head: kind, cell: ({ scores }) => found(scores.refused?.kinds[kind]) })),
  },
  {
    title: 'From the beginning of an outage to the decision, seconds: half of them, 95 %, all within',
    columns: (
      [
        ['refused', 'refusing'],
        ['hanging', 'hanging'],
        ['apart', 'apart'],
        ['in-turn', 'in turn'],
        ['blind', 'one blind'],
        ['one-away', 'one away'],
      ] as const
    ).map(([scenario, head]) => ({ head, cell: ({ scores }) => delays(scores[scenario]?.kinds[LONG_KIND]) })),
  },
  {
    title: 'What is no outage for all, or one again and again',
    columns: [
      ...[1, 2, 3, 4].map((locations) => ({
        head: `seen by ${locations}, reported, %`,
        cell: ({ scores }: Row) => found(scores.partial?.kinds[`seen by ${locations}`]),
      })),
      { head: 'slow periods reported, %', cell: ({ scores }) => found(scores.slow?.kinds['slow']) },
      { head: 'alerts in 30 min of flapping', cell: ({ scores }) => alerts(scores.flapping?.kinds['flapping']) },
      { head: 'unknown, s a day, locations go away', cell: ({ scores }) => unknownTime(scores.away) },
      { head: 'unknown, s a day, most go away', cell: ({ scores }) => unknownTime(scores['most-away']) },
    ],
  },
];

/** Prints a table in Markdown. */
export function printTable(columns: readonly Column[], rows: readonly Row[]): string {
  const all = [...SETTING_COLUMNS, ...columns];
  const lines = [
    all.map(({ head }) => head),
    all.map(() => '---'),
    ...rows.map((row) => all.map(({ cell }) => cell(row))),
  ];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Prints the cost of flapping by the number of successes that end a down. */
export function printFlapping(rows: readonly Row[]): string {
  const cells = rows.map(
    ({ setting, scores }) => `| ${setting.upAfterSuccesses} | ${alerts(scores.flapping?.kinds['flapping'])} |`,
  );
  return ['| `up_after_successes` | alerts in 30 min of flapping |', '| --- | --- |', ...cells].join('\n');
}

function falseDowns(score: Score | undefined): string {
  if (score === undefined) return NOTHING;
  const perCount = (1000 * HOURS_A_YEAR) / score.hours;
  return score.falseDowns === 0
    ? `< ${rounded(NONE_FOUND * perCount)} (0)`
    : `${rounded(score.falseDowns * perCount)} (${score.falseDowns.toLocaleString('en')})`;
}

/** Rounds to two digits, which the counts support. */
function rounded(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en', { notation: 'compact' });
}

function found(score: KindScore | undefined): string {
  if (score === undefined) return NOTHING;
  const percent = (100 * score.found) / score.count;
  // A single miss must not round to 100, nor a single find to 0.
  return percent > 99.9 && percent < 100
    ? '> 99.9'
    : percent > 0 && percent < 0.1
      ? '< 0.1'
      : String(Number(percent.toFixed(1)));
}

function delays(score: KindScore | undefined): string {
  if (score === undefined || score.delaysMs === null) return NOTHING;
  const { p50, p95, max } = score.delaysMs;
  return [p50, p95, max].map((ms) => Math.round(ms / 1000)).join(' / ');
}

function alerts(score: KindScore | undefined): string {
  return score === undefined ? NOTHING : (score.alerts / score.count).toFixed(1);
}

function unknownTime(score: Score | undefined): string {
  return score === undefined ? NOTHING : readable(Number((score.unknownMs / 1000 / (score.hours / 24)).toPrecision(2)));
}
