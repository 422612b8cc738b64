import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { DAY_SECONDS } from '../../core/time.ts';
import { serviceSeconds } from '../client/answer.ts';
import { api, type Monitor } from '../client/api.ts';
import { INSTALLATION_URL } from '../client/base-path.ts';
import { loadAll, monitors, monitorsError } from '../client/live.ts';
import { canWrite, signedIn, useDraft } from '../client/session-state.ts';
import { required, useJudgedForm } from '../parts/action.tsx';
import { Button, ButtonLink } from '../parts/button.tsx';
import { SelectField } from '../parts/choice-fields.tsx';
import { CopyText, LoopbackHint, ShownOnceDialog } from '../parts/copy.tsx';
import { FormDialog } from '../parts/dialog.tsx';
import { TextField } from '../parts/field.tsx';
import { FailedLoad, PageSkeleton } from '../parts/load.tsx';
import { Empty, useTitle } from '../parts/page.tsx';
import { PATHS, type PageProps } from '../paths.ts';
import { useShortcut } from '../shell/keys.tsx';
import { navigate } from '../shell/router.ts';
import { FirstRun } from './overview/first-run.tsx';
import { Listing, OutdatedList, useFigures } from './overview/listing.tsx';
import { countStatuses, needsFigures, summarize } from './overview/selection.ts';

/** The page of all monitors. */
export function OverviewPage({ query }: PageProps) {
  const { value: all } = monitors;
  return all === null ? <Loading /> : <Overview all={all} query={query} />;
}

function Loading() {
  useTitle('Monitors');
  return monitorsError.value === null ? (
    <PageSkeleton />
  ) : (
    <FailedLoad error={monitorsError.value} onRetry={() => void loadAll()} />
  );
}

function Overview({ all, query }: { all: readonly Monitor[]; query: PageProps['query'] }) {
  const selection = {
    status: query['status'] ?? '',
    type: query['type'] ?? '',
    tag: query['tag'] ?? '',
    text: query['q'] ?? '',
    sort: query['sort'] ?? 'attention',
  };
  const figures = useFigures(needsFigures(selection.sort));
  const overdue = figures.value.value?.overdue_monitors;
  const title = summarize(countStatuses(all), overdue);
  useTitle(title);
  return (
    <div class="flex min-h-full w-full flex-col pb-10 pt-4 md:px-5 md:pt-7">
      <div class="flex items-center justify-between gap-4 px-4 md:px-3">
        <h1 class="heading min-w-0 break-words text-xl md:text-2xl">{title}</h1>
        {all.length > 0 && (
          <div class="flex shrink-0 gap-2">
            <WallButton />
            <NewMonitor isShort />
          </div>
        )}
      </div>
      {all.length === 0 ? <NoMonitors /> : <Listing all={all} selection={selection} load={figures} />}
    </div>
  );
}

/** A button for roles that may create monitors; `isShort` shows an icon only on narrow screens. */
function NewMonitor({ isShort = false }: { isShort?: boolean }) {
  useShortcut('n', 'New monitor', canWrite() ? () => navigate(PATHS.monitorNew) : null);
  return canWrite() ? (
    <ButtonLink href={PATHS.monitorNew} tone="primary" icon="plus">
      <span class={isShort ? 'sr-only md:not-sr-only' : ''}>New monitor</span>
    </ButtonLink>
  ) : null;
}

function NoMonitors() {
  const box = useRef<HTMLDivElement>(null);
  return (
    <>
      <OutdatedList />
      <Empty icon="monitors" title="No monitors yet" action={<NewMonitor />}>
        A monitor checks a URL, port, host, domain, job or vendor, and alerts you when it fails.
      </Empty>
      <FirstRun monitors={[]} box={box} />
    </>
  );
}

const LABEL = <span class="sr-only lg:not-sr-only">Wallboard</span>;

/** Opens the wallboard: owners create a link for a screen without a sign-in, others open it with their session. */
function WallButton() {
  const isMaking = useDraft('wallboard', false);
  if (signedIn().user.role !== 'owner')
    return (
      <ButtonLink href={PATHS.wall} target="_blank" icon="wall">
        {LABEL}
      </ButtonLink>
    );
  return (
    <>
      <Button icon="wall" onClick={() => (isMaking.value = true)}>
        {LABEL}
      </Button>
      {isMaking.value && <NewWallLink onClose={() => (isMaking.value = false)} />}
    </>
  );
}

const EXPIRIES = [
  { value: '', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
] as const;

const LINK_TEXTS = { name: 'Use 1 to 255 characters', expires_at: 'Choose a later date' } as const;

/** A dialog that creates a link to the wallboard and shows it once. */
function NewWallLink({ onClose }: { onClose: () => void }) {
  const name = useDraft('wallboard name', 'Wallboard');
  const expiry = useDraft('wallboard expiry', '');
  const created = useSignal<string | null>(null);
  const form = useJudgedForm(LINK_TEXTS);
  const create = () =>
    form.submit({ name: required(name.value.trim(), 'Enter a name') }, async () => {
      const days = Number(expiry.value);
      const { token } = await api.post('/tokens', {
        body: {
          name: name.value.trim(),
          scopes: ['wall'],
          ...(days > 0 && { expires_at: serviceSeconds() + days * DAY_SECONDS }),
        },
        creates: 'link',
      });
      created.value = token;
      // Nothing is left to restore.
      [name.value, expiry.value] = ['Wallboard', ''];
    });
  if (created.value !== null)
    return (
      <ShownOnceDialog
        key="created"
        title="Wallboard link created"
        question="Copied the link?"
        text="It is shown only once. If you lose it, revoke it and create another."
        action="I’ve copied it"
        onClose={onClose}
      >
        <div class="grid grid-cols-1 gap-3 text-sm">
          <p>Anyone with this link sees the names and statuses of your monitors, and nothing else.</p>
          {/* After the #: browsers never send that part, so that no log contains the token. */}
          <CopyText text={`${INSTALLATION_URL}${PATHS.wall}#${created.value}`} label="Wallboard link" />
          <LoopbackHint url={INSTALLATION_URL}>
            Others can’t open this link: it leads to their own computer. Replace {window.location.host} with an address
            they can reach.
          </LoopbackHint>
          <p class="text-soft">To revoke it, go to Settings, API tokens.</p>
        </div>
      </ShownOnceDialog>
    );
  return (
    <FormDialog
      key="form"
      title="New wallboard link"
      action="Create link"
      isBusy={form.isBusy.value}
      error={form.rest}
      onSubmit={() => void create()}
      onClose={onClose}
    >
      <p class="text-sm text-soft">
        A read-only link for a screen on the wall, without a sign-in.{' '}
        <a href={PATHS.wall} target="_blank" rel="noreferrer" class="underline underline-offset-2">
          Preview
        </a>
      </p>
      <TextField
        label="Name"
        hint="Where the screen is. Shown in Settings, API tokens."
        required
        autofocus
        maxLength={255}
        value={name.value}
        error={form.problem('name')}
        onValue={(value) => (name.value = value)}
      />
      <SelectField
        label="Expires"
        options={EXPIRIES}
        value={expiry.value}
        error={form.problem('expires_at')}
        onValue={(value) => (expiry.value = value)}
      />
    </FormDialog>
  );
}
