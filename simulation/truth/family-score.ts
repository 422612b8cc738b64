import { percentile } from '../../bench/figures.ts';
import type { Family, FamilyScenario } from './family-scenario.ts';
import type { FamilyAlert, FamilyRecord } from './family-simulation.ts';
import { timeoutMs, DEFAULT_SETTING } from './setting.ts';

/** Longest wait of an alert for a parent, in milliseconds: a recheck, its timeout and the transfer of its result. */
const LONGEST_HOLD_MS = 20_000 + timeoutMs(DEFAULT_SETTING) + 2000;

/** Interval of the watch, in milliseconds. */
const WATCH_MS = 1000;

/** Trouble that lasts less than this after its parent's recovery may end before it is decided, in milliseconds. */
const DECIDED_WITHIN_MS = 120_000;

/**
 * Outcome of the alerts of families. `heldMs`: how long each alert of a child that came by itself was held, without
 * those that had come in a message of the parent; `afterMs`: for those, the delay after the recovery of the parent.
 */
export type FamilyScore = {
  families: number;
  messages: number;
  joined: number;
  byThemselves: number;
  heldMs: number[];
  afterMs: number[];
  /** Broken promises, none expected: see `FAMILY_PROMISES`. */
  broken: Record<FamilyPromise, string[]>;
};

/** Promises of a hold, in words of a table. */
export const FAMILY_PROMISES = {
  heldTooLong: 'held for longer than a recheck and a timeout',
  stale: 'sent after the recovery of the parent without a bad result since',
  dropped: 'neither sent, nor in a message of the parent, nor over',
  missed: 'outages of a child alone of which no alert came',
  nameless: 'in a message of the parent without `held_by`',
  needless: 'sent though only the parent failed',
} as const;

type FamilyPromise = keyof typeof FAMILY_PROMISES;

const PROMISES = Object.keys(FAMILY_PROMISES) as FamilyPromise[];

/** A family with the record of its simulation. */
export type PlayedFamily = { family: Family; record: FamilyRecord };

/** Scores families of one scenario. */
export function scoreFamilies(played: readonly PlayedFamily[]): FamilyScore {
  const score: FamilyScore = {
    families: played.length,
    messages: 0,
    joined: 0,
    byThemselves: 0,
    heldMs: [],
    afterMs: [],
    broken: { heldTooLong: [], stale: [], dropped: [], missed: [], nameless: [], needless: [] },
  };
  for (const { family, record } of played) {
    score.messages += record.messages.length;
    for (const alert of record.alerts) {
      if (alert.child !== null) addAlert(score, alert, { record, family });
    }
    for (const [child, { own }] of family.children.entries())
      for (const outage of own) if (isMissed(child, outage, record)) score.broken.missed.push(`child ${child}`);
  }
  return score;
}

function addAlert(score: FamilyScore, { id, child, ...alert }: FamilyAlert, { record, family }: PlayedFamily): void {
  const { broken } = score;
  const recoveredMs = record.parentUpAtMs.findLast(
    (atMs) => atMs <= (alert.sentAtMs ?? Infinity) && atMs > alert.createdAtMs,
  );
  if (alert.joinedAtMs !== null) {
    score.joined += 1;
    if (alert.heldBy !== record.parentId) broken.nameless.push(id);
  }
  if (alert.sentAtMs === null) {
    const isOver = alert.outcome === 'superseded' && !alert.isNewest;
    const isBehind = alert.outcome === 'superseded' && alert.joinedAtMs !== null;
    if (!isOver && !isBehind) broken.dropped.push(id);
    return;
  }
  score.byThemselves += 1;
  const { sentAtMs } = alert;
  if (alert.joinedAtMs === null) {
    const heldMs = sentAtMs - alert.createdAtMs;
    score.heldMs.push(heldMs);
    if (heldMs > LONGEST_HOLD_MS + WATCH_MS) broken.heldTooLong.push(id);
  }
  const own = child === null ? [] : (family.children[child]?.own ?? []);
  const isOwn = own.some(({ startMs, endMs }) => startMs < sentAtMs && endMs > alert.createdAtMs - DECIDED_WITHIN_MS);
  if (!isOwn) broken.needless.push(id);
  if (recoveredMs === undefined) return;
  if (alert.joinedAtMs !== null) score.afterMs.push(sentAtMs - recoveredMs);
  const isFresh = (record.badChecks[child ?? -1] ?? []).some((atMs) => atMs > recoveredMs && atMs <= sentAtMs);
  if (!isFresh) broken.stale.push(id);
}

/**
 * Reports whether an outage of a child's own came in no alert. While the parent was down a message of the parent is
 * enough; once it was up for long enough, only an alert of the child itself is.
 */
function isMissed(
  child: number,
  { startMs, endMs }: { startMs: number; endMs: number },
  record: FamilyRecord,
): boolean {
  const alerts = record.alerts.filter((alert) => alert.child === child && alert.createdAtMs >= startMs);
  const isSent = alerts.some(({ sentAtMs }) => sentAtMs !== null && sentAtMs <= endMs + DECIDED_WITHIN_MS);
  if (isSent) return false;
  // If the parent was down all the time except for moments, its message covers the outage.
  const [downs, ups] = [record.parentDownAtMs, record.parentUpAtMs];
  const wellMs = ups.map(
    (upMs) => Math.min(endMs, downs.find((atMs) => atMs > upMs) ?? endMs) - Math.max(upMs, startMs),
  );
  const longestWellMs = downs.length === 0 ? endMs - startMs : Math.max(0, ...wellMs, (downs[0] ?? endMs) - startMs);
  return longestWellMs > DECIDED_WITHIN_MS || alerts.every(({ joinedAtMs }) => joinedAtMs === null);
}

/** Prints the families that were played, and their promises. */
export function printFamilies(rows: readonly { scenario: FamilyScenario; score: FamilyScore }[]): string {
  const lines = rows.map(({ scenario: { name, assumes }, score }) =>
    [
      name,
      assumes,
      (score.messages / score.families).toFixed(1),
      score.joined,
      score.byThemselves,
      seconds(score.heldMs),
      seconds(score.afterMs),
    ].join(' | '),
  );
  const promises = PROMISES.map((promise) => {
    const broken = rows.reduce((sum, { score }) => sum + score.broken[promise].length, 0);
    return `| ${FAMILY_PROMISES[promise]} | ${broken} |`;
  });
  const columns = [
    'scenario',
    'what is assumed',
    'messages a family',
    'alerts of children in a message of the parent',
    'by themselves',
    'held, s',
    'after the recovery of the parent, s',
  ];
  return [
    `| ${columns.join(' | ')} |`,
    `| ${columns.map(() => '---').join(' | ')} |`,
    ...lines.map((line) => `| ${line} |`),
    '',
    '| alerts of children that were | count |',
    '| --- | --- |',
    ...promises,
  ].join('\n');
}

/** Formats the median, the 95th percentile and the maximum. */
function seconds(values: readonly number[]): string {
  if (values.length === 0) return '-';
  return [percentile(values, 0.5), percentile(values, 0.95), percentile(values, 1)]
    .map((ms) => Math.round(ms / 1000))
    .join(' / ');
}
