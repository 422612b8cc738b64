import type { ComponentChildren } from 'preact';
import { api } from '../../client/api.ts';
import type { Schemas } from '../../client/shapes.ts';
import { formatNumber } from '../../parts/figures.ts';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { Card, Section } from '../../parts/page.tsx';
import { formatDuration } from '../../parts/time.tsx';

type Usage = Schemas['Usage'];

const PLANS: Record<Usage['plan'], string> = { free: 'Free', solo: 'Solo', pro: 'Pro' };

const COUNTED = [
  ['monitors', 'Monitors'],
  ['own_agents', 'Private agents'],
  ['tokens', 'API tokens'],
] as const;

/** The share of a limit from which a bar is a warning. */
const NEARLY_ALL = 0.9;

/** The limits of the plan, and how much of them is used. */
export function UsageSettings() {
  const load = useLoad((signal) => api.get('/usage', { signal }), []);
  return (
    <Loaded load={load}>
      {(usage) => (
        <Section title={`${PLANS[usage.plan]} plan`} lead="Contact your administrator to change plan.">
          <div class="grid gap-4 md:grid-cols-2">
            <Card>
              <h3 class="mb-3 text-sm font-medium">Usage</h3>
              <dl class="grid gap-4">
                {COUNTED.map(([name, label]) => (
                  <Counted key={name} label={label} used={usage.used[name]} limit={usage.limits[name]} />
                ))}
                <Row label="Channels" value={formatNumber(usage.used.channels)} />
                <Row label="Members" value={formatNumber(usage.used.members)} />
              </dl>
            </Card>
            <Card>
              <h3 class="mb-3 text-sm font-medium">Limits</h3>
              <dl class="grid gap-3">
                <Row label="Minimum interval" value={formatDuration(usage.limits.min_interval_seconds)} />
                <Row label="Raw result retention" value={`${usage.limits.result_days} days`} />
                <Row label="API requests" value={`${formatNumber(usage.limits.requests_per_minute)}/min per token`} />
              </dl>
            </Card>
          </div>
        </Section>
      )}
    </Loaded>
  );
}

function Counted({ label, used, limit }: { label: string; used: number; limit: number | null }) {
  const share = limit === null ? null : limit === 0 ? 1 : Math.min(1, used / limit);
  return (
    <Row label={label} value={limit === null ? formatNumber(used) : `${formatNumber(used)} of ${formatNumber(limit)}`}>
      {share !== null && (
        <dd class="mt-1.5 h-1.5 basis-full overflow-hidden rounded-full bg-nothing" aria-hidden="true">
          <span
            class={`block h-full rounded-full ${share >= NEARLY_ALL ? 'bg-degraded-fill' : 'bg-accent'}`}
            style={{ width: `${share * 100}%` }}
          />
        </dd>
      )}
    </Row>
  );
}

function Row({ label, value, children }: { label: string; value: string; children?: ComponentChildren }) {
  return (
    <div class="flex flex-wrap items-baseline justify-between gap-x-4 text-sm">
      <dt class="text-soft">{label}</dt>
      <dd class="text-right">{value}</dd>
      {children}
    </div>
  );
}
