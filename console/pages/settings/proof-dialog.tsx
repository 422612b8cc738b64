import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { problemsByField } from '../../client/failure.ts';
import { TextField } from '../../parts/field.tsx';
import type { FormAction } from '../../parts/form-action.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';

/** What proves that it is oneself: both fields. */
export type Proof = { password: Signal<string>; code: Signal<string> };

type ProofDialogProps = {
  title: string;
  action: string;
  tone?: 'primary' | 'danger';
  proof: Proof;
  formAction: FormAction;
  onSubmit: () => void;
  onClose: () => void;
  children?: ComponentChildren;
};

/** Password and code once more, before something that matters. */
export function ProofDialog({ proof, formAction, children, ...dialog }: ProofDialogProps) {
  const { byField, rest } = problemsByField(formAction.error.value, ['password', 'code']);
  return (
    <FormDialog {...dialog} isBusy={formAction.isBusy.value} error={rest}>
      {children}
      <TextField
        label="Your password"
        type="password"
        autocomplete="current-password"
        required
        autofocus
        value={proof.password.value}
        error={byField['password']}
        onValue={(value) => (proof.password.value = value)}
      />
      <TextField
        label="Code"
        hint="From your app, or a recovery code."
        autocomplete="one-time-code"
        required
        maxLength={64}
        value={proof.code.value}
        error={byField['code']}
        onValue={(value) => (proof.code.value = value)}
      />
    </FormDialog>
  );
}
