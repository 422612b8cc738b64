import { useSignal } from '@preact/signals';
import { api } from '../../client/api.ts';
import { loadSession } from '../../client/session.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { toast } from '../../parts/toast.tsx';
import { ProofForm } from './proof-form.tsx';
import { useTask } from './use-task.ts';

const FORM = 'stop-second-factor';

/** The password alone is to do again. */
export function StopSecondFactor({ onClose }: { onClose: () => void }) {
  const proof = { password: useSignal(''), code: useSignal('') };
  const task = useTask();
  const stop = () =>
    task.run(async () => {
      await api.delete('/user/totp', { body: { password: proof.password.value, code: proof.code.value.trim() } });
      await loadSession();
      toast('The second factor is off');
      onClose();
    });
  return (
    <Dialog
      title="Turn off the second factor?"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={FORM} tone="danger" busy={task.isBusy.value}>
            Turn off
          </Button>
        </>
      }
    >
      <p class="mb-4 text-sm text-soft">Your password alone lets you in then. Everywhere else you are signed out.</p>
      <ProofForm id={FORM} proof={proof} error={task.error.value} onSubmit={() => void stop()} />
    </Dialog>
  );
}
