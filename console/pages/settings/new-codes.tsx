import { useSignal } from '@preact/signals';
import { api } from '../../client/api.ts';
import { loadSession } from '../../client/session.ts';
import { useFormAction } from '../../parts/form-action.ts';
import { ProofDialog } from './proof-dialog.tsx';
import { RecoveryCodes } from './recovery-codes.tsx';

const TITLE = 'New recovery codes';

/** New recovery codes in place of all old ones. */
export function NewCodes({ onClose }: { onClose: () => void }) {
  const proof = { password: useSignal(''), code: useSignal('') };
  const made = useSignal<readonly string[] | null>(null);
  const formAction = useFormAction();
  const renew = () =>
    formAction.run(async () => {
      const { recovery_codes: codes } = await api.post('/user/recovery-codes', {
        body: { password: proof.password.value, code: proof.code.value.trim() },
      });
      made.value = codes;
      await loadSession();
    });
  if (made.value !== null) return <RecoveryCodes title={TITLE} codes={made.value} onClose={onClose} />;
  return (
    <ProofDialog
      title={TITLE}
      action="Make new codes"
      proof={proof}
      formAction={formAction}
      onSubmit={() => void renew()}
      onClose={onClose}
    />
  );
}
