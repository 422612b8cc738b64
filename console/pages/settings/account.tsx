import { useSignal } from '@preact/signals';
import { sentenceOf, type FieldTexts } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { ROLES, session, signedIn, useDraft } from '../../client/session-state.ts';
import { loadSession } from '../../client/session.ts';
import { required, toast, useAction, useJudgedForm } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { Choices, ZoneField } from '../../parts/choice-fields.tsx';
import { Form, FormError, TextField } from '../../parts/field.tsx';
import { count } from '../../parts/figures.ts';
import { Fact } from '../../parts/object-page.tsx';
import { Card, Section } from '../../parts/page.tsx';
import { Moment, clock, formatDateTime } from '../../parts/time.tsx';
import { chooseTheme, theme, type Theme } from '../../shell/theme.ts';
import { SecondFactor } from './second-factor.tsx';
import { Identities } from './sessions.tsx';

const THEMES: readonly { value: Theme; label: string }[] = [
  { value: 'system', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
];

/** The user's name, theme, password and two-factor authentication. */
export function AccountSettings() {
  return (
    <>
      <Section title="Profile">
        <Card>
          <Profile />
        </Card>
      </Section>
      {signedIn().user.has_password && (
        <>
          <Section title="Password">
            <Card>
              <PasswordForm />
            </Card>
          </Section>
          <Section title="Two-factor authentication" lead="Protects your account if your password leaks.">
            <Card>
              <SecondFactor />
            </Card>
          </Section>
        </>
      )}
      <Identities />
    </>
  );
}

function Profile() {
  const { user } = signedIn();
  const rename = async (name: string) => {
    const changed = await api.patch('/user', { body: { name } });
    session.value = { ...signedIn(), user: changed };
    toast('Name saved');
    return changed.name;
  };
  return (
    <div class="grid max-w-md gap-5">
      <NameForm
        draft="my name"
        label="Name"
        action="Save name"
        stored={user.name}
        autocomplete="name"
        hint="Shown next to your actions."
        onRename={rename}
      />
      <dl class="grid gap-x-6 gap-y-3 text-sm md:grid-cols-2">
        <Fact name="Email">{user.email}</Fact>
        <Fact name="Role">{`${ROLES[user.role].label}: ${ROLES[user.role].access}`}</Fact>
      </dl>
      <div>
        <div class="mb-1 text-sm font-medium">Theme</div>
        <Choices
          label="Theme"
          choices={THEMES}
          value={theme.value}
          onValue={(chosen) => void chooseTheme(chosen).catch((error: unknown) => toast(sentenceOf(error), 'bad'))}
        />
      </div>
      <TimeSettings />
    </div>
  );
}

type NameFormProps = {
  /** Name of the draft that stores the input. */
  draft: string;
  label: string;
  /** Label of the button. */
  action: string;
  hint: string;
  stored: string;
  /** Whether the name is required. */
  isRequired?: boolean;
  autocomplete?: string;
  /** Stores the name and resolves to the stored one. */
  onRename: (name: string) => Promise<string>;
};

/** A form that changes one name. */
export function NameForm({
  draft,
  label,
  action,
  hint,
  stored,
  isRequired = false,
  autocomplete = 'off',
  onRename,
}: NameFormProps) {
  const name = useDraft(draft, stored);
  const form = useJudgedForm({ name: 'Use at most 255 characters, no line breaks' });
  const typed = name.value.trim();
  const save = () =>
    form.submit({ name: isRequired ? required(typed, 'Enter a name') : null }, async () => {
      name.value = await onRename(typed);
    });
  return (
    <Form class="flex max-w-md flex-col gap-3" onSubmit={save}>
      <TextField
        label={label}
        value={name.value}
        required={isRequired}
        autocomplete={autocomplete}
        maxLength={255}
        hint={hint}
        error={form.problem('name')}
        onValue={(value) => (name.value = value)}
      />
      <FormError text={form.rest} />
      <Button type="submit" class="self-start" busy={form.isBusy.value} disabled={typed === stored}>
        {action}
      </Button>
    </Form>
  );
}

/** Minimum length of a password in the API. */
const SHORTEST = 12;

const PASSWORD_TEXTS: FieldTexts = {
  current: (sentence) =>
    sentence.includes('changed meanwhile') ? 'Your password was changed meanwhile' : 'That’s not your current password',
  new: (sentence) =>
    sentence.includes('another password')
      ? 'Choose a password other than the current one'
      : sentence.includes('email')
        ? 'Choose something other than your email'
        : `Use ${SHORTEST} to 1024 characters`,
};

/** A form that changes the password and thereby signs out all other sessions. */
function PasswordForm() {
  const { user } = signedIn();
  const current = useSignal('');
  const next = useSignal('');
  const form = useJudgedForm(PASSWORD_TEXTS);
  const judge = () => ({
    current: required(current.value, 'Enter your current password'),
    new: Array.from(next.value).length < SHORTEST ? `At least ${SHORTEST} characters` : null,
  });
  const change = () =>
    form.submit(judge(), async () => {
      const { ended_sessions: ended } = await api.post('/user/password', {
        body: { current: current.value, new: next.value },
      });
      current.value = '';
      next.value = '';
      toast(`Password changed${ended === 0 ? '' : `. Signed out ${count(ended, 'other session')}`}`);
      await loadSession();
    });
  return (
    <Form class="flex max-w-md flex-col gap-4" onSubmit={change}>
      <p class="text-sm text-soft">
        {user.password_changed_at === null ? (
          'You’re using a password that was set for you.'
        ) : (
          <>
            Changed <Moment at={user.password_changed_at} />.
          </>
        )}
      </p>
      {/* Password managers search for the user name. */}
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
        label="Current password"
        type="password"
        autocomplete="current-password"
        required
        value={current.value}
        error={form.problem('current')}
        onValue={(value) => (current.value = value)}
      />
      <TextField
        label="New password"
        type="password"
        autocomplete="new-password"
        required
        minLength={SHORTEST}
        hint="At least 12 characters. Other sessions will be signed out."
        value={next.value}
        error={form.problem('new')}
        onValue={(value) => (next.value = value)}
      />
      <FormError text={form.rest} />
      <Button type="submit" class="self-start" busy={form.isBusy.value}>
        Change password
      </Button>
    </Form>
  );
}

const CLOCKS: readonly { value: Schemas['Clock']; label: string }[] = [
  { value: 'browser', label: 'Browser' },
  { value: '12h', label: '12-hour' },
  { value: '24h', label: '24-hour' },
];

/** The zone and the clock in which the console shows times to the user, on all devices. */
function TimeSettings() {
  const { user } = signedIn();
  const action = useAction();
  const save = (body: Schemas['UserPatch']) =>
    void action.run(async () => {
      const changed = await api.patch('/user', { body });
      session.value = { ...signedIn(), user: changed };
    });
  return (
    <>
      <ZoneField
        value={user.time_zone}
        onValue={(zone) => save({ time_zone: zone })}
        hint={`Now: ${formatDateTime(clock.value)}`}
        hasBrowser
      />
      <div>
        <div class="mb-1 text-sm font-medium">Clock</div>
        <Choices label="Clock" choices={CLOCKS} value={user.clock} onValue={(chosen) => save({ clock: chosen })} />
      </div>
    </>
  );
}
