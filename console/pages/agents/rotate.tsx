import { useSignal } from '@preact/signals';
import { api, type Schemas } from '../../client/api.ts';
import { sentenceOf } from '../../client/failure.ts';
import { Button } from '../../parts/button.tsx';
import { confirm, Dialog } from '../../parts/dialog.tsx';
import { toast } from '../../parts/toast.tsx';
import type { Agent } from './state.tsx';
import { AgentCommand } from './token.tsx';

/** Gives an agent a new token, and shows it once. */
export function RotateToken({ agent }: { agent: Agent }) {
  const made = useSignal<Schemas['AgentToken'] | null>(null);
  const isBusy = useSignal(false);
  const rotate = async () => {
    if (!(await confirm({ title: `Give ${agent.name} a new token?`, text: 'The present one ends at once: the agent checks nothing until it is started with the new one.', action: 'New token' }))) return;
    isBusy.value = true;
    try {
      made.value = await api.post('/agents/{id}/rotate', { path: { id: agent.id } });
    } catch (error) {
      toast(sentenceOf(error), 'bad');
    }
    isBusy.value = false;
  };
  const close = () => {
    made.value = null;
  };
  return (
    <>
      <Button icon="key" busy={isBusy.value} onClick={() => void rotate()}>
        New token
      </Button>
      {made.value !== null && (
        <Dialog
          title="The new token"
          wide
          onClose={close}
          actions={
            <Button tone="primary" onClick={close}>
              I have kept it
            </Button>
          }
        >
          <AgentCommand command={made.value.install_command} token={made.value.token} />
        </Dialog>
      )}
    </>
  );
}
