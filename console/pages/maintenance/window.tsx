import { useSignal } from '@preact/signals';
import { DAY_SECONDS } from '../../../core/time.ts';
import { serviceSeconds } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { loadAll, monitors, monitorsError, useReload } from '../../client/live.ts';
import { canWrite } from '../../client/session-state.ts';
import { toast, useAction } from '../../parts/action.tsx';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { LengthDialog, confirm } from '../../parts/dialog.tsx';
import { Outdated, PageSkeleton, useLoad } from '../../parts/load.tsx';
import { ChangesLink, FactLine, ObjectPage } from '../../parts/object-page.tsx';
import { Card, Page, Section } from '../../parts/page.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { TimesIn, clock, formatDuration, formatShort, formatUntil } from '../../parts/time.tsx';
import { PATHS, type PageProps } from '../../paths.ts';
import { useShortcut } from '../../shell/keys.tsx';
import { currentVisit, leaveDeleted, navigate } from '../../shell/router.ts';
import { ALERTS, WindowStatus, describeMonitors, describeTimes, formatSpan, type MaintenanceWindow } from './draft.tsx';

type Occurrence = Schemas['MaintenanceOccurrence'];

const BACK = { label: 'Maintenance', href: PATHS.maintenance };

/** Most occurrences that are listed. */
const SHOWN = 30;

/** The page of one maintenance window: its settings, its times, and buttons to change it. */
export function WindowPage({ params }: PageProps) {
  const id = params['id'] ?? '';
  const load = useLoad(
    async (signal) => {
      const from = serviceSeconds() - 90 * DAY_SECONDS;
      const query = { window_id: id, from, to: from + 180 * DAY_SECONDS };
      const [window, { occurrences }] = await Promise.all([
        api.get('/maintenance-windows/{id}', { path: { id }, signal }),
        api.get('/maintenance-windows/occurrences', { query, signal }),
      ]);
      return { window, occurrences };
    },
    [id],
  );
  useReload(load, ['maintenance'], (changed) => changed === id);
  // Monitor names that load later would move the content below them.
  if (monitors.value === null && monitorsError.value === null) return <PageSkeleton />;
  return (
    <ObjectPage
      load={load}
      title="Maintenance window"
      icon="maintenance"
      back={BACK}
      missing="It was deleted, or the address is wrong. What has been stays in uptime and reports."
    >
      {({ window, occurrences }) => (
        <Page
          // The key replaces the skeleton's elements, which would otherwise move down below the actions.
          key={id}
          title={window.name}
          back={BACK}
          lead={<Lead window={window} />}
          {...(canWrite() && { actions: <Actions window={window} onChanged={load.reload} /> })}
        >
          <Outdated load={load} />
          <Facts window={window} />
          <Occurrences window={window} occurrences={occurrences} onChanged={load.reload} />
        </Page>
      )}
    </ObjectPage>
  );
}

function Lead({ window }: { window: MaintenanceWindow }) {
  const { status, current, next } = window;
  return (
    <span class="flex flex-wrap items-center gap-x-2 gap-y-1">
      <WindowStatus status={status} />
      {current !== null ? `until ${formatUntil(current.ends_at)}` : next !== null && `next ${formatSpan(next)}`}
    </span>
  );
}

type ChangeProps = { window: MaintenanceWindow; onChanged: () => Promise<void> };

function Actions({ window, onChanged }: ChangeProps) {
  const action = useAction();
  const isBusy = action.isBusy.value;
  const isExtending = useSignal(false);
  const { id, name, current, next } = window;
  const path = { id };
  const act = (text: string, work: () => Promise<unknown>) =>
    action.run(async () => {
      await work();
      toast(text);
      await Promise.all([onChanged(), loadAll()]);
    });
  const end = async () => {
    const text = 'Alerts that wait are sent for what is still down.';
    if (await confirm({ title: `End ${name} now?`, text, action: 'End now', tone: 'primary' }))
      await act('Maintenance ended', () => api.post('/maintenance-windows/{id}/end', { path }));
  };
  const skip = async () => {
    if (next === null) return;
    const text = `It does not take place ${formatSpan(next)}. Alerts are sent as usual.`;
    if (await confirm({ title: 'Skip the next occurrence?', text, action: 'Skip it', tone: 'primary' }))
      await act('Skipped', () =>
        api.post('/maintenance-windows/{id}/skip', { path, body: { starts_at: next.starts_at } }),
      );
  };
  const extend = async (seconds: number) => {
    await api.post('/maintenance-windows/{id}/extend', { path, body: { duration_seconds: seconds } });
    toast('Maintenance extended');
    void Promise.all([onChanged(), loadAll()]);
  };
  const remove = async () => {
    const text = `${current === null ? '' : 'It ends now. '}What has been stays in uptime and reports.`;
    if (!(await confirm({ title: `Delete ${name}?`, text, action: 'Delete window' }))) return;
    await action.run(async () => {
      const from = currentVisit();
      await api.delete('/maintenance-windows/{id}', { path });
      toast(`${name} deleted`);
      leaveDeleted(`/maintenance/${id}`, PATHS.maintenance, from);
      await loadAll();
    });
  };
  const edit = `/maintenance/${id}/edit`;
  useShortcut('e', 'Edit', () => navigate(edit));
  return (
    <>
      {current !== null && (
        <>
          <Button size="small" tone="primary" busy={isBusy} onClick={() => void end()}>
            End now
          </Button>
          <Button size="small" onClick={() => (isExtending.value = true)}>
            Extend
          </Button>
        </>
      )}
      {next !== null && (
        <Button size="small" disabled={isBusy} onClick={() => void skip()}>
          Skip next
        </Button>
      )}
      <ButtonLink size="small" icon="edit" href={edit}>
        Edit
      </ButtonLink>
      <ChangesLink kind="maintenance" id={id} />
      <Button size="small" tone="danger" icon="trash" disabled={isBusy} onClick={() => void remove()}>
        <span class="max-md:sr-only">Delete</span>
      </Button>
      {isExtending.value && current !== null && (
        <LengthDialog
          title={`Extend ${name}`}
          action="Extend"
          label="By"
          hint={(seconds) => `Until ${formatShort(current.ends_at + seconds)}. Reports show that it was added.`}
          lengths={EXTENSIONS}
          initial={1800}
          onSubmit={extend}
          onClose={() => (isExtending.value = false)}
        />
      )}
    </>
  );
}

