import { useComputed } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api } from '../../client/api.ts';
import { monitors, type Monitor } from '../../client/live.ts';
import { ButtonLink } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { Card, Section } from '../../parts/page.tsx';
import { StatusMark } from '../../parts/status.tsx';
import { STATUSES } from '../../parts/statuses.ts';
import { Since } from '../../parts/time.tsx';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { PATHS } from '../../paths.ts';
import type { Agent } from './state.tsx';

/** How high a row is, in pixels. */
const ROW_HEIGHT = 52;

/** The monitors that an agent is to watch, each as it is now. */
export function Watched({ agent }: { agent: Agent }) {
  const load = useLoad(
    async (signal) => (await api.get('/monitors', { query: { agent_id: agent.id }, signal })).monitors,
    [agent.id],
  );
  // Who watches what changes with what the monitors are set to, which their rows report, and with their number.
  const version = useComputed(
    () =>
      monitors.value &&
      monitors.value.reduce((newest, { updated_at: at }) => Math.max(newest, at), 0) * 1e5 + monitors.value.length,
  );
  useEffect(() => {
    if (version.value !== null && load.value.peek() !== null) void load.reload();
  }, [version.value]);
  const live = new Map(monitors.value?.map((row) => [row.id, row]));
  return (
    <div class="mt-8">
      <Section title="What it watches" lead={leadOf(agent, load.value.value)}>
        <Loaded load={load} height="h-32">
          {(rows) =>
            rows.length === 0 ? (
              <Empty
                icon="monitors"
                title="Nothing yet"
                action={<ButtonLink href={PATHS.monitors}>Monitors</ButtonLink>}
              >
                It watches what chooses it: edit a monitor, and tick {agent.name} among its locations.
              </Empty>
            ) : (
              <Card class="p-0">
                <VirtualList
                  label="Monitors that it watches"
                  rows={rows.map((row) => live.get(row.id) ?? row)}
                  rowHeight={ROW_HEIGHT}
                  keyOf={({ id }) => id}
                  render={(row) => <Row monitor={row} />}
                  drawnWith={[]}
                />
              </Card>
            )
          }
        </Loaded>
      </Section>
    </div>
  );
}

function leadOf({ kind }: Agent, rows: readonly Monitor[] | null): string | undefined {
  if (rows === null || rows.length === 0) return undefined;
  const watched = rows.length === 1 ? 'One monitor' : `${rows.length} monitors`;
  return `${watched}${kind === 'first_party' ? ' of this account' : ''}.`;
}

function Row({ monitor: { id, name, type, target, status, state_since: since } }: { monitor: Monitor }) {
  const { label, text } = STATUSES[status];
  return (
    <a
      href={`/monitors/${id}`}
      class="
        flex h-full items-center gap-3 border-b border-line px-4 text-ink hover:bg-hover
        focus-visible:-outline-offset-2
      "
    >
      <StatusMark status={status} silent class="size-3.5" />
      <span class="min-w-0 flex-1">
        <span class="clipped block text-sm font-medium leading-5">{name}</span>
        <span class="clipped block text-xs leading-4 text-soft">{target === '' ? type : `${type} · ${target}`}</span>
      </span>
      <span class={`shrink-0 text-[0.8125rem] ${text}`}>
        {label} for <Since at={since} />
      </span>
    </a>
  );
}
