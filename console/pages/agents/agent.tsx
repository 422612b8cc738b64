import { api } from '../../client/api.ts';
import { Failure } from '../../client/failure.ts';
import { usePoll, useReload } from '../../client/reload.ts';
import { canWrite } from '../../client/session-state.ts';
import type { PageProps } from '../../page-props.ts';
import { useAction } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { confirm } from '../../parts/dialog.tsx';
import { EmptyPage } from '../../parts/empty-page.tsx';
import { Fact } from '../../parts/fact.tsx';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { Outdated } from '../../parts/outdated.tsx';
import { Card, Page, Section } from '../../parts/page.tsx';
import { formatDateTime, Moment } from '../../parts/time.tsx';
import { toast } from '../../parts/toast.tsx';
import { PATHS } from '../../paths.ts';
import { navigate } from '../../shell/router.ts';
import { RotateToken } from './rotate.tsx';
import { AgentState, capabilitiesOf, type Agent } from './state.tsx';
import { Watched } from './watched.tsx';

const POLL_MS = 15_000;
const BACK = { label: 'Agents', href: PATHS.agents };

/** One agent: whether it is there, what it runs on and what it can check. */
export function AgentPage({ params }: PageProps) {
  const id = params['id'] ?? '';
  const load = useLoad((signal) => api.get('/agents/{id}', { path: { id }, signal }), [id]);
  useReload(load, ['agent'], (changed) => changed === id);
  usePoll(load, true, POLL_MS);
  const { value: error } = load.error;
  const { value: agent } = load.value;
  if (error instanceof Failure && error.status === 404) return <Missing />;
  if (agent === null) {
    return (
      <Page title="Agent" back={BACK}>
        <Loaded load={load}>{() => null}</Loaded>
      </Page>
    );
  }
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
          <Section title="Delete" lead="It leaves its monitors, whose quorum drops to the locations that are left.">
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
      <Fact name="Kind">{kind === 'tenant' ? 'Yours' : 'Shared, run by this service'}</Fact>
      <Fact name="Region">{region ?? 'not reported'}</Fact>
      <Fact name="Last seen">{lastSeenAt === null ? 'never' : <Moment at={lastSeenAt} />}</Fact>
      <Fact name="Version">{version ?? 'not reported'}</Fact>
      <Fact name="Machine">{arch ?? 'not reported'}</Fact>
      <Fact name="Made">{formatDateTime(createdAt)}</Fact>
      <Fact name="Checks">
        {kind === 'first_party'
          ? 'everything that agents check'
          : (capabilitiesOf(agent)?.join(', ') ?? 'not reported')}
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
        text: 'Its token stops working at once, and what only it could reach is not checked any more.',
        action: 'Delete agent',
      }))
    )
      return;
    await action.run(async () => {
      await api.delete('/agents/{id}', { path: { id: agent.id } });
      toast(`${agent.name} is deleted`);
      navigate(PATHS.agents, { replace: true });
    });
  };
  return (
    <Button tone="danger" icon="trash" busy={action.isBusy.value} onClick={() => void remove()}>
      Delete agent
    </Button>
  );
}

function Missing() {
  return (
    <EmptyPage title="Agent" back={BACK} icon="agents" heading="There is no such agent">
      It was deleted, belongs to another account, or its address is not complete.
    </EmptyPage>
  );
}
