import { useSignal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { api } from '../../client/api.ts';
import { problemsByField } from '../../client/failure.ts';
import { usePoll, useReload } from '../../client/reload.ts';
import { canWrite } from '../../client/session-state.ts';
import type { Schemas } from '../../client/shapes.ts';
import { useFormAction } from '../../parts/action.ts';
import { Button, Spinner } from '../../parts/button.tsx';
import { CopyText } from '../../parts/copy.tsx';
import { useDraft } from '../../parts/draft.ts';
import { TextField, FormError, Form } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { useLoad } from '../../parts/load.tsx';
import { ViewOnly } from '../../parts/object-page.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { ShownOnce } from '../../parts/shown-once.tsx';
import { PATHS } from '../../paths.ts';

type Created = Schemas['CreatedAgent'];

const BACK = { label: 'Agents', href: PATHS.agents };
/** The stream reports the check-in at once; polling is for when there is no stream. */
const POLL_MS = 5000;

/** The page that creates an agent, shows its command once, and waits for its first check-in. */
export function AgentNewPage() {
  const created = useSignal<Created | null>(null);
  if (!canWrite()) return <ViewOnly title="New agent" back={BACK} icon="agents" who="make agents" />;
  if (created.value !== null) return <Made agent={created.value} />;
  return (
    <Page title="New agent" back={BACK} lead="An agent of your own that checks what only it can reach.">
      <AgentForm onCreated={(agent) => (created.value = agent)} />
    </Page>
  );
}

function AgentForm({ onCreated }: { onCreated: (agent: Created) => void }) {
  const name = useDraft('new agent name', '');
  const region = useDraft('new agent region', '');
  const formAction = useFormAction();
  const create = () =>
    formAction.run(async () => {
      onCreated(
        await api.post('/agents', {
          body: { name: name.value, region: region.value.trim() === '' ? null : region.value },
        }),
      );
    });
  const { byField, rest } = problemsByField(formAction.error.value, ['name', 'region']);
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
            error={byField['name']}
            hint="Alerts name it as the location that saw a failure."
          />
          <TextField
            label="Region"
            placeholder="Hanoi"
            maxLength={255}
            value={region.value}
            onValue={(value) => (region.value = value)}
            error={byField['region']}
            hint="Where it stands, in your own words; may be left out."
          />
          <FormError text={rest} />
          <div>
            <Button type="submit" tone="primary" busy={formAction.isBusy.value}>
              Create agent
            </Button>
          </div>
        </Form>
      </Card>
    </div>
  );
}

function Made({ agent }: { agent: Created }) {
  useLayoutEffect(() => document.querySelector('main')?.scrollTo({ top: 0 }), []);
  const load = useLoad((signal) => api.get('/agents/{id}', { path: { id: agent.id }, signal }), [agent.id]);
  useReload(load, ['agent'], (changed) => changed === agent.id);
  const isThere = (load.value.value?.last_seen_at ?? null) !== null;
  usePoll(load, !isThere, POLL_MS);
  return (
    <Page title={agent.name} back={BACK} lead="It is made. Start it where it is to check from.">
      <ShownOnce
        question="Have you kept the command?"
        text="Its token is never shown again. Without it the agent needs a new one."
        href={`/agents/${agent.id}`}
      >
        <AgentCommand command={agent.install_command} token={agent.token} />
        <p class={`mt-6 flex items-center gap-2.5 text-sm ${isThere ? 'text-up' : 'text-soft'}`} role="status">
          {isThere ? <Icon name="check" class="size-4" /> : <Spinner />}
          {isThere ? 'It has checked in.' : 'Waiting for its first check-in.'}
        </p>
      </ShownOnce>
    </Page>
  );
}

/** The command that starts an agent, shown only once because it contains the token. */
export function AgentCommand({ command, token }: { command: string; token: string }) {
  return (
    <div class="flex flex-col gap-5">
      <p class="flex gap-2 rounded-md bg-degraded-tint px-3 py-2 text-sm text-degraded">
        <Icon name="key" class="mt-0.5 size-4" />
        <span>The token is shown now and never again. One token is for one agent.</span>
      </p>
      <div>
        <h3 class="heading mb-1 text-sm">Start it</h3>
        <p class="mb-2 text-sm text-soft">
          On the machine that is to check, in a copy of Spotcheck, after <code class="font-mono">npm ci</code> once. It
          needs no open port: it calls here.
        </p>
        <CopyText text={command} label="Install command" />
      </div>
      <div>
        <h3 class="heading mb-2 text-sm">Its token</h3>
        <CopyText text={token} label="Token" />
      </div>
    </div>
  );
}
