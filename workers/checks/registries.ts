import { HOUR_MS } from '../../core/time.ts';
import {
  acquireRegistry,
  claimDomain,
  findBootstrapState,
  findDomain,
  findRdapService,
  releaseRegistry,
  storeBootstrap,
  storeDomain,
  updateBootstrapCheckedAt,
  type BootstrapState,
} from '../../models/checks/lookups.ts';
import type { Database } from '../../models/database.ts';
import type { HttpClient, HttpExchange } from '../../net/http-client.ts';
import { OFFERED_ENCODINGS } from '../../net/response-body.ts';
import { parseBootstrap } from '../../probes/domain/rdap.ts';
import type { DomainStore } from '../../probes/domain/registry-queue.ts';
import type { Runtime } from '../runtime.ts';

/** URL of IANA's registry of RDAP services, and the client that reads it. */
type RegistrySource = { url: string; http: HttpClient };

/** Age below which a registry is not requested again, even after restarts, in milliseconds. */
const RECENT_MS = 20 * HOUR_MS;
const DEADLINE_MS = 15_000;
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Refreshes the registry of RDAP services by a conditional request (D-27). If that fails, the old one stays, or the
 * program's own snapshot if there is none.
 */
export async function refreshRegistries(
  { database, now, log }: Runtime,
  { url, http }: RegistrySource,
): Promise<{ registries: 'recent' | 'unchanged' | 'stored' | 'failed' }> {
  const state = await findBootstrapState(database);
  if (state !== null && now() - state.checkedAtMs < RECENT_MS) return { registries: 'recent' };
  const exchange = await http({
    url: new URL(url),
    method: 'GET',
    headers: headersFor(state),
    deadlineMs: DEADLINE_MS,
    bodyLimit: () => MAX_BYTES,
  });
  if (exchange.outcome === 'answered' && exchange.status === 304 && state !== null) {
    await updateBootstrapCheckedAt(database, now());
    return { registries: 'unchanged' };
  }
  const services =
    exchange.outcome === 'answered' && exchange.status === 200 ? parseBootstrap(exchange.body.toString('utf8')) : null;
  if (exchange.outcome === 'failed' || services === null) {
    log.warn({ url, reason: explain(exchange) }, 'registries.not_refreshed');
    return { registries: 'failed' };
  }
  const { etag = null, 'last-modified': lastModified = null } = exchange.headers;
  await storeBootstrap(database, { services, etag, lastModified, checkedAtMs: now() });
  return { registries: 'stored' };
}

function headersFor(state: BootstrapState | null): Record<string, string> {
  return {
    'User-Agent': 'Spotcheck/1.0 (domain expiry check)',
    Accept: 'application/json',
    'Accept-Encoding': OFFERED_ENCODINGS,
    ...(state?.etag && { 'If-None-Match': state.etag }),
    ...(state?.lastModified && { 'If-Modified-Since': state.lastModified }),
  };
}

function explain(exchange: HttpExchange): string {
  if (exchange.outcome === 'failed') return exchange.reason;
  return exchange.status === 200 ? 'The response is not a registry of RDAP services' : `HTTP ${exchange.status}`;
}

/** Returns the store of domain facts in PostgreSQL, for all processes that look up domains. */
export function domainStoreOf(database: Database): DomainStore {
  return {
    read: (name) => findDomain(database, name),
    claim: (name, when) => claimDomain(database, name, when),
    write: (facts) => storeDomain(database, facts),
    findRdapService: (tld) => findRdapService(database, tld),
    acquireRegistry: (server, when) => acquireRegistry(database, server, when),
    releaseRegistry: (server, when) => releaseRegistry(database, server, when),
  };
}
