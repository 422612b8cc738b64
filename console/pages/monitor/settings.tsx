import { formatPercent } from '../../../core/statistics/reports/content.ts';
import { formatDuration } from '../../../core/time.ts';
import type { Schemas } from '../../client/api.ts';
import { canWrite } from '../../client/session-state.ts';
import { ButtonLink } from '../../parts/button.tsx';
import { count, describeHours, joinWords } from '../../parts/figures.ts';
import { ChangesLink, Code } from '../../parts/object-page.tsx';
import { Card, Section } from '../../parts/page.tsx';
import { formatDateTime, formatEvery } from '../../parts/time.tsx';
import { hasLocations } from './status-words.ts';
import {
  dnsSettings,
  domainSettings,
  heartbeatSettings,
  httpSettings,
  pingSettings,
  transportSettings,
  vendorSettings,
  type Setting,
} from './type-settings.tsx';

type Detail = Schemas['MonitorDetail'];
type SettingsProps = { detail: Detail; agents: readonly Schemas['Agent'][]; names: ReadonlyMap<string, string> };

const OF_TYPE: Record<Schemas['MonitorType'], (detail: Detail) => Setting[]> = {
  http: httpSettings,
  tcp: transportSettings,
  udp: transportSettings,
  icmp: pingSettings,
  dns: dnsSettings,
  domain: domainSettings,
  heartbeat: heartbeatSettings,
  vendor: vendorSettings,
};

const TYPES: Record<Schemas['MonitorType'], string> = {
  http: 'HTTP request',
  tcp: 'TCP connection',
  udp: 'UDP datagram',
  icmp: 'ICMP ping',
  dns: 'DNS records',
  domain: 'Domain expiry',
  heartbeat: 'Heartbeat',
  vendor: 'Vendor status page',
};

/** The settings of a monitor; secrets are only mentioned. */
export function Settings({ detail, agents, names }: SettingsProps) {
  const actions = (
    <div class="flex gap-2">
      <ChangesLink kind="monitor" id={detail.id} />
      {canWrite() && (
        <ButtonLink size="small" icon="edit" href={`/monitors/${detail.id}/edit`}>
          Edit
        </ButtonLink>
      )}
    </div>
  );
  return (
    <Section title="Settings" actions={actions}>
      <Card class="px-4 py-1 md:px-5">
        <dl class="divide-y divide-line text-sm">
          {listSettings(detail, agents, names).map(([label, value]) => (
            <div key={label} class="grid gap-x-6 py-2.5 md:grid-cols-[13rem_1fr]">
              <dt class="text-soft max-md:text-xs">{label}</dt>
              <dd class="min-w-0 break-words">{value}</dd>
            </div>
          ))}
        </dl>
      </Card>
    </Section>
  );
}

function listSettings(
  detail: Detail,
  agents: readonly Schemas['Agent'][],
  names: ReadonlyMap<string, string>,
): Setting[] {
  const {
    type,
    interval_seconds: interval,
    timeout_ms: timeout,
    reopen_seconds: reopen,
    monthly_drill: monthlyDrill,
    sla_target: target,
    sla,
    tags,
    check_spec: spec,
    created_at: created,
    updated_at: updated,
  } = detail;
  const dependencies = spec.dependencies ?? [];
  return [
    ['Type', TYPES[type]],
    ...(detail.target === '' ? [] : [['Target', <Code key="target">{detail.target}</Code>] as Setting]),
    [
      type === 'heartbeat' ? 'Expected' : 'Checked',
      spec.heartbeat?.schedule ? formatSchedule(spec.heartbeat.schedule) : formatEvery(interval),
    ],
    ...OF_TYPE[type](detail),
    ...(hasLocations(detail)
      ? ([
          ['Timeout', `${timeout / 1000} s`],
          ['Alert after', alertAfter(detail)],
          ['Locations', formatLocations(detail, agents)],
        ] as Setting[])
      : []),
    ['Uptime target (SLO)', formatPercent(target, 'None')],
    ...(sla === null ? [] : [['Service hours', describeSla(sla)] as Setting]),
    ...(reopen === 0 ? [] : [['Reopens incidents', `within ${formatDuration(reopen)}`] as Setting]),
    ...(monthlyDrill ? [['Drill', 'each month'] as Setting] : []),
    ...(tags.length === 0 ? [] : [['Tags', <Tags key="tags" tags={tags} />] as Setting]),
    ...(dependencies.length === 0
      ? []
      : [['Vendor dependencies', <Dependencies key="dependencies" ids={dependencies} names={names} />] as Setting]),
    ['Created', formatDateTime(created)],
    ...(updated === created ? [] : [['Updated', formatDateTime(updated)] as Setting]),
  ];
}

function describeSla({ target, exclude_maintenance: excludes = true, ...counted }: NonNullable<Detail['sla']>): string {
  return `${target}% of ${describeHours(counted)}, maintenance ${excludes ? 'left out' : 'counted'}`;
}

/** Formats the cron expression and the zone of a heartbeat's schedule. */
function formatSchedule({ cron, timezone = 'UTC' }: Schemas['HeartbeatSchedule']): string {
  return `${cron}, ${timezone.replaceAll('_', ' ')}`;
}

/** The tags of a monitor; each links to the monitors that have it. */
function Tags({ tags }: { tags: readonly string[] }) {
  return (
    <span class="flex flex-wrap gap-x-2 gap-y-1">
      {tags.map((tag) => (
        <a key={tag} href={`/?tag=${encodeURIComponent(tag)}`} class="underline underline-offset-2">
          {tag}
        </a>
      ))}
    </span>
  );
}

function Dependencies({ ids, names }: { ids: readonly string[]; names: ReadonlyMap<string, string> }) {
  return (
    <>
      {ids.map((id, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <a href={`/monitors/${id}`} class="underline underline-offset-2">
            {names.get(id) ?? id}
          </a>
        </span>
      ))}
    </>
  );
}

/** Describes the rule as configured; the number of locations that count now is shown above. */
function alertAfter({
  down_min_sources: quorum,
  agent_sources: sources,
  down_after_failures: failures,
  up_after_successes: successes,
  type,
}: Detail): string {
  const locations = sources.length <= 1 ? '' : ` from ${quorum} of ${sources.length} locations`;
  // A second check would read the same registry date, so one bad result decides (D-446).
  const needed = type === 'domain' ? 1 : failures;
  return `${count(needed, 'failed check')}${locations}; resolved after ${count(successes, 'successful check')}`;
}

function formatLocations({ agent_sources: sources }: Detail, agents: readonly Schemas['Agent'][]): string {
  return sources.length === 0
    ? 'None yet'
    : joinWords(sources.map((id) => agents.find((agent) => agent.id === id)?.name ?? id));
}
