import { api } from '../../client/api.ts';
import type { Schemas } from '../../client/shapes.ts';
import { useAction } from '../../parts/action.ts';
import { Button } from '../../parts/button.tsx';
import { confirm } from '../../parts/dialog.tsx';
import { Loaded, useLoad, type Load } from '../../parts/load.tsx';
import { Section } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { Deadline, Moment } from '../../parts/time.tsx';
import { toast } from '../../parts/toast.tsx';

/** Patterns of browsers; the first match counts, since most claim to be others as well. */
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
