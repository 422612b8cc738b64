import { buildAdvisoryMessage, passedThreshold, type AdvisorySubject } from '../../core/checks/domain/advisory.ts';
import { isCurrent, isGone, type DomainFacts } from '../../core/checks/domain/facts.ts';
import { HOUR_MS } from '../../core/time.ts';
import {
  listCertificates,
  listWarnedMonitors,
  recordAdvisories,
  type Advisory,
  type WarnedMonitor,
} from '../../models/alerts/advisories.ts';
import { insertDeliveries, type NewDelivery } from '../../models/alerts/deliveries.ts';
import { listRoutes } from '../../models/alerts/routes.ts';
import { listDomains } from '../../models/checks/lookups.ts';
import { inTransaction, withAdvisoryLock } from '../../models/sql.ts';
import { isTimeUncertain } from '../../models/statistics/service-time.ts';
import { findRegistrableDomain } from '../../net/registrable-domain.ts';
import { LOOKUP_MS, type KnowDomain } from '../../probes/domain.ts';
import { firstAttempt } from '../../queues/enqueue-committed.ts';
import { announce } from '../incidents/record-changes.ts';
import type { Runtime } from '../runtime.ts';

/** Monitors read, and advisories written, at a time. */
const CHUNK = 500;

/**
 * How long one round starts lookups, in milliseconds, and how many run at once. With the last of them it still takes
 * less time than a stopping process waits; the next round continues.
 */
const LOOKUPS = { roundMs: 8000, atOnce: 4 } as const;

/** An expiry that concerns a monitor, and its time (Unix seconds). */
type Expiry = { subject: AdvisorySubject; name: string; expiresAt: number };
type Page = { monitors: WarnedMonitor[]; expiries: ReadonlyMap<number, Expiry[]>; dueNames: string[] };

/**
 * Warns of domains and certificates that are about to expire, once at each threshold of a monitor (D-27), from stored
 * data. Domains that are due are looked up in between. One process does this at a time.
 */
export async function adviseOfExpiries(
  runtime: Runtime,
  knowDomain: KnowDomain,
): Promise<{ lookedUp: number; advisories: number }> {
  // A clock that is ahead would report expiries months too early.
  if (await isTimeUncertain(runtime.database, { nowMs: runtime.now(), jumpWindowMs: HOUR_MS }))
    return { lookedUp: 0, advisories: 0 };
  const done = await withAdvisoryLock(runtime.database, 'advisories', async () => {
    const first = await adviseAll(runtime);
    const lookups = await lookUp(first.dueNames, { knowDomain, now: runtime.now });
    const { lookedUp } = lookups;
    const second = lookedUp > 0 ? await adviseAll(runtime) : null;
    const failures = [...first.failures, ...lookups.failures, ...(second?.failures ?? [])];
    if (failures.length > 0) throw failures[0];
    return { lookedUp, advisories: first.advisories + (second?.advisories ?? 0) };
  });
  return done ?? { lookedUp: 0, advisories: 0 };
}

type Advised = { advisories: number; dueNames: ReadonlySet<string>; failures: readonly unknown[] };

/** Warns of all expiries, page by page. A page that fails stops neither the others nor the lookups of its domains. */
async function adviseAll(runtime: Runtime): Promise<Advised> {
  const dueNames = new Set<string>();
  const failures: unknown[] = [];
  let advisories = 0;
  for (let afterNo = 0; ;) {
    const monitors = await listWarnedMonitors(runtime.database, { afterNo, limit: CHUNK });
    try {
      const page = await readPage(runtime, monitors);
      for (const name of page.dueNames) dueNames.add(name);
      advisories += await advise(runtime, page);
    } catch (error) {
      failures.push(error);
    }
    const last = monitors.at(-1);
    if (last === undefined || monitors.length < CHUNK) return { advisories, dueNames, failures };
    afterNo = last.no;
  }
}

async function readPage({ database, now }: Runtime, monitors: WarnedMonitor[]): Promise<Page> {
  const domainOf = new Map(monitors.map((monitor) => [monitor.no, findRegistrableDomain(hostOf(monitor))]));
  const names = [...new Set(domainOf.values())].filter((name) => name !== null);
  const known = new Map((await listDomains(database, names)).map((facts) => [facts.name, facts]));
  const secured = monitors.filter(({ type, target }) => type === 'http' && /^https:/i.test(target));
  const shown = await listCertificates(
    database,
    secured.map(({ no }) => no),
    now(),
  );
  const certificates = new Map(
    shown.filter(({ isCurrent: isShown }) => isShown).map((certificate) => [certificate.monitorNo, certificate]),
  );
  const expiries = new Map(
    monitors.map(({ no }) => {
      const certificate = certificates.get(no);
      const domain = domainExpiry(known.get(domainOf.get(no) ?? ''), now());
      return [
        no,
        [
          ...domain,
          ...(certificate === undefined
            ? []
            : [{ subject: 'certificate', name: certificate.name, expiresAt: certificate.expiresAt } as const]),
        ],
      ];
    }),
  );
  return { monitors, expiries, dueNames: names.filter((name) => (known.get(name)?.nextLookupAtMs ?? 0) <= now()) };
}

