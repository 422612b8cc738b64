import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Logger } from 'pino';
import { freshnessMs } from '../../core/incidents/quorum.ts';
import { SharedCalls } from '../../core/shared-calls.ts';
import {
  EXPOSITION_TYPE,
  UPTIME_WINDOWS,
  writeMetrics,
  type ExportedMonitor,
  type NewestCheck,
} from '../../core/statistics/prometheus-metrics.ts';
import { judgeSla, measureWindows, type Stretch } from '../../core/statistics/sla.ts';
import { DAY_MS, MINUTE_MS } from '../../core/time.ts';
import type { Database } from '../../models/database.ts';
import { readStateHistories } from '../../models/incidents/transitions.ts';
import { measureWithMaintenance, readCurrentMaintenance } from '../../models/maintenance/maintenance-times.ts';
import { runOn } from '../../models/sql.ts';
import {
  keyOf,
  listExportedRows,
  readCertificateExpiries,
  readNewestChecks,
  type ExportedRow,
  type ReadSource,
} from '../../models/statistics/exported-monitors.ts';
import { listServiceGaps } from '../../models/statistics/service-gaps.ts';
import type { Handler, Parts } from '../handler.ts';
import { MAX_CHANGES, historyOf } from '../monitors/overview.ts';
import { callerOf } from '../request-context.ts';

/** Time limit for reading the response to a scrape, in milliseconds. */
const MAX_READING_MS = 60_000;

/** zlib's fastest level: labels repeat, so even that compresses to a thirtieth. */
const LEVEL = 1;

/** `GET /metrics` of an account: Prometheus text, streamed, compressed where the caller accepts it. */
export function getMonitorMetricsHandler({
  database,
  now,
  logger,
  stopping,
  rateLimits,
  takeAnswerSlot,
}: Parts<'database' | 'now' | 'logger' | 'stopping' | 'rateLimits' | 'takeAnswerSlot'>): Handler<'getMonitorMetrics'> {
  const snapshots = new MetricsSnapshots({ database, now, logger, stopping });
  return async (request, response) => {
    const { tag: tags = [] } = request.query;
    const { tenantId } = callerOf(response);
    await rateLimits.take('metrics', tenantId);
    const monitors = (await snapshots.read(tenantId)).filter((monitor) =>
      tags.every((tag) => monitor.tags.includes(tag)),
    );
    const giveBack = takeAnswerSlot(tenantId);
    response.vary('Accept-Encoding').setHeader('Content-Type', EXPOSITION_TYPE);
    const text = Readable.from(writeMetrics(monitors, now()));
    const isZipped = request.acceptsEncodings('gzip') === 'gzip';
    if (isZipped) response.setHeader('Content-Encoding', 'gzip');
    const signal = AbortSignal.timeout(MAX_READING_MS);
    try {
      if (isZipped) await pipeline(text, createGzip({ level: LEVEL }), response, { signal });
      else await pipeline(text, response, { signal });
    } catch (error) {
      // The reader has disconnected or is too slow, so there is no response to send.
      if (!response.destroyed) throw error;
    } finally {
      giveBack();
    }
  };
}

/** Interval of renewing a snapshot in use, and of measuring its uptime, which costs more, in milliseconds. */
const EVERY_MS = 15_000;
const MEASURED_EVERY_MS = MINUTE_MS;

/** Ratio of pauses to the preceding work, so that a large account costs a twentieth of a core. */
const PAUSES = 20;

/** Time after which an unread snapshot is dropped. */
const UNREAD_MS = 2 * MINUTE_MS;

/** Maximum age of a snapshot that is served: an older one means that the database was away. */
const OLDEST_MS = MINUTE_MS;

/** Maximum number of monitors in all snapshots of a process; beyond it the least recently read ones are dropped. */
const MAX_MONITORS = 100_000;

/** Number of monitors whose state changes are read with one statement. */
const CHUNK = 100;

type Figures = Pick<ExportedMonitor, 'uptime' | 'errorBudgetRemaining'>;

const NO_FIGURES: Figures = { uptime: { '1d': null, '7d': null, '30d': null }, errorBudgetRemaining: null };

/** Source of metrics. */
type Source = { database: Pick<Database, 'pool'>; now: () => number };

/**
 * The monitors of an account with their newest checks and figures. Each renewal reads only sources whose next result is
 * due, or whose last one was not up.
 */
class AccountSnapshot {
  readonly #source: Source;
  readonly #tenantId: string;
  #checks = new Map<string, { check: NewestCheck; checksVersion: number }>();
  #figures = new Map<number, Figures>();
  #certificates = new Map<string, number>();
  #measureAtMs = 0;
  monitors: readonly ExportedMonitor[] = [];
  madeAtMs = Number.NEGATIVE_INFINITY;

