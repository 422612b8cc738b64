import { useSignal } from '@preact/signals';
import { api } from '../../client/api.ts';
import { problemsByField } from '../../client/failure.ts';
import { signedIn } from '../../client/session-state.ts';
import { loadSession } from '../../client/session.ts';
import { useFormAction } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { FormError, TextField } from '../../parts/field.tsx';
import { Moment } from '../../parts/time.tsx';
import { toast } from '../../parts/toast.tsx';

/** The length that the API asks for at least. */
const SHORTEST = 12;

/** A new password for who knows the present one; everywhere else one is signed out by it. */
export function PasswordForm() {
  const { user } = signedIn();
  const current = useSignal('');
  const next = useSignal('');
  const formAction = useFormAction();
  const change = () =>
    formAction.run(async () => {
      const { ended_sessions: ended } = await api.post('/user/password', {
        body: { current: current.value, new: next.value },
      });
      current.value = '';
      next.value = '';
      const others = ended === 1 ? 'one other session is' : `${ended} other sessions are`;
      toast(`Your password is changed${ended === 0 ? '' : `, and ${others} signed out`}`);
      await loadSession();
    });
  const { byField, rest } = problemsByField(formAction.error.value, ['current', 'new']);
  return (
    <form
      class="flex max-w-md flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        void change();
      }}
    >
      <p class="text-sm text-soft">
        {user.password_changed_at === null ? (
          'It is still the one that was handed out: choose your own.'
        ) : (
          <>
            Changed <Moment at={user.password_changed_at} />.
          </>
        )}
      </p>
      {/* Password managers look for whose it is. */}
      <input
        type="text"
        class="hidden"
        autocomplete="username"
        value={user.email}
        readOnly
        aria-hidden="true"
        tabIndex={-1}
      />
      <TextField
        label="Present password"
        type="password"
        autocomplete="current-password"
        required
        value={current.value}
        error={byField['current']}
        onValue={(value) => (current.value = value)}
      />
      <TextField
        label="New password"
        type="password"
        autocomplete="new-password"
        required
        minLength={SHORTEST}
        hint="Twelve characters or more. Everywhere else you are signed out."
        value={next.value}
        error={byField['new']}
        onValue={(value) => (next.value = value)}
      />
      <FormError text={rest} />
      <Button type="submit" class="self-start" busy={formAction.isBusy.value}>
        Change password
      </Button>
    </form>
  );
}
