import { useSignal } from '@preact/signals';
import { api } from '../../client/api.ts';
import { loadSession } from '../../client/session.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { ProofForm } from './proof-form.tsx';
import { RecoveryCodes, useKeptCodes } from './recovery-codes.tsx';
import { useTask } from './use-task.ts';

const FORM = 'new-codes';

/** New recovery codes in place of all old ones. */
export function NewCodes({ onClose }: { onClose: () => void }) {
  const proof = { password: useSignal(''), code: useSignal('') };
  const task = useTask();
  const kept = useKeptCodes(onClose);
  const renew = () =>
    task.run(async () => {
      const { recovery_codes: codes } = await api.post('/user/recovery-codes', { body: { password: proof.password.value, code: proof.code.value.trim() } });
      kept.codes.value = codes;
      await loadSession();
    });
  return (
    <Dialog
      key={kept.codes.value === null ? 'proof' : 'codes'}
      title="New recovery codes"
      onClose={kept.close}
      actions={
        kept.codes.value === null ? (
          <>
            <Button onClick={kept.close}>Cancel</Button>
            <Button type="submit" form={FORM} tone="primary" busy={task.isBusy.value}>
              Make new codes
            </Button>
          </>
        ) : (
          <Button tone="primary" onClick={onClose}>
            I have kept them
          </Button>
        )
      }
    >
      {kept.codes.value === null ? <ProofForm id={FORM} proof={proof} error={task.error.value} onSubmit={() => void renew()} /> : <RecoveryCodes codes={kept.codes.value} />}
    </Dialog>
  );
}