const EXTENSIONS = [900, 1800, 3600, 7200, 14_400, 28_800, 86_400];

function Facts({ window }: { window: MaintenanceWindow }) {
  const names = new Map(monitors.value?.map(({ id, name }) => [id, name]));
  return (
    <Section title="Settings">
      <Card>
        <dl class="grid gap-x-6 gap-y-1.5 text-sm md:grid-cols-[11rem_1fr]">
          <FactLine name="When">{describeTimes(window)}</FactLine>
          <FactLine name="Lasts">{formatDuration(window.duration_seconds)}</FactLine>
          <FactLine name="For">
            {describeMonitors(window)}
            {window.monitor_ids.length > 0 && (
              <span class="text-soft">
                {window.monitor_ids.slice(0, SHOWN).map((id, index) => (
                  <span key={id}>
                    {index === 0 ? ': ' : ', '}
                    <a href={`/monitors/${id}`} class="underline underline-offset-2 hover:text-ink">
                      {names.get(id) ?? id}
                    </a>
                  </span>
                ))}
                {window.monitor_ids.length > SHOWN && ` and ${window.monitor_ids.length - SHOWN} more`}
              </span>
            )}
          </FactLine>
          <FactLine name="Alerts to chats">
            {ALERTS[window.alerts].label}
            {window.settle_seconds > 0 && `, and ${formatDuration(window.settle_seconds)} to settle`}
          </FactLine>
          <FactLine name="Uptime and SLA">{window.sla === 'exclude' ? 'Left out' : 'Counts as usual'}</FactLine>
          {window.description !== '' && <FactLine name="Description">{window.description}</FactLine>}
        </dl>
      </Card>
    </Section>
  );
}

type OccurrencesProps = ChangeProps & { occurrences: readonly Occurrence[] };

function Occurrences({ window, occurrences, onChanged }: OccurrencesProps) {
  const columns: Column<Occurrence>[] = [
    { head: 'Time', cell: (one) => formatSpan(one) },
    { head: 'Lasts', cell: ({ starts_at: from, ends_at: to }) => formatDuration(to - from), align: 'right' },
    { head: 'Status', cell: stateOf, class: 'text-soft' },
    ...(canWrite()
      ? [
          {
            head: 'Skip',
            isAction: true,
            cell: (one: Occurrence) =>
              one.starts_at > clock.value && !one.skipped && <Skip occurrence={one} onChanged={onChanged} />,
          },
        ]
      : []),
  ];
  const comes = occurrences.filter(({ ends_at: to }) => to > clock.value);
  const past = occurrences.filter(({ ends_at: to }) => to <= clock.value).toReversed();
  const shown = [...comes.slice(0, SHOWN), ...past.slice(0, SHOWN)];
  return (
    <Section title="Occurrences" lead={<TimesIn />}>
      {shown.length === 0 ? (
        <p class="text-sm text-soft">None in the last 90 days, nor in the next 60.</p>
      ) : (
        <Table
          caption="Occurrences"
          columns={columns}
          rows={shown}
          keyOf={({ starts_at: at, local_start: local }) => `${at} ${local}`}
        />
      )}
      {(window.cron ?? window.rrule) !== null && (
        <p class="mt-2 text-xs text-soft">
          Planned 60 days ahead{comes.length > SHOWN ? `; the next ${SHOWN} are listed` : ''}.
        </p>
      )}
    </Section>
  );
}

function Skip({ occurrence, onChanged }: { occurrence: Occurrence; onChanged: () => Promise<void> }) {
  const { isBusy, run } = useAction();
  const { window_id: id, starts_at } = occurrence;
  const skip = async () => {
    await api.post('/maintenance-windows/{id}/skip', { path: { id }, body: { starts_at } });
    toast('Skipped');
    await onChanged();
  };
  return (
    <Button
      size="small"
      tone="quiet"
      aria-label={`Skip ${formatSpan(occurrence)}`}
      busy={isBusy.value}
      onClick={() => void run(skip)}
    >
      Skip
    </Button>
  );
}

function stateOf({ starts_at: from, ends_at: to, skipped }: Occurrence): string {
  if (skipped) return 'Skipped';
  if (to <= clock.value) return 'Over';
  return from <= clock.value ? 'In progress' : 'Planned';
}
