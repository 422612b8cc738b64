import { useSignal } from '@preact/signals';
import { api } from '../../client/api.ts';
import { loadSession } from '../../client/session.ts';
import { useFormAction } from '../../parts/form-action.ts';
import { toast } from '../../parts/toast.tsx';
import { ProofDialog } from './proof-dialog.tsx';

/** The password alone is to do again. */
export function StopSecondFactor({ onClose }: { onClose: () => void }) {
  const proof = { password: useSignal(''), code: useSignal('') };
  const formAction = useFormAction();
  const stop = () =>
    formAction.run(async () => {
      await api.delete('/user/totp', { body: { password: proof.password.value, code: proof.code.value.trim() } });
      await loadSession();
      toast('The second factor is off');
      onClose();
    });
  return (
    <ProofDialog
      title="Turn off the second factor?"
      action="Turn off"
      tone="danger"
      proof={proof}
      formAction={formAction}
      onSubmit={() => void stop()}
      onClose={onClose}
    >
      <p class="text-sm text-soft">Your password alone lets you in then. Everywhere else you are signed out.</p>
    </ProofDialog>
  );
}
