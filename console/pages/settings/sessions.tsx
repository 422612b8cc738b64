import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, type Schemas } from '../../client/api.ts';
import { signedIn } from '../../client/session-state.ts';
import { required, toast, useAction, useJudgedForm } from '../../parts/action.tsx';
import { Button } from '../../parts/button.tsx';
import { FormDialog, confirm } from '../../parts/dialog.tsx';
import { Loaded, useLoad, type Load } from '../../parts/load.tsx';
import { Card, Section } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { Deadline, Moment } from '../../parts/time.tsx';
import { useSignInMethods } from '../../shell/open-frame.tsx';
import { CodeField, PROOF_TEXTS, PasswordField } from './second-factor.tsx';

/** Patterns of browsers; the first match counts, because most browsers claim to be others as well. */
const BROWSERS = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:HeadlessChrome|Chrome|CriOS)\//, 'Chrome'],
  [/\bVersion\/.*Safari\//, 'Safari'],
  [/^curl\//, 'curl'],
] as const;

const SYSTEMS = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
] as const;

/** Names the browser and system of a `User-Agent`: `Firefox on Linux`. */
function nameBrowser(agent: string | null): string {
  const text = agent ?? '';
  const browser = BROWSERS.find(([pattern]) => pattern.test(text))?.[1];
  const system = SYSTEMS.find(([pattern]) => pattern.test(text))?.[1];
  if (browser === undefined) return system === undefined ? 'Unknown client' : `Unknown client on ${system}`;
  return system === undefined ? browser : `${browser} on ${system}`;
}

type Answer = { sessions: readonly Session[] };
type Session = Schemas['Session'];

/** The user's sessions, and buttons to end them. */
export function SessionSettings() {
  const load = useLoad((signal) => api.get('/sessions', { signal }), []);
  return <Loaded load={load}>{(answer) => <Sessions answer={answer} load={load} />}</Loaded>;
}

function Sessions({ answer: { sessions }, load }: { answer: Answer; load: Load<Answer> }) {
  const others = sessions.filter(({ is_current: isCurrent }) => !isCurrent).length;
  const columns: readonly Column<Session>[] = [
    { head: 'Browser', cell: (each) => <Browser session={each} /> },
    { head: 'IP address', cell: ({ address }) => address ?? 'unknown', wideOnly: true },
    {
      head: 'Signed in',
      cell: ({ created_at: at }) => <Moment at={at} />,
      wideOnly: true,
      class: 'whitespace-nowrap text-soft',
    },
    { head: 'Last active', cell: ({ last_seen_at: at }) => <Moment at={at} />, class: 'whitespace-nowrap text-soft' },
    {
      head: 'Expires',
      cell: ({ expires_at: at }) => <Deadline at={at} />,
      wideOnly: true,
      class: 'whitespace-nowrap text-soft',
    },
    {
      head: 'Action',
      cell: (each) =>
        each.is_current ? <Badge tone="good">Current session</Badge> : <EndSession session={each} load={load} />,
      isAction: true,
    },
  ];
  return (
    <Section
      title="Sessions"
      lead="Sessions expire after 14 days of inactivity, at the latest after 90 days."
      actions={others > 0 && <EndOthers others={others} load={load} />}
    >
      <Table caption="Your sessions" columns={columns} rows={sessions} keyOf={({ id }) => id} />
    </Section>
  );
}

function Browser({ session: { user_agent: agent, address } }: { session: Session }) {
  return (
    <div class="min-w-0" title={agent ?? ''}>
      <div>{nameBrowser(agent)}</div>
      <div class="break-all text-xs text-soft @3xl:hidden">{address}</div>
    </div>
  );
}

function EndSession({ session: { id, user_agent: agent }, load }: { session: Session; load: Load<Answer> }) {
  const action = useAction();
  const end = () =>
    action.run(async () => {
      await api.delete('/sessions/{id}', { path: { id } });
      await load.reload();
    });
  return (
    <Button
      size="small"
      aria-label={`Sign out ${nameBrowser(agent)}`}
      busy={action.isBusy.value}
      onClick={() => void end()}
      class="-my-1.5"
    >
      Sign out
    </Button>
  );
}

