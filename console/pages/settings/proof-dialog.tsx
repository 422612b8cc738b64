import type { Signal } from '@preact/signals';
import { problemsByField } from '../../client/failure.ts';
import { FormError, TextField } from '../../parts/field.tsx';

/** What proves that it is oneself: both fields. */
export type Proof = { password: Signal<string>; code: Signal<string> };

/** Password and code once more, before something that matters. */
export function ProofForm({ id, proof, error, onSubmit }: { id: string; proof: Proof; error: unknown; onSubmit: () => void }) {
  const { byField, rest } = problemsByField(error, ['password', 'code']);
  return (
    <form
      id={id}
      class="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <TextField label="Your password" type="password" autocomplete="current-password" required autofocus value={proof.password.value} error={byField['password']} onValue={(value) => (proof.password.value = value)} />
      <TextField label="Code" hint="From your app, or a recovery code." autocomplete="one-time-code" required maxLength={64} value={proof.code.value} error={byField['code']} onValue={(value) => (proof.code.value = value)} />
      <FormError text={rest} />
    </form>
  );
}
