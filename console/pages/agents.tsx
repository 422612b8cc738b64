import type { ComponentChildren } from 'preact';
import { api } from '../client/api.ts';
import { usePoll, useReload } from '../client/reload.ts';
import { canWrite } from '../client/session-state.ts';
import type { Schemas } from '../client/shapes.ts';
import { ButtonLink } from '../parts/button.tsx';
import { Loaded, useLoad, Outdated } from '../parts/load.tsx';
import { Page, Section } from '../parts/page.tsx';
import { Badge } from '../parts/status.tsx';
import { LongText, Table, type Column } from '../parts/table.tsx';
import { Moment, clock } from '../parts/time.tsx';
import { PATHS } from '../paths.ts';
import { useShortcut } from '../shell/keys.tsx';
import { navigate } from '../shell/router.ts';

/** The stream reports agents that come online or go offline, but not every check-in. */
const POLL_MS = 30_000;

const COLUMNS: readonly Column<Agent>[] = [
  { head: 'Name', cell: ({ name }) => <LongText text={name} /> },
  { head: 'Status', cell: (agent) => <AgentState agent={agent} /> },
  { head: 'Region', cell: ({ region }) => (region === null ? <None /> : <LongText text={region} />) },
  {
    head: 'Version',
    cell: ({ version, arch }) =>
      version === null ? <None /> : <LongText text={[version, arch].filter(Boolean).join(' · ')} />,
    wideOnly: true,
  },
  { head: 'Checks', cell: (agent) => capabilitiesOf(agent)?.join(', ') ?? <None />, wideOnly: true },
  {
    head: 'Last seen',
    cell: ({ last_seen_at: at }) => (at === null ? <None /> : <Moment at={at} />),
    align: 'right',
    class: 'whitespace-nowrap text-soft',
  },
];

/** The page of all agents: the account's own, and those that all accounts share. */
export function AgentsPage() {
  const load = useLoad((signal) => api.get('/agents', { signal }), []);
  useReload(load, ['agent']);
  usePoll(load, true, POLL_MS);
  return (
    <Page title="Agents" lead="Locations your monitors run from." {...(canWrite() && { actions: <NewAgent /> })}>
      <Outdated load={load} />
      <Loaded load={load}>
        {({ agents }) => (
          <>
            <Section title="Private">
              <Agents
                caption="Private agents"
                agents={agents.filter(({ kind }) => kind === 'tenant')}
                none="No private agents yet. They check targets inside your network."
              />
            </Section>
            <Section title="Shared" lead="Run by this service for all accounts.">
              <Agents
                caption="Shared agents"
                agents={agents.filter(({ kind }) => kind === 'first_party')}
                none="No shared agents."
              />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Agents({ caption, agents, none }: { caption: string; agents: readonly Agent[]; none: ComponentChildren }) {
  if (agents.length === 0) return <p class="max-w-prose text-sm text-soft">{none}</p>;
  return (
    <Table
      caption={caption}
      columns={COLUMNS}
      rows={agents}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => `/agents/${id}`}
    />
  );
}

function NewAgent() {
  useShortcut('n', 'New agent', () => navigate(PATHS.agentNew));
  return (
    <ButtonLink href={PATHS.agentNew} tone="primary" icon="plus">
      New agent
    </ButtonLink>
  );
}

function None() {
  return (
    <span class="text-soft" aria-label="unknown">
      –
    </span>
  );
}

export type Agent = Schemas['Agent'];

/** The time without a check-in after which an agent counts as offline, in seconds (docs/agents.md). */
const OFFLINE_AFTER_SECONDS = 90;

/** A badge with the state of an agent: online, offline or never seen. */
export function AgentState({ agent: { last_seen_at: lastSeenAt } }: { agent: Agent }) {
  if (lastSeenAt === null) return <Badge tone="warning">Never connected</Badge>;
  return clock.value - lastSeenAt < OFFLINE_AFTER_SECONDS ? (
    <Badge tone="good">Online</Badge>
  ) : (
    <Badge tone="bad">Offline</Badge>
  );
}

/** The types of checks that an agent reports it can run; null until it has reported any. */
export function capabilitiesOf({ capabilities }: Agent): readonly string[] | null {
  return Array.isArray(capabilities) ? capabilities.filter((each) => typeof each === 'string') : null;
}
