import { findVendorPage } from '../../core/checks/vendor/page.ts';
import { registerSharedAgent, updateLastSeenAt } from '../../models/agents/shared-agents.ts';
import { createVendorDocumentStore } from '../../models/checks/lookups.ts';
import type { HostPort } from '../../net/host-address.ts';
import { openDnsProbe, type DnsEnvironment } from '../../probes/dns.ts';
import { createDomainProbe, openKnownDomains, type KnowDomain } from '../../probes/domain.ts';
import { dispatch, openAgentProbe, type OpenProbe } from '../../probes/probe.ts';
import { createVendorPageReader, createVendorProbe, type VendorPageReader } from '../../probes/vendor.ts';
import { QUEUES, SERVICE_REGION, type LookupJob } from '../../queues/payloads.ts';
import { workOnChecks } from '../checks/check-queue.ts';
import { domainStoreOf } from '../checks/registries.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

/** The agent that represents the service itself in the schema. */
const SERVICE_SOURCE = { id: 'agt_service', name: 'service' };

/** Maximum simultaneous lookups: each waits for a vendor's server. */
const LOOKUPS_AT_ONCE = 10;

/**
 * Lifetime of a lock, in milliseconds. A request waits a few seconds for its lookup, so a killed worker's lookup is
 * useless.
 */
const LOCK_MS = 15_000;

/** Looks up the pages that the form of a monitor needs; the contents are in the shared store afterwards. */
function workOnLookups(
  { backend, log }: Pick<Runtime, 'backend' | 'log'>,
  readPage: VendorPageReader,
): { stop: () => Promise<void> } {
  const worker = backend.createWorker<LookupJob>(
    QUEUES.lookup,
    async (job) => {
      const page = findVendorPage(job.data.target);
      if (page === null) return { outcome: 'unknown' };
      const reading = await readPage(page, [], job.data.tenantId);
      return reading.outcome === 'read'
        ? { outcome: 'read', components: reading.snapshot.components.length }
        : { outcome: 'failed', reason: reading.failure.reason };
    },
    {
      concurrency: LOOKUPS_AT_ONCE,
      lockDurationMs: LOCK_MS,
      onFailed: (job, error) => log.error({ err: error, job_id: job?.id }, 'lookup.failed'),
    },
  );
  return { stop: () => worker.close() };
}

/** `selfCheckHosts`, `probesAtOnce`: see `CheckWork`. */
type CheckProcessOptions = {
  region: string;
  version: string;
  allowPrivateNetwork: boolean;
  selfCheckHosts?: readonly HostPort[];
  probesAtOnce?: number;
};

/**
 * `dnsResolvers` are those of dns cross checks (D-26); `whoisServer` refers to the registries' WHOIS servers (D-27).
 */
type ServiceCheckOptions = {
  allowPrivateNetwork: boolean;
  dnsResolvers: readonly string[];
  whoisServer: HostPort;
  selfCheckHosts?: readonly HostPort[];
};

/** Interval of the agent's signs of life, in milliseconds. */
const UPDATE_EVERY_MS = 15_000;

/** Starts the probes of one shared agent, which registers itself by its region. */
export async function startCheck(runtime: Runtime, options: CheckProcessOptions): Promise<RunningProcess> {
  const { database, now } = runtime;
  const { region, version } = options;
  const agent = await registerSharedAgent(database, {
    newId: runtime.newId('agt'),
    region,
    version,
    arch: process.arch,
    nowMs: now(),
  });
  const log = runtime.log.child({ region, agent_id: agent.id });
  if (agent.retiredAt !== null)
    log.warn(
      {
        retired_at: agent.retiredAt,
        remedy: `take it out of AGENT_REGION and AGENT_REGIONS, or: spotcheck agent restore --region ${region}`,
      },
      'region.retired',
    );
  const { probe, close } = openAgentProbe({
    allowPrivateNetwork: options.allowPrivateNetwork,
    onEchoNotice({ family, means, reason }) {
      const fields = { family, means: means ?? 'none', reason };
      if (means === null) log.warn(fields, 'icmp.unavailable');
      else log.info(fields, 'icmp.available');
    },
  });
  const work = workOnChecks(
    { ...runtime, log },
    {
      region,
      source: { id: agent.id, name: agent.name },
      probe,
      selfCheckHosts: options.selfCheckHosts,
      probesAtOnce: options.probesAtOnce,
    },
  );
  const updating = setInterval(() => {
    updateLastSeenAt(database, agent.no, now()).catch((error: unknown) =>
      log.warn({ err: error }, 'agent.not_updated'),
    );
  }, UPDATE_EVERY_MS);
  return {
    name: `check ${region}`,
    async stop() {
      clearInterval(updating);
      await work.stop();
      await close();
    },
  };
}

/** Opens the probe for the service's own checks. */
export function openServiceProbe(
  environment: DnsEnvironment & { readVendorPage: VendorPageReader; knowDomain: KnowDomain },
): OpenProbe {
  const dns = openDnsProbe(environment);
  return {
    probe: dispatch({
      dns: dns.probe,
      domain: createDomainProbe(environment.knowDomain),
      vendor: createVendorProbe(environment.readVendorPage),
    }),
    close: dns.close,
  };
}

/**
 * Starts the service's own checks (domain, dns, vendor), and the lookups for people who edit a monitor. Every check
 * process takes part in them, whatever its region.
 */
export function startServiceCheck(runtime: Runtime, options: ServiceCheckOptions): RunningProcess {
  const { database, now } = runtime;
  const readVendorPage = createVendorPageReader({
    store: createVendorDocumentStore(database),
    allowPrivateNetwork: options.allowPrivateNetwork,
    now,
  });
  const domains = openKnownDomains({ ...options, domains: domainStoreOf(database), now });
  const { probe, close } = openServiceProbe({ ...options, readVendorPage, knowDomain: domains.know });
  const ofService = { ...runtime, log: runtime.log.child({ region: SERVICE_REGION }) };
  const work = workOnChecks(ofService, {
    region: SERVICE_REGION,
    source: SERVICE_SOURCE,
    probe,
    selfCheckHosts: options.selfCheckHosts,
  });
  const lookups = workOnLookups(ofService, readVendorPage);
  return {
    name: 'service checks',
    async stop() {
      await Promise.all([work.stop(), lookups.stop()]);
      await domains.close();
      await close();
    },
  };
}
