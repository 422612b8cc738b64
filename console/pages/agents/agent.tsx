import { useComputed, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, type Monitor, type Schemas } from '../../client/api.ts';
import { monitors, usePoll, useReload } from '../../client/live.ts';
import { canWrite } from '../../client/session-state.ts';
import { toast, useAction } from '../../parts/action.tsx';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { ShownOnceDialog } from '../../parts/copy.tsx';
import { confirm } from '../../parts/dialog.tsx';
import { count } from '../../parts/figures.ts';
import { Loaded, Outdated, useLoad, type Load } from '../../parts/load.tsx';
import { STATUSES, nameDraft } from '../../parts/monitors.ts';
import { Fact, ObjectPage } from '../../parts/object-page.tsx';
import { Card, Empty, Page, Section } from '../../parts/page.tsx';
import { StatusMark } from '../../parts/status.tsx';
import { Moment, Since, formatDateTime } from '../../parts/time.tsx';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { PATHS, type PageProps } from '../../paths.ts';
import { currentVisit, leaveDeleted } from '../../shell/router.ts';
import { AgentCommand, AgentState, capabilitiesOf, type Agent } from '../agents.tsx';

/** The height of a row in pixels. */
const ROW_HEIGHT = 52;

/** The monitors that an agent checks, with their present status. */
function Watched({ agent }: { agent: Agent }) {
  const load = useLoad(
    async (signal) => (await api.get('/monitors', { query: { agent_id: agent.id }, signal })).monitors,
    [agent.id],
  );
  // The list of an agent's monitors changes with their settings and their number, which the rows report.
  const version = useComputed(
    () =>
      monitors.value &&
      monitors.value.reduce((newest, { updated_at: at }) => Math.max(newest, at), 0) * 1e5 + monitors.value.length,
  );
  useEffect(() => {
    if (version.value !== null && load.value.peek() !== null) void load.reload();
  }, [version.value]);
  const live = new Map(monitors.value?.map((row) => [row.id, row]));
  const shown = load.value.value?.map((row) => live.get(row.id) ?? row) ?? null;
  return (
    <div class="mt-8">
      <Section title="Monitors" lead={leadOf(agent, shown)}>
        <Loaded load={load} height="h-32">
          {(rows) =>
            rows.length === 0 ? (
              <Empty
                icon="monitors"
                title="No monitors yet"
                action={<ButtonLink href={PATHS.monitors}>Monitors</ButtonLink>}
              >
                Select {agent.name} as a location in a monitor.
              </Empty>
            ) : (
              <Card class="p-0">
                <VirtualList
                  label="Monitors of this agent"
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
  const drafts = rows.filter((row) => nameDraft(row) !== null).length;
  const watched = count(rows.length - drafts, 'monitor') + (kind === 'first_party' ? ' in this account' : '');
  return drafts === 0 ? `${watched}.` : `${watched}, and ${count(drafts, 'draft')}.`;
}

function Row({ monitor }: { monitor: Monitor }) {
  const { id, name, type, target, status, state_since: since } = monitor;
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
        {nameDraft(monitor) ?? (
          <>
            {label} for <Since at={since} />
          </>
        )}
      </span>
    </a>
  );
}

const POLL_MS = 15_000;
const BACK = { label: 'Agents', href: PATHS.agents };

/** The page of one agent: its state, its machine, its monitors and its capabilities. */
export function AgentPage({ params }: PageProps) {
  const id = params['id'] ?? '';
  const load = useLoad((signal) => api.get('/agents/{id}', { path: { id }, signal }), [id]);
  useReload(load, ['agent'], (changed) => changed === id);
  usePoll(load, true, POLL_MS);
  return (
    <ObjectPage
      load={load}
      title="Agent"
      icon="agents"
      back={BACK}
      missing="It was deleted or belongs to another account."
    >
      {(agent) => <Shown agent={agent} load={load} />}
    </ObjectPage>
  );
}

function Shown({ agent, load }: { agent: Agent; load: Load<Agent> }) {
  const isOwn = agent.kind === 'tenant';
  return (
    <Page
      title={agent.name}
      back={BACK}
      lead={<AgentState agent={agent} />}
      actions={isOwn && canWrite() && <RotateToken agent={agent} />}
    >
      <Outdated load={load} />
      <Card>
        <Facts agent={agent} />
      </Card>
      <Watched agent={agent} />
      {isOwn && canWrite() && (
        <div class="mt-8">
          <Section title="Delete" lead="Its monitors continue with their remaining locations.">
            <DeleteAgent agent={agent} />
          </Section>
        </div>
      )}
    </Page>
  );
}

function Facts({ agent }: { agent: Agent }) {
  const { kind, region, version, arch, last_seen_at: lastSeenAt, created_at: createdAt } = agent;
  return (
    <dl class="grid grid-cols-2 gap-x-6 gap-y-4 text-sm md:grid-cols-3">
      <Fact name="Type">{kind === 'tenant' ? 'Private' : 'Shared'}</Fact>
      <Fact name="Region">{region ?? 'not reported'}</Fact>
      <Fact name="Last seen">{lastSeenAt === null ? 'never' : <Moment at={lastSeenAt} />}</Fact>
      <Fact name="Version">{version ?? 'not reported'}</Fact>
      <Fact name="Architecture">{arch ?? 'not reported'}</Fact>
      <Fact name="Created">{formatDateTime(createdAt)}</Fact>
      <Fact name="Checks">
        {kind === 'first_party' ? 'all types' : (capabilitiesOf(agent)?.join(', ') ?? 'not reported')}
      </Fact>
      <Fact name="Id">
        <code class="font-mono text-xs">{agent.id}</code>
      </Fact>
    </dl>
  );
}

function DeleteAgent({ agent }: { agent: Agent }) {
  const action = useAction();
  const remove = async () => {
    if (
      !(await confirm({
        title: `Delete ${agent.name}?`,
        text: 'Its token stops working immediately. Targets only it can reach are no longer checked.',
        action: 'Delete agent',
      }))
    )
      return;
    await action.run(async () => {
      const from = currentVisit();
      await api.delete('/agents/{id}', { path: { id: agent.id } });
      toast(`${agent.name} deleted`);
      leaveDeleted(`/agents/${agent.id}`, PATHS.agents, from);
    });
  };
  return (
    <Button tone="danger" icon="trash" busy={action.isBusy.value} onClick={() => void remove()}>
      Delete agent
    </Button>
  );
}

/** A button that rotates the token of an agent, and shows the new one once. */
function RotateToken({ agent }: { agent: Agent }) {
  const created = useSignal<Schemas['AgentToken'] | null>(null);
  const action = useAction();
  const rotate = async () => {
    if (
      !(await confirm({
        title: `Rotate the token of ${agent.name}?`,
        text: 'The current token stops working immediately. Restart the agent with the new one.',
        action: 'Rotate token',
      }))
    )
      return;
    await action.run(
      async () => void (created.value = await api.post('/agents/{id}/rotate', { path: { id: agent.id } })),
    );
  };
  return (
    <>
      <Button icon="key" busy={action.isBusy.value} onClick={() => void rotate()}>
        Rotate token
      </Button>
      {created.value !== null && (
        <ShownOnceDialog
          title="New token"
          question="Saved the command?"
          text="Its token is shown only once. If you lose it, rotate the token again."
          onClose={() => (created.value = null)}
        >
          <AgentCommand command={created.value.install_command} token={created.value.token} />
        </ShownOnceDialog>
      )}
    </>
  );
}
