import { useSignal } from '@preact/signals';
import { api, type Schemas } from '../../client/api.ts';
import { useAction } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { confirm } from '../../parts/dialog.tsx';
import { KeptDialog } from '../../parts/kept.tsx';
import type { Agent } from './state.tsx';
import { AgentCommand } from './token.tsx';

/** Gives an agent a new token, and shows it once. */
export function RotateToken({ agent }: { agent: Agent }) {
  const made = useSignal<Schemas['AgentToken'] | null>(null);
  const action = useAction();
  const rotate = async () => {
    if (
      !(await confirm({
        title: `Give ${agent.name} a new token?`,
        text: 'The present one ends at once: the agent checks nothing until it is started with the new one.',
        action: 'New token',
      }))
    )
      return;
    await action.run(async () => void (made.value = await api.post('/agents/{id}/rotate', { path: { id: agent.id } })));
  };
  return (
    <>
      <Button icon="key" busy={action.isBusy.value} onClick={() => void rotate()}>
        New token
      </Button>
      {made.value !== null && (
        <KeptDialog
          title="The new token"
          question="Have you kept the command?"
          text="Its token is never shown again. Without it the agent needs another one."
          onClose={() => (made.value = null)}
        >
          <AgentCommand command={made.value.install_command} token={made.value.token} />
        </KeptDialog>
      )}
    </>
  );
}
