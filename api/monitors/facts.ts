import { isGone, type DomainFacts } from '../../core/checks/domain/facts.ts';
import { isOverdue } from '../../core/checks/slots.ts';
import { isRecent } from '../../core/incidents/quorum.ts';
import { statusOf } from '../../core/incidents/state.ts';
import type { Monitor } from '../../core/monitors/monitor.ts';
import { findSourceStatus } from '../../core/monitors/source-status.ts';
import { toUnixSeconds } from '../../core/time.ts';
import {
  isSameExpiry,
  listCertificates,
  listSaidAdvisories,
  type SaidAdvisory,
} from '../../models/alerts/advisories.ts';
import { findDomain } from '../../models/checks/lookups.ts';
import { findRelations, type Related } from '../../models/monitors/dependencies.ts';
import { listMonitorLocations, readLastChecks } from '../../models/monitors/monitor-overview.ts';
import { findMonitor } from '../../models/monitors/monitors.ts';
import { findRegistrableDomain } from '../../net/registrable-domain.ts';
import { notFound } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { callerOf, idOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';
import { secondsOf } from './overview.ts';

type Facts = components['schemas']['MonitorFacts'];

/** `GET /monitors/{id}/facts` */
export function getMonitorFactsHandler({ database, now }: Parts<'database' | 'now'>): Handler<'getMonitorFacts'> {
  return async (request, response) => {
    const id = idOf(request);
    const found = await findMonitor(database, { tenantId: callerOf(response).tenantId, id });
    if (found === null) throw notFound('monitor', id);
    const name = watchedDomain(found.monitor);
    const [domain, [certificate = null], said] = await Promise.all([
      name === null ? null : findDomain(database, name),
      listCertificates(database, [found.monitor.no], now()),
      listSaidAdvisories(database, found.monitor.no),
    ]);
    response.json({
      domain: domain && presentDomain(domain),
      certificate: certificate && { name: certificate.name, expires_at: certificate.expiresAt },
      advisories: isWarned(found.monitor)
        ? listCurrentAdvisories(said, { domain, certificateExpiresAt: certificate?.expiresAt ?? null }).map(
            presentAdvisory,
          )
        : [],
    });
  };
}

function isWarned({ type, checkSpec }: Monitor): boolean {
  return type === 'domain' || (checkSpec.domain?.warnDays ?? 0) >= 1;
}

/**
 * Returns the domain that is looked up; for an http monitor only if a warning is enabled, because other pages do not
 * show it.
 */
function watchedDomain(monitor: Monitor): string | null {
  const { type, target } = monitor;
  if ((type !== 'http' && type !== 'domain') || target === '' || !isWarned(monitor)) return null;
  return findRegistrableDomain(type === 'http' ? (URL.parse(target)?.hostname ?? '') : target);
}

function presentDomain(facts: DomainFacts): Facts['domain'] {
  const { name, registration, answeredAtMs, failure } = facts;
  return {
    name,
    registered: isGone(facts) ? false : registration === null ? null : true,
    expires_at: registration?.expiresAt ?? null,
    registrar: registration?.registrar ?? null,
    asked_at: answeredAtMs === null ? null : toUnixSeconds(answeredAtMs),
    failure,
  };
}

/**
 * Returns the newest advisory of each subject about the current expiry; one about an expiry renewed since is outdated.
 */
function listCurrentAdvisories(
  said: readonly SaidAdvisory[],
  { domain, certificateExpiresAt }: { domain: DomainFacts | null; certificateExpiresAt: number | null },
): SaidAdvisory[] {
  const present = { domain: domain?.registration?.expiresAt ?? null, certificate: certificateExpiresAt };
  const subjects = ['domain', 'certificate'] as const;
  return subjects.flatMap(
    (subject) =>
      said.find(
        (advisory) =>
          advisory.subject === subject &&
          present[subject] !== null &&
          isSameExpiry(advisory.expiresAt, present[subject]),
      ) ?? [],
  );
}

function presentAdvisory({ subject, name, expiresAt, threshold, saidAtMs }: SaidAdvisory): Facts['advisories'][number] {
  return { subject, name, expires_at: expiresAt, threshold_days: threshold, sent_at: toUnixSeconds(saidAtMs) };
}

/** Maximum number of listed dependents of a monitor. */
const MAX_DEPENDENTS = 100;

/** `GET /monitors/{id}/dependencies` */
export function getMonitorDependenciesHandler({ database }: Parts<'database'>): Handler<'getMonitorDependencies'> {
  return async (request, response) => {
    const id = idOf(request);
    const found = await findMonitor(database, { tenantId: callerOf(response).tenantId, id });
    if (found === null) throw notFound('monitor', id);
    const { parents, children, childCount } = await findRelations(database, {
      monitorNo: found.monitor.no,
      limit: MAX_DEPENDENTS,
    });
    response.json({
      depends_on: parents.map(presentRelated),
      dependents: children.map(presentRelated),
      dependents_total: childCount,
    });
  };
}

function presentRelated({ id, name, type, state, mode }: Related): components['schemas']['RelatedMonitor'] {
  return { id, name, type, status: statusOf(state), mode };
}

/** `GET /monitors/{id}/locations` */
export function getMonitorLocationsHandler({
  database,
  now,
}: Parts<'database' | 'now'>): Handler<'getMonitorLocations'> {
  return async (request, response) => {
    const id = idOf(request);
    const found = await findMonitor(database, { tenantId: callerOf(response).tenantId, id });
    if (found === null) throw notFound('monitor', id);
    const nowMs = now();
    const { no, intervalSeconds, downMinSources } = found.monitor;
    const [locations, lastChecks] = await Promise.all([
      listMonitorLocations(database, found.monitor, nowMs),
      readLastChecks(database, { monitorNos: [no], nowMs }),
    ]);
    response.json({
      down_min_sources: downMinSources,
      locations: locations.map((location) => {
        const status = findSourceStatus(location, isRecent(location, { intervalSeconds, waitsForPings: false }, nowMs));
        return {
          id: location.id,
          name: location.name,
          region: location.region,
          status: status === 'votes' ? 'counted' : status,
          last_seen_at: location.lastSeenAt,
          last_result_at: location.newestAtMs === null ? null : toUnixSeconds(location.newestAtMs),
        };
      }),
      last_check_at: secondsOf(lastChecks.get(no)),
      overdue: isOverdue(found.monitor, lastChecks.get(no), nowMs),
    });
  };
}