function hostOf({ type, target }: WarnedMonitor): string {
  return type === 'http' ? (URL.parse(target)?.hostname ?? '') : target;
}

/**
 * Returns a domain's expiry; none without current facts. An expiry in the past needs an answer from after it, because
 * the domain may have been renewed since.
 */
function domainExpiry(facts: DomainFacts | undefined, nowMs: number): Expiry[] {
  const expiresAt = facts?.registration?.expiresAt ?? null;
  if (facts === undefined || expiresAt === null || isGone(facts) || !isCurrent(facts, nowMs)) return [];
  const isConfirmed = (facts.answeredAtMs ?? 0) >= expiresAt * 1000 && facts.notFoundSinceMs === null;
  if (expiresAt * 1000 <= nowMs && !isConfirmed) return [];
  return [{ subject: 'domain', name: facts.name, expiresAt }];
}

/** Writes the page's new advisories with their deliveries in one transaction; their jobs are added after the commit. */
async function advise(runtime: Runtime, { monitors, expiries }: Page): Promise<number> {
  const nowMs = runtime.now();
  const byNo = new Map(monitors.map((monitor) => [monitor.no, monitor]));
  const wanted = monitors.flatMap(({ no, warnDays }) =>
    (expiries.get(no) ?? []).flatMap((expiry) => {
      const threshold = passedThreshold({ expiresAt: expiry.expiresAt, warnDays, nowMs });
      return threshold === null ? [] : [{ monitorNo: no, ...expiry, threshold }];
    }),
  );
  if (wanted.length === 0) return 0;
  const { said, deliveries } = await inTransaction(runtime.database, async (run) => {
    const fresh = await recordAdvisories(run, wanted, nowMs);
    const pairs = fresh.flatMap((advisory) => {
      const monitor = byNo.get(advisory.monitorNo);
      return monitor === undefined ? [] : [{ monitor, advisory }];
    });
    const routes = Map.groupBy(
      await listRoutes(run, [...new Set(pairs.map(({ monitor }) => monitor.id))]),
      (route) => route.monitorId,
    );
    const made = pairs.flatMap(({ monitor, advisory }) =>
      deliveriesOf(monitor, advisory, {
        runtime,
        nowMs,
        channelIds: (routes.get(monitor.id) ?? []).map(({ channelId }) => channelId),
      }),
    );
    await insertDeliveries(run, made);
    return { said: pairs, deliveries: made.map(firstAttempt) };
  });
  for (const { monitor, advisory } of said) {
    const { subject, name, threshold, expiresAt } = advisory;
    runtime.log.info(
      { tenant_id: monitor.tenantId, monitor_id: monitor.id, subject, name, threshold, expires_at: expiresAt },
      'advisory.said',
    );
  }
  await announce(runtime, { transitions: [], deliveries });
  return said.length;
}

type Circumstances = { runtime: Runtime; nowMs: number; channelIds: readonly string[] };

function deliveriesOf(
  monitor: WarnedMonitor,
  { subject, name, expiresAt }: Advisory,
  { runtime, nowMs, channelIds }: Circumstances,
): NewDelivery[] {
  const message = buildAdvisoryMessage({ monitor, subject, name, expiresAt, nowMs, publicUrl: runtime.publicUrl });
  return channelIds.map((channelId) => ({
    id: runtime.newId('dlv'),
    tenantId: monitor.tenantId,
    channelId,
    monitorId: monitor.id,
    message,
    createdAtMs: nowMs,
  }));
}

/**
 * Looks up as many domains as the round has time for, and returns their number and the first failure, if any. A lookup
 * that fails stops no other.
 */
async function lookUp(
  names: ReadonlySet<string>,
  { knowDomain, now }: { knowDomain: KnowDomain; now: () => number },
): Promise<{ lookedUp: number; failures: readonly unknown[] }> {
  const endAtMs = now() + LOOKUPS.roundMs;
  const waiting = [...names].values();
  let lookedUp = 0;
  const failures: unknown[] = [];
  const work = async () => {
    for (const name of waiting) {
      if (now() >= endAtMs) return;
      try {
        await knowDomain(name, LOOKUP_MS);
        lookedUp += 1;
      } catch (error) {
        if (failures.length === 0) failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: LOOKUPS.atOnce }, work));
  return { lookedUp, failures };
}