function EndOthers({ others, load }: { others: number; load: Load<Answer> }) {
  const action = useAction();
  const end = async () => {
    if (
      !(await confirm({
        title: 'Sign out other sessions?',
        text: `${others === 1 ? '1 other session ends' : `${others} other sessions end`} immediately.`,
        action: 'Sign out',
      }))
    )
      return;
    await action.run(async () => {
      await api.post('/sessions/end-others');
      await load.reload();
      toast('Other sessions signed out');
    });
  };
  return (
    <Button size="small" busy={action.isBusy.value} onClick={() => void end()}>
      Sign out other sessions
    </Button>
  );
}

type Identity = Schemas['Identity'];

/** The user's accounts at the sign-in provider; nothing if there is neither an account nor a provider. */
export function Identities() {
  const { open_id: provider = null, password: takesPasswords = true } = useSignInMethods().value.value ?? {};
  const list = useLoad((signal) => api.get('/user/identities', { signal }), []);
  const isLinking = useSignal(false);
  const identities = list.value.value?.identities ?? null;
  if (identities === null || (provider === null && identities.length === 0)) return null;
  const isLinked = identities.some(({ is_current: isCurrent }) => isCurrent);
  const canLink = provider !== null && !isLinked && signedIn().user.has_password;
  return (
    <Section title="Sign-in provider" lead="Your account there signs you in without a password.">
      <Card>
        <div class="flex flex-col items-start gap-3 text-sm">
          {identities.map((identity) => (
            <LinkedIdentity
              key={identity.id}
              identity={identity}
              canUnlink={takesPasswords && signedIn().user.has_password}
              onUnlinked={() => void list.reload()}
            />
          ))}
          {canLink && (
            <>
              <p class="text-soft">{identities.length === 0 ? 'Not linked.' : `Not linked at ${provider.name}.`}</p>
              <Button icon="key" onClick={() => (isLinking.value = true)}>
                Link {provider.name}
              </Button>
            </>
          )}
          {isLinking.value && provider !== null && (
            <LinkDialog name={provider.name} onClose={() => (isLinking.value = false)} />
          )}
        </div>
      </Card>
    </Section>
  );
}

type LinkedIdentityProps = {
  identity: Identity;
  /** Whether the user can sign in without it. */
  canUnlink: boolean;
  onUnlinked: () => void;
};

function LinkedIdentity({ identity, canUnlink, onUnlinked }: LinkedIdentityProps) {
  const action = useAction();
  const unlink = async () => {
    await api.delete('/user/identities/{id}', { path: { id: identity.id } });
    toast('Unlinked');
    onUnlinked();
  };
  return (
    <div class="flex flex-wrap items-center gap-x-4 gap-y-2">
      <p class="min-w-0 break-words">
        {identity.email === '' ? identity.issuer : `${identity.email} at ${identity.issuer}`}
        <span class="text-soft">
          {' '}
          · linked <Moment at={identity.created_at} />
          {!identity.is_current && ' · no longer used here'}
        </span>
      </p>
      {canUnlink && (
        <Button size="small" tone="danger" busy={action.isBusy.value} onClick={() => void action.run(unlink)}>
          Unlink
        </Button>
      )}
    </div>
  );
}

/** A dialog that verifies the user before another sign-in method is added, and leads to the provider. */
function LinkDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const { totp_enabled: hasCode } = signedIn().user;
  const password = useSignal('');
  const code = useSignal('');
  const form = useJudgedForm(PROOF_TEXTS);
  const address = useSignal<string | null>(null);
  // Only once the form is idle: while it is busy, the browser asks before leaving.
  const next = form.isBusy.value ? null : address.value;
  useEffect(() => {
    if (next !== null) location.assign(next);
  }, [next]);
  const submit = () => {
    const judged = {
      password: required(password.value, 'Enter your password'),
      code: hasCode ? required(code.value.trim(), 'Enter a code') : null,
    };
    return form.submit(judged, async () => {
      const body = { password: password.value, ...(hasCode && { code: code.value.trim() }) };
      address.value = (await api.post('/user/identities', { body })).url;
    });
  };
  return (
    <FormDialog
      title={`Link ${name}`}
      action="Continue"
      isBusy={form.isBusy.value}
      error={form.rest}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <p class="text-sm text-soft">Next, sign in there. From then on, that account signs you in here.</p>
      <PasswordField value={password} error={form.problem('password')} />
      {hasCode && <CodeField value={code} error={form.problem('code')} />}
    </FormDialog>
  );
}
