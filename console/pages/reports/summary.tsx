import type { ComponentChildren } from 'preact';
import type { Schemas } from '../../client/api.ts';
import { Card } from '../../parts/page.tsx';
import { formatDuration } from '../../parts/time.tsx';
import { formatPercent } from './percent.ts';

/** The account in one line of numbers. */
export function Summary({ summary }: { summary: Schemas['ReportSummary'] }) {
  const {
    uptime_percent: uptime,
    monitors,
    incidents,
    down_seconds: down,
    sla_met: met = 0,
    sla_missed: missed = 0,
  } = summary;
  return (
    <div class="mb-8">
      <Card>
        <dl class="grid grid-cols-2 gap-x-6 gap-y-4 md:flex md:justify-between md:pr-8">
          <Figure label="Uptime of all monitors">{formatPercent(uptime)}</Figure>
          <Figure label="Monitors">{monitors.toLocaleString()}</Figure>
          <Figure label="Incidents">{incidents.toLocaleString()}</Figure>
          {down !== undefined && <Figure label="Down in all">{formatDuration(down)}</Figure>}
          {met + missed > 0 && (
            <Figure label="Targets met" tone={missed > 0 ? 'text-down' : 'text-up'}>
              {met} of {met + missed}
            </Figure>
          )}
        </dl>
      </Card>
    </div>
  );
}

function Figure({ label, tone = '', children }: { label: string; tone?: string; children: ComponentChildren }) {
  return (
    <div>
      <dt class="text-xs text-soft">{label}</dt>
      <dd class={`heading text-xl ${tone}`}>{children}</dd>
    </div>
  );
}
