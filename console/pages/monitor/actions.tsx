import { useSignal } from '@preact/signals';
import { serviceSeconds } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { loadAll, putMonitors } from '../../client/live.ts';
import { canWrite } from '../../client/session-state.ts';
import { toast, useAction } from '../../parts/action.tsx';
import { Button, ButtonLink, MenuButton, menuItem } from '../../parts/button.tsx';
import { LengthDialog, confirm } from '../../parts/dialog.tsx';
import { count } from '../../parts/figures.ts';
import { Icon } from '../../parts/icon.tsx';
import { isCheckable } from '../../parts/monitors.ts';
import { clock, formatUntil } from '../../parts/time.tsx';
import { PATHS } from '../../paths.ts';
import { useShortcut } from '../../shell/keys.tsx';
import { currentVisit, leaveDeleted, navigate } from '../../shell/router.ts';
import { isNotified, namesUnheld, type Channel } from '../channels/words.tsx';

type Monitor = Schemas['Monitor'];

type Action = 'check' | 'toggle' | 'mute' | 'delete';
/** Properties of the buttons. `onRequested` is called when a check was requested and results are on their way. */
type ActionsProps = { monitor: Monitor; channels: readonly Channel[]; onRequested: () => void };

/** The buttons of a monitor, for roles that may use them. */
export function Actions(props: ActionsProps) {
  return canWrite() ? <Buttons {...props} /> : null;
}

