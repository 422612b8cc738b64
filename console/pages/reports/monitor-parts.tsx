import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { Schemas } from '../../client/api.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { TextField } from '../../parts/field.tsx';
import { Card, Section } from '../../parts/page.tsx';
import { formatDuration, formatShort } from '../../parts/time.tsx';
import { useWide } from '../../parts/wide.ts';
import { DayStrip, StripLegend } from './day-strip.tsx';
import { LatencyPlot } from './latency-plot.tsx';
import { formatPercent } from './percent.ts';

type Monitor = Schemas['ReportMonitor'];
type Incident = Schemas['ReportIncident'];

/** How many more each press shows: a page of five thousand plots is of no use. */
const STEP = 25;
/** How many incidents of a monitor are shown; the rest is in its own list. */
const INCIDENTS = 8;

/** Each monitor with its days, what it took to answer, and its incidents; those that were worst come first. */
export function MonitorParts({
  monitors,
  incidents,
}: {
  monitors: readonly Monitor[];
  incidents: readonly Incident[];
}) {
  const wanted = useSignal(STEP);
  const filter = useSignal('');
  const byMonitor = useMemo(() => Map.groupBy(incidents, ({ monitor_id: id }) => id), [incidents]);
  const sorted = useMemo(
    () =>
      monitors.toSorted(
        (a, b) =>
          b.down_seconds - a.down_seconds || b.degraded_seconds - a.degraded_seconds || a.name.localeCompare(b.name),
      ),
    [monitors],
  );
  if (monitors.every(({ days }) => days === undefined || days.length === 0)) return null;
  const text = filter.value.trim().toLowerCase();
  const found = text === '' ? sorted : sorted.filter(({ name }) => name.toLowerCase().includes(text));
  return (
    <Section
      title="Day by day"
      lead="Those that were down the longest come first."
      actions={
        monitors.length > 5 && (
          <TextField
            label="Find a monitor"
            hideLabel
            placeholder="Find a monitor"
            value={filter.value}
            onValue={(value) => (filter.value = value)}
            class="w-full md:w-56"
          />
        )
      }
    >
      <StripLegend />
      <div class="grid gap-3">
        {found.slice(0, wanted.value).map((monitor) => (
          <MonitorPart key={monitor.id} monitor={monitor} incidents={byMonitor.get(monitor.id) ?? []} />
        ))}
      </div>
      {found.length === 0 && <p class="py-6 text-center text-sm text-soft">No monitor of this report is called so.</p>}
      {found.length > wanted.value && (
        <div class="mt-4 text-center">
          <Button onClick={() => (wanted.value += STEP)}>
            Show more ({(found.length - wanted.value).toLocaleString()} left)
          </Button>
        </div>
      )}
    </Section>
  );
}

function MonitorPart({ monitor, incidents }: { monitor: Monitor; incidents: readonly Incident[] }) {
  const isWide = useWide();
  const { id, name, days = [], uptime_percent: percent, sla_met: met, sla_target: target, checks } = monitor;
  return (
    <Card class="p-4">
      <div class="mb-2 flex flex-wrap items-baseline gap-x-3 gap-y-0.5">
        <h3 class="min-w-0 break-words text-sm font-medium">
          <a href={`/monitors/${id}`} class="hover:underline">
            {name}
          </a>
        </h3>
        <span class="text-sm">{percent === null ? 'no time counted' : formatPercent(percent)}</span>
        {met !== null && <Badge tone={met ? 'good' : 'bad'}>{`Target ${target} % ${met ? 'met' : 'missed'}`}</Badge>}
        <span class="text-xs text-soft md:ml-auto">
          {checks === 0 ? 'no checks' : `${checks.toLocaleString()} checks`}
        </span>
      </div>
      <DayStrip days={days} isWide={isWide} />
      <LatencyPlot days={days} isWide={isWide} />
      <Incidents incidents={incidents} />
    </Card>
  );
}

function Incidents({ incidents }: { incidents: readonly Incident[] }) {
  if (incidents.length === 0) return null;
  const rest = incidents.length - INCIDENTS;
  return (
    <ul class="mt-2 border-t border-line pt-2 text-[0.8125rem]">
      {incidents.slice(0, INCIDENTS).map(({ id, state, reason, started_at: start, duration_seconds: seconds }) => (
        <li key={id} class="flex flex-wrap gap-x-3 py-0.5">
          <a
            href={`/incidents/${id}`}
            class={`font-medium hover:underline ${state === 'down' ? 'text-down' : 'text-degraded'}`}
          >
            {formatShort(start)}
          </a>
          <span class="text-soft">{seconds === null ? 'beyond the end' : formatDuration(seconds)}</span>
          <span class="min-w-0 break-words">{reason}</span>
        </li>
      ))}
      {rest > 0 && <li class="py-0.5 text-soft">and {rest} more</li>}
    </ul>
  );
}
