import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { api, type Schemas } from '../client/api.ts';
import { INSTALLATION_URL } from '../client/base-path.ts';
import { usePoll, useReload } from '../client/live.ts';
import { canWrite, useDraft } from '../client/session-state.ts';
import { required, useJudgedForm } from '../parts/action.tsx';
import { Button, ButtonLink, Spinner } from '../parts/button.tsx';
import { CopyText, CurlButton, LoopbackHint, ShownOnce } from '../parts/copy.tsx';
import { useUnsaved } from '../parts/dialog.tsx';
import { Form, FormError, TextField } from '../parts/field.tsx';
import { Icon } from '../parts/icon.tsx';
import { Loaded, Outdated, useLoad } from '../parts/load.tsx';
import { ViewOnly } from '../parts/object-page.tsx';
import { Card, Page, Section, useArrival } from '../parts/page.tsx';
import { Badge } from '../parts/status.tsx';
import { LongText, Table, type Column } from '../parts/table.tsx';
import { Moment, clock } from '../parts/time.tsx';
import { PATHS } from '../paths.ts';
import { useShortcut } from '../shell/keys.tsx';
import { navigate } from '../shell/router.ts';

/** The stream reports agents that come online or go offline, but not every check-in. */
const LIST_POLL_MS = 30_000;

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

/** The page of all agents: the account's own, and those shared by all accounts. */
export function AgentsPage() {
  const load = useLoad((signal) => api.get('/agents', { signal }), []);
  useReload(load, ['agent']);
  usePoll(load, true, LIST_POLL_MS);
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

/** Returns the types of checks that an agent reports it can run; null until it has reported any. */
export function capabilitiesOf({ capabilities }: Agent): readonly string[] | null {
  return Array.isArray(capabilities) ? capabilities.filter((each) => typeof each === 'string') : null;
}

type Created = Schemas['CreatedAgent'];

const BACK = { label: 'Agents', href: PATHS.agents };
/** The stream reports the check-in at once; polling is for when there is no stream. */
const CONNECTION_POLL_MS = 5000;

/** The page that creates an agent, shows its command once, and waits for its first check-in. */
export function AgentNewPage() {
  const created = useSignal<Created | null>(null);
  if (!canWrite()) return <ViewOnly title="New agent" back={BACK} icon="agents" who="create agents" />;
  if (created.value !== null) return <CreatedAgent agent={created.value} />;
  return (
    <Page title="New agent" back={BACK} lead="Checks targets that only it can reach, such as a private network.">
      <AgentForm onCreated={(agent) => (created.value = agent)} />
    </Page>
  );
}

function AgentForm({ onCreated }: { onCreated: (agent: Created) => void }) {
  const name = useDraft('new agent name', '');
  const region = useDraft('new agent region', '');
  const form = useJudgedForm({
    name: 'Use 1 to 255 characters, no line breaks',
    region: 'Use at most 255 characters, no line breaks',
  });
  useUnsaved(() => name.value.trim() !== '' || region.value.trim() !== '', form.isBusy.value);
  const body = () => ({ name: name.value.trim(), region: region.value.trim() === '' ? null : region.value.trim() });
  const create = () =>
    form.submit({ name: required(name.value.trim(), 'Enter a name') }, async () =>
      onCreated(await api.post('/agents', { body: body(), creates: 'agent' })),
    );
  return (
    <div class="max-w-2xl">
      <Card>
        <Form class="flex flex-col gap-5" onSubmit={create}>
          <TextField
            label="Name"
            required
            autofocus
            placeholder="home-lab"
            maxLength={255}
            value={name.value}
            onValue={(value) => (name.value = value)}
            error={form.problem('name')}
            hint="Shown in alerts as the location."
          />
          <TextField
            label="Region"
            placeholder="Hanoi"
            maxLength={255}
            value={region.value}
            onValue={(value) => (region.value = value)}
            error={form.problem('region')}
            hint="Where it runs. Optional."
          />
          <FormError text={form.rest} />
          <div class="flex flex-wrap items-center gap-2">
            <Button type="submit" tone="primary" busy={form.isBusy.value}>
              Create agent
            </Button>
            <CurlButton request={() => ({ method: 'POST', path: '/agents', body: body() })} />
          </div>
        </Form>
      </Card>
    </div>
  );
}

function CreatedAgent({ agent }: { agent: Created }) {
  useArrival();
  const load = useLoad((signal) => api.get('/agents/{id}', { path: { id: agent.id }, signal }), [agent.id]);
  useReload(load, ['agent'], (changed) => changed === agent.id);
  const isThere = (load.value.value?.last_seen_at ?? null) !== null;
  usePoll(load, !isThere, CONNECTION_POLL_MS);
  return (
    <Page title={agent.name} back={BACK} lead="Agent created. Run this on the machine.">
      <ShownOnce
        question="Saved the command?"
        text="Its token is shown only once. If you lose it, rotate the token."
        href={`/agents/${agent.id}`}
      >
        <AgentCommand command={agent.install_command} token={agent.token} />
        <p class={`mt-6 flex items-center gap-2.5 text-sm ${isThere ? 'text-up' : 'text-soft'}`} role="status">
          {isThere ? <Icon name="check" class="size-4" /> : <Spinner />}
          {isThere ? 'Agent connected.' : 'Waiting for the agent to connect.'}
        </p>
      </ShownOnce>
    </Page>
  );
}

/** The command that starts an agent, shown only once because it contains the token. */
export function AgentCommand({ command, token }: { command: string; token: string }) {
  const url = /https?:\/\/[^\s']+/.exec(command)?.[0] ?? INSTALLATION_URL;
  return (
    <div class="flex flex-col gap-5">
      <p class="flex gap-2 rounded-md bg-degraded-tint px-3 py-2 text-sm text-degraded">
        <Icon name="key" class="mt-0.5 size-4" />
        <span>The token is shown only once. Use one token per agent.</span>
      </p>
      <div>
        <h3 class="heading mb-1 text-sm">Start the agent</h3>
        <p class="mb-2 text-sm text-soft">
          Run it in a copy of Spotcheck, after <code class="font-mono">npm ci</code>. Outbound connections only.
        </p>
        <CopyText text={command} label="Install command" />
        <div class="mt-2">
          <LoopbackHint url={url}>
            Agents on other computers can’t reach this URL: it leads to themselves. For those, replace{' '}
            {new URL(url).host} with an address they can reach.
          </LoopbackHint>
        </div>
      </div>
      <div>
        <h3 class="heading mb-2 text-sm">Agent token</h3>
        <CopyText text={token} label="Token" />
      </div>
    </div>
  );
}
