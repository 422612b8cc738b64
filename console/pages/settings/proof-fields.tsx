import type { Signal } from '@preact/signals';
import { TextField } from '../../parts/field.tsx';

type ProofField = { value: Signal<string>; error: string | undefined };

/** The password that proves who asks for a change of how they sign in. */
export function PasswordField({ value, error }: ProofField) {
  return (
    <TextField
      label="Your password"
      type="password"
      autocomplete="current-password"
      required
      autofocus
      value={value.value}
      error={error}
      onValue={(text) => (value.value = text)}
    />
  );
}

/** The two-factor code that proves the same. */
export function CodeField({ value, error }: ProofField) {
  return (
    <TextField
      label="Code"
      hint="From your authenticator app, or a recovery code."
      autocomplete="one-time-code"
      required
      maxLength={64}
      value={value.value}
      error={error}
      onValue={(text) => (value.value = text)}
    />
  );
}