  constructor(source: Source, tenantId: string) {
    this.#source = source;
    this.#tenantId = tenantId;
  }

  /** Renews the snapshot. */
  async renew(): Promise<void> {
    const { database, now } = this.#source;
    const nowMs = now();
    // The clock was set back, so stored times may be in the future.
    if (nowMs < this.madeAtMs) {
      this.#checks.clear();
      this.#measureAtMs = 0;
    }
    const rows = await listExportedRows(database, this.#tenantId);
    await this.#readChecks(rows, nowMs);
    if (nowMs >= this.#measureAtMs) await this.#measure(rows, nowMs);
    const maintenance = await readCurrentMaintenance(database, { tenantId: this.#tenantId, nowMs });
    this.monitors = rows.map((row) => ({ ...this.#export(row), isInMaintenance: maintenance.has(row.id) }));
    this.madeAtMs = nowMs;
  }

  async #readChecks(rows: readonly ExportedRow[], nowMs: number): Promise<void> {
    const versions = new Map<string, number>();
    const due: ReadSource[] = [];
    for (const { no: monitorNo, checksVersion, intervalSeconds, updatedAt, sources } of rows) {
      for (const { agentNo } of sources) {
        const key = keyOf({ monitorNo, agentNo });
        versions.set(key, checksVersion);
        const known = this.#checks.get(key);
        const freshMs = nowMs - freshnessMs(intervalSeconds);
        if (known === undefined) due.push({ monitorNo, agentNo, sinceMs: freshMs });
        else if (known.checksVersion !== checksVersion) {
          // The previous checks were made with other settings.
          this.#checks.delete(key);
          due.push({ monitorNo, agentNo, sinceMs: Math.max(freshMs, updatedAt * 1000) });
        } else if (isNextDue(known.check, { intervalSeconds, nowMs }))
          due.push({ monitorNo, agentNo, sinceMs: Math.max(freshMs, known.check.dueAtMs) });
      }
    }
    for (const read of await readNewestChecks(this.#source.database, due, nowMs)) {
      const key = keyOf(read);
      const timings = read.timings ?? this.#checks.get(key)?.check.timings ?? null;
      this.#checks.set(key, {
        check: { ...read, timings, certificateExpiresAt: null },
        checksVersion: versions.get(key) ?? 0,
      });
    }
    for (const key of this.#checks.keys()) if (!versions.has(key)) this.#checks.delete(key);
  }

  async #measure(rows: readonly ExportedRow[], nowMs: number): Promise<void> {
    const { database, now } = this.#source;
    const fromMs = nowMs - Math.max(...Object.values(UPTIME_WINDOWS)) * DAY_MS;
    const gaps = await listServiceGaps(runOn(database.pool), { fromMs, toMs: nowMs, nowMs });
    const figures = new Map<number, Figures>();
    for (let first = 0; first < rows.length; first += CHUNK)
      for (const [no, measured] of await this.#measureSome(rows.slice(first, first + CHUNK), { gaps, fromMs, nowMs }))
        figures.set(no, measured);
    this.#figures = figures;
    this.#certificates = await readCertificateExpiries(database, this.#tenantId);
    this.#measureAtMs = nowMs + Math.max(MEASURED_EVERY_MS, PAUSES * (now() - nowMs));
  }

  async #measureSome(
    rows: readonly ExportedRow[],
    { gaps, fromMs, nowMs }: { gaps: readonly Stretch[]; fromMs: number; nowMs: number },
  ): Promise<(readonly [no: number, Figures])[]> {
    const { database } = this.#source;
    const window = { fromMs, toMs: nowMs };
    const histories = await readStateHistories(database, {
      monitorIds: rows.map(({ id }) => id),
      ...window,
      most: MAX_CHANGES,
    });
    return await measureWithMaintenance(
      database,
      { monitors: rows, ...window },
      async (row, { excluded: maintenance }) => {
        const history = historyOf(row, { transitions: histories.get(row.id) ?? [], gaps, maintenance });
        return [row.no, await figuresOf(history, row.slaTarget, nowMs)] as const;
      },
    );
  }

  #export({ sources, ...row }: ExportedRow): Omit<ExportedMonitor, 'isInMaintenance'> {
    const checks = new Map<string, NewestCheck>();
    for (const { agentNo, id, name } of sources) {
      const key = keyOf({ monitorNo: row.no, agentNo });
      const known = this.#checks.get(key);
      if (known === undefined) continue;
      // Two agents may share a name, but two series must not.
      checks.set(checks.has(name) ? `${name} (${id})` : name, {
        ...known.check,
        certificateExpiresAt: this.#certificates.get(key) ?? null,
      });
    }
    return { ...row, ...(this.#figures.get(row.no) ?? NO_FIGURES), checks };
  }
}

/** Reports whether a newer check may exist: while a target is not up, rechecks run between two ticks. */
function isNextDue(
  check: NewestCheck,
  { intervalSeconds, nowMs }: { intervalSeconds: number; nowMs: number },
): boolean {
  return check.verdict !== 'up' || check.dueAtMs + intervalSeconds * 1000 <= nowMs;
}

async function figuresOf(
  history: ReturnType<typeof historyOf>,
  slaTarget: number | null,
  nowMs: number,
): Promise<Figures> {
  const windows = (['1d', '7d', '30d'] as const).map((name) => ({
    fromMs: nowMs - UPTIME_WINDOWS[name] * DAY_MS,
    toMs: nowMs,
  }));
  const [day, week, month] = (await measureWindows(history, windows)).map((seconds) => judgeSla(seconds, slaTarget));
  const budget = month?.budget ?? null;
  return {
    uptime: { '1d': ratioOf(day), '7d': ratioOf(week), '30d': ratioOf(month) },
    errorBudgetRemaining:
      budget === null || budget.totalSeconds === 0 ? null : budget.leftSeconds / budget.totalSeconds,
  };
}

/** Converts a percentage, which has three decimals, to a ratio; null if there is none. */
function ratioOf(judged: ReturnType<typeof judgeSla> | undefined): number | null {
  const percent = judged?.uptimePercent ?? null;
  return percent === null ? null : Number((percent / 100).toFixed(5));
}

type Kept = { snapshot: AccountSnapshot; readAtMs: number; timer: NodeJS.Timeout | undefined };

/**
 * The snapshots of a process: a scrape reads that of its account, and only one without a recent snapshot causes
 * queries. A snapshot in use is renewed in the background.
 */
class MetricsSnapshots {
  readonly #source: Source;
  readonly #logger: Logger;
  readonly #stopping: AbortSignal;
  readonly #kept = new Map<string, Kept>();
  readonly #renewals: SharedCalls<[tenantId: string], readonly ExportedMonitor[]>;

  constructor({ logger, stopping, ...source }: Source & { logger: Logger; stopping: AbortSignal }) {
    this.#source = source;
    this.#logger = logger;
    this.#stopping = stopping;
    this.#renewals = new SharedCalls(
      async (tenantId: string) => await this.#renew(tenantId),
      (tenantId) => tenantId,
    );
    stopping.addEventListener('abort', () => {
      for (const { timer } of this.#kept.values()) clearTimeout(timer);
    });
  }

  /** Returns the monitors of an account, at most a minute old. Rejects if they cannot be read. */
  async read(tenantId: string): Promise<readonly ExportedMonitor[]> {
    const nowMs = this.#source.now();
    const kept = this.#kept.get(tenantId) ?? {
      snapshot: new AccountSnapshot(this.#source, tenantId),
      readAtMs: nowMs,
      timer: undefined,
    };
    // Reinserts the entry at the end, so that the least recently read ones come first.
    this.#kept.delete(tenantId);
    this.#kept.set(tenantId, kept);
    kept.readAtMs = nowMs;
    const ageMs = nowMs - kept.snapshot.madeAtMs;
    return ageMs >= 0 && ageMs <= OLDEST_MS ? kept.snapshot.monitors : await this.#renewals.run(tenantId);
  }

  async #renew(tenantId: string): Promise<readonly ExportedMonitor[]> {
    const kept = this.#kept.get(tenantId);
    if (kept === undefined) return [];
    clearTimeout(kept.timer);
    const startedAt = performance.now();
    try {
      await kept.snapshot.renew();
      this.#dropOldest();
      // The snapshot itself may have been dropped meanwhile, while its callers wait for these monitors.
      return kept.snapshot.monitors;
    } finally {
      if (!this.#stopping.aborted && this.#kept.get(tenantId) === kept)
        kept.timer = setTimeout(
          () => this.#renewUnasked(tenantId, kept),
          Math.max(EVERY_MS, PAUSES * (performance.now() - startedAt)),
        ).unref();
    }
  }

  #renewUnasked(tenantId: string, kept: Kept): void {
    if (this.#source.now() - kept.readAtMs > UNREAD_MS) this.#kept.delete(tenantId);
    else
      this.#renewals.run(tenantId).catch((error: unknown) => {
        this.#logger.warn({ err: error, tenant_id: tenantId }, 'metrics.snapshot_failed');
      });
  }

  #dropOldest(): void {
    let monitors = [...this.#kept.values()].reduce((sum, { snapshot }) => sum + snapshot.monitors.length, 0);
    for (const [tenantId, { snapshot, timer }] of this.#kept) {
      if (monitors <= MAX_MONITORS || this.#kept.size === 1) return;
      clearTimeout(timer);
      this.#kept.delete(tenantId);
      monitors -= snapshot.monitors.length;
    }
  }
}