function Buttons({ monitor, channels, onRequested }: ActionsProps) {
  const buttonAction = useAction();
  const action = useSignal<Action | null>(null);
  const isPlanning = useSignal(false);
  const isMuting = useSignal(false);
  const isBusy = buttonAction.isBusy.value;
  const busy = isBusy ? action.value : null;
  const { id, name } = monitor;
  const isPaused = monitor.enabled === 0;
  const canCheck = isCheckable(monitor);
  const act = async (what: Action, work: () => Promise<void>) => {
    if (!buttonAction.isBusy.peek()) action.value = what;
    await buttonAction.run(work);
  };
  const check = () =>
    act('check', async () => {
      const { sources } = await api.post('/monitors/{id}/check', { path: { id } });
      toast(describeRequested(sources.map(({ state }) => state)));
      onRequested();
    });
  const toggle = () =>
    act('toggle', async () => {
      const {
        check_spec: _,
        agent_sources: __,
        agent_sources_unable: ___,
        ...row
      } = isPaused
        ? await api.post('/monitors/{id}/resume', { path: { id } })
        : await api.post('/monitors/{id}/pause', { path: { id } });
      putMonitors([row]);
      toast(isPaused ? `${name} resumed` : `${name} paused: no checks run, no alerts sent`);
    });
  const { muted_until: mutedUntil = 0 } = monitor;
  const isMuted = mutedUntil > clock.value;
  const unheld = namesUnheld(channels, (channel) => isNotified(channel, monitor));
  const mute = async (seconds: number) => {
    const until = serviceSeconds() + seconds;
    await api.post('/monitors/{id}/mute', { path: { id }, body: { until } });
    toast(`${name} muted until ${formatUntil(until)}.${unheld}`);
    void loadAll();
  };
  const startMaintenance = async (seconds: number) => {
    const body = { duration_seconds: seconds };
    const { current } = await api.post('/monitors/{id}/maintenance', { path: { id }, body, creates: 'window' });
    toast(current === null ? 'Maintenance started' : `In maintenance until ${formatUntil(current.ends_at)}`);
    void loadAll();
  };
  const unmute = () =>
    act('mute', async () => {
      await api.delete('/monitors/{id}/mute', { path: { id } });
      toast(`${name} unmuted`);
      await loadAll();
    });
  const remove = async () => {
    const text =
      'Checks stop, an open incident is resolved, and the settings are deleted for good. Past incidents stay in ' +
      'the list of incidents and in reports.';
    if (!(await confirm({ title: `Delete ${name}?`, text, action: 'Delete monitor' }))) return;
    await act('delete', async () => {
      const from = currentVisit();
      await api.delete('/monitors/{id}', { path: { id } });
      leaveDeleted(`/monitors/${id}`, PATHS.monitors, from);
      putMonitors([], [id]);
      toast(`${name} deleted`);
    });
  };
  const edit = `/monitors/${id}/edit`;
  useShortcut('c', 'Check now', canCheck && !isBusy ? () => void check() : null);
  // An accidental key press must not end the monitoring.
  const toggleByKey = async () => {
    const text = 'No checks run and no alerts are sent until you resume it.';
    if (isPaused || (await confirm({ title: `Pause ${name}?`, text, action: 'Pause monitor' }))) await toggle();
  };
  useShortcut('p', isPaused ? 'Resume' : 'Pause', isBusy ? null : () => void toggleByKey());
  useShortcut('e', 'Edit', () => navigate(edit));
  return (
    <>
      {canCheck && (
        <Button size="small" icon="retry" busy={busy === 'check'} disabled={isBusy} onClick={() => void check()}>
          Check now
        </Button>
      )}
      <Button
        size="small"
        icon={isPaused ? 'play' : 'pause'}
        busy={busy === 'toggle'}
        disabled={isBusy}
        onClick={() => void toggle()}
      >
        {isPaused ? 'Resume' : 'Pause'}
      </Button>
      {!isPaused && (
        <Button
          size="small"
          icon={isMuted ? 'channels' : 'mute'}
          busy={busy === 'mute'}
          disabled={isBusy}
          onClick={() => (isMuted ? void unmute() : (isMuting.value = true))}
        >
          {isMuted ? 'Unmute' : 'Mute'}
        </Button>
      )}
      <ButtonLink size="small" icon="edit" href={edit}>
        Edit
      </ButtonLink>
      <MenuButton label="More actions" busy={busy === 'delete'}>
        {!isPaused && (
          <button type="button" class={menuItem()} onClick={() => (isPlanning.value = true)}>
            <Icon name="maintenance" class="size-4 text-soft" />
            Maintenance
          </button>
        )}
        <a class={menuItem()} href={`${PATHS.monitorNew}?from=${id}`}>
          <Icon name="copy" class="size-4 text-soft" />
          Clone
        </a>
        <button type="button" class={menuItem(true)} disabled={isBusy} onClick={() => void remove()}>
          <Icon name="trash" class="size-4" />
          Delete
        </button>
      </MenuButton>
      {isPlanning.value && (
        <LengthDialog
          title={`Maintenance of ${name}`}
          action="Start maintenance"
          hint={() => `Checks go on. Chat and email alerts are held until it ends, and uptime leaves it out.${unheld}`}
          lengths={LENGTHS}
          initial={3600}
          onSubmit={startMaintenance}
          onClose={() => (isPlanning.value = false)}
        >
          <p class="text-sm text-soft">
            For later or several monitors,{' '}
            <a href={PATHS.maintenanceNew} class="underline underline-offset-2 hover:text-ink">
              plan a maintenance window
            </a>
            .
          </p>
        </LengthDialog>
      )}
      {isMuting.value && (
        <LengthDialog
          title={`Mute ${name}`}
          action="Mute"
          hint={() => `Chat and email alerts are held until it ends; any that still apply are then sent.${unheld}`}
          lengths={LENGTHS}
          initial={3600}
          onSubmit={mute}
          onClose={() => (isMuting.value = false)}
        />
      )}
    </>
  );
}

const LENGTHS = [900, 1800, 3600, 7200, 14_400, 28_800, 86_400];

/** Describes how many locations check at once and how many later; checks by the service itself have no locations. */
function describeRequested(states: readonly ('asked' | 'waits' | 'unable')[]): string {
  const requested = states.filter((state) => state === 'asked').length;
  const waiting = states.filter((state) => state === 'waits').length;
  if (states.length === 0 || (requested === states.length && requested === 1)) return 'Check started';
  const parts = [
    requested > 0 ? `Check started from ${count(requested, 'location')}` : '',
    waiting > 0 ? `${count(waiting, 'agent')} will check at the next check-in` : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'No location can run this check' : parts.join(', ');
}
