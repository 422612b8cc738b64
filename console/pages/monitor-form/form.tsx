import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { isAgentChecked } from '../../../core/monitors/monitor.ts';
import { api, type Schemas } from '../../client/api.ts';
import { INSTALLATION_URL } from '../../client/base-path.ts';
import { isSame } from '../../client/concurrent-edits.ts';
import { toast, useAction } from '../../parts/action.tsx';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { CopyText, CurlButton, PingLoopbackHint } from '../../parts/copy.tsx';
import { useUnsaved } from '../../parts/dialog.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Card, useArrival, useWide } from '../../parts/page.tsx';
import { PATHS } from '../../paths.ts';
import { currentVisit, leaveForm } from '../../shell/router.ts';
import { Notify, Parents, ServiceHours, saveChannels } from './alerting.tsx';
import { Basics, TypeChooser } from './basics.tsx';
import { createBody, patchBody, requestOf } from './body.ts';
import type { Draft } from './draft.ts';
import { describeDown, describeTimeout, judgeDraft, latestNotice, sayDuration, suggestName } from './judge.ts';
import { Dependencies, Judgement, Locations } from './judgement.tsx';
import { PreviewCard } from './preview-card.tsx';
import {
  NO_PROBLEMS,
  countLocations,
  defaultsOf,
  problemsOf,
  type FormState,
  type Problems,
  type Surroundings,
} from './problems.ts';
import { TypeFields } from './type-fields.tsx';
import { ChangedElsewhere, useMonitorDraft } from './use-monitor-draft.tsx';

type Props = { original: Draft; surroundings: Surroundings; monitor: Schemas['MonitorDetail'] | null } & Pick<
  FormState,
  'agents' | 'vendors' | 'channels'
>;

/** The form of a new or existing monitor. */
export function MonitorForm({ original, surroundings, monitor, agents, vendors, channels }: Props) {
  const { draft, base, elsewhere, save: saveUnlessChanged } = useMonitorDraft({ original, monitor, surroundings });
  const first = base.value.draft;
  const problems = useSignal<Problems>(NO_PROBLEMS);
  const action = useAction((failure) => (problems.value = problemsOf(failure, draft.value)));
  const isSaved = useSignal(false);
  const isWide = useWide();
  const created = useSignal<Schemas['MonitorDetail'] | null>(null);
  const box = useRef<HTMLFormElement>(null);
  useRoomForBar(box);
  useUnsaved(() => !isSaved.value && !isSame(draft.value, first), action.isBusy.value, 'from');
  // On a phone the keyboard would cover the choice of types.
  useEffect(() => {
    if (monitor === null && isWide) box.current?.querySelector<HTMLInputElement>('input[name="target"]')?.focus();
  }, []);
  useEffect(() => leadToProblem(box.current, problems.value), [problems.value]);

  const form: FormState = {
    draft: draft.value,
    change: (part) => (draft.value = { ...draft.value, ...part }),
    defaults: defaultsOf(draft.value, surroundings),
    surroundings,
    problem: (field) => problems.value.byField[field],
    problems: problems.value,
    agents,
    vendors,
    channels,
    judge: () => judgeDraft({ draft: draft.value, surroundings, stored: monitor === null ? null : first }),
    monitor,
  };
  /** Returns the draft, with the default name of a new monitor if none was entered. */
  const named = (): Draft =>
    monitor !== null || draft.value.name.trim() !== ''
      ? draft.value
      : { ...draft.value, name: suggestName(draft.value, vendors) };
  const create = async () => {
    const from = currentVisit();
    const input = named();
    const { name, type, target, channels: chosen } = input;
    const { id } = await api.post('/monitors', { body: createBody(input), creates: 'monitor' });
    isSaved.value = true;
    await saveChannels(id, { before: [], after: chosen });
    // The monitor exists by now: a later failure must not suggest otherwise.
    if (type === 'heartbeat') created.value = await api.get('/monitors/{id}', { path: { id } }).catch(() => null);
    // The input is stored by now: a later sign-in must not restore it.
    draft.value = first;
    if (created.value !== null) return;
    const isDraft = target.trim() === '' && type !== 'heartbeat';
    leave(id, isDraft ? `${name} is saved as a draft` : `${name} created`, from);
  };
  const change = async (id: string) => {
    const from = currentVisit();
    const isStored = await saveUnlessChanged(async () => {
      const { draft: before, version } = base.peek();
      const body = patchBody(draft.value, { original: before, surroundings });
      await api.patch('/monitors/{id}', {
        path: { id },
        body: { ...body, ...(version !== null && { if_settings_version: version }) },
      });
      isSaved.value = true;
      await saveChannels(id, { before: first.channels, after: draft.value.channels });
    });
    if (isStored) leave(id, 'Saved', from);
    else warn();
  };
  /** The changes by another person that a stopped save has led to. */
  const warned = useRef<typeof elsewhere.value>(null);
  const warn = () => {
    warned.current = elsewhere.peek();
    problems.value = { byField: {}, rest: ['Not saved yet: this monitor has changed since you opened it'] };
  };
  const isReplaced = (field: keyof Draft) => !isSame(draft.value[field], base.value.draft[field]);
  /** Reports whether a save would replace a change by another person whose notice is not on the screen. */
  const replacesUnread = () =>
    (elsewhere.peek()?.kept ?? []).some(isReplaced) &&
    warned.current !== elsewhere.peek() &&
    !isOnScreen(box.current?.querySelector('[data-elsewhere]'));
  const save = async () => {
    if (action.isBusy.peek()) return;
    const found = form.judge();
    problems.value = { byField: found, rest: [] };
    if (Object.keys(found).length > 0) return;
    if (replacesUnread()) {
      warn();
      return;
    }
    await action.run(() => (monitor === null ? create() : change(monitor.id)));
  };
  if (created.value !== null) return <NewHeartbeat monitor={created.value} />;
  const { type } = draft.value;
  const token = monitor?.check_spec.heartbeat?.token;
  return (
    <form
      ref={box}
      noValidate
      class="grid gap-x-8 gap-y-6 lg:grid-cols-[minmax(0,1fr)_17rem]"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        // Firefox would also submit the form.
        event.preventDefault();
        if (!event.repeat) void save();
      }}
    >
      <div class="flex min-w-0 flex-col gap-6">
        <WholeProblem problems={problems.value} />
        <ChangedElsewhere elsewhere={elsewhere.value} isReplaced={isReplaced} />
        {token !== undefined && (
          <Card>
            <PingUrl token={token} />
          </Card>
        )}
        {monitor === null && <TypeChooser type={type} onType={(chosen) => form.change({ type: chosen })} />}
        <Basics form={form} />
        <div>
          <TypeFields form={form} />
          {type === 'http' || type === 'tcp' || type === 'icmp' || type === 'udp' ? <Locations form={form} /> : null}
          <Judgement form={form} />
          <ServiceHours form={form} />
          <Dependencies form={form} />
          <Parents form={form} />
          <Notify form={form} />
        </div>
        <PreviewCard form={form} original={first} problems={problems} />
        <div class="lg:hidden">
          <Meaning form={form} />
        </div>
        {/* Its own controls need no room below them. */}
        <div
          class="
          sticky bottom-0 z-10 -mx-4 flex flex-wrap items-center gap-2 border-t border-line bg-paper px-4 py-3 md:-mx-2
          md:px-2 [&>*]:-scroll-mb-24 [@media(height<32rem)]:static
        "
        >
          <Button type="submit" tone="primary" busy={action.isBusy.value}>
            {monitor === null ? 'Create monitor' : 'Save changes'}
          </Button>
          {monitor === null ? (
            <ButtonLink href={PATHS.monitors} tone="quiet">
              Cancel
            </ButtonLink>
          ) : (
            <Button tone="quiet" onClick={() => leaveForm(`/monitors/${monitor.id}`, currentVisit())}>
              Cancel
            </Button>
          )}
          <CurlButton request={() => requestOf(named(), { original: first, surroundings, monitor })} />
        </div>
      </div>
      <aside class="sticky top-6 hidden flex-col gap-4 self-start lg:flex">
        <Meaning form={form} />
      </aside>
    </form>
  );
}

/** Height of the room for the bar, in pixels. */
const BAR_PX = 96;

/** Scrolls what gets the focus above the bar. For a textarea, browsers regard only the padding of the scrolled box. */
function useRoomForBar(form: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const main = form.current?.closest('main');
    main?.style.setProperty('scroll-padding-bottom', `${BAR_PX}px`);
    return () => main?.style.removeProperty('scroll-padding-bottom');
  }, []);
}

function leave(id: string, text: string, from: number): void {
  toast(text);
  leaveForm(`/monitors/${id}`, from);
}

/** The errors that belong to no field, at the top of the form. */
function WholeProblem({ problems: { byField, rest } }: { problems: Problems }) {
  const fields = Object.keys(byField).length;
  if (rest.length === 0 && fields === 0) return null;
  return (
    <div role="alert" tabIndex={-1} data-whole class="flex gap-2 rounded-md bg-down-tint px-3 py-2 text-sm text-down">
      <Icon name="warning" class="mt-0.5 size-4" />
      <div>
        {rest.map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
        {fields > 0 && <p>{fields === 1 ? 'Fix 1 error' : `Fix ${fields} errors`}</p>}
      </div>
    </div>
  );
}

/** Focuses the first field with an error, or the summary at the top, and opens the sections around it. */
function leadToProblem(form: HTMLFormElement | null, { byField, rest }: Problems): void {
  if (form === null || (rest.length === 0 && Object.keys(byField).length === 0)) return;
  const wrong = [...form.querySelectorAll<HTMLElement>('[aria-invalid="true"], [data-problem]')];
  for (const each of wrong)
    for (let fold = each.closest('details'); fold !== null; fold = fold.parentElement?.closest('details') ?? null)
      fold.open = true;
  const first = rest.length > 0 ? form.querySelector<HTMLElement>('[data-whole]') : wrong[0];
  (first ?? form.querySelector<HTMLElement>('[data-whole]'))?.focus();
}

/** Reports whether an element is in the scrolled part of its page, above the bar at the bottom. */
function isOnScreen(element: Element | null | undefined): boolean {
  const [box, view] = [element, element?.closest('main')].map((each) => each?.getBoundingClientRect());
  return box !== undefined && view !== undefined && box.top >= view.top && box.bottom <= view.bottom - BAR_PX;
}

/** The ping URL of a new heartbeat monitor. */
function NewHeartbeat({ monitor }: { monitor: Schemas['MonitorDetail'] }) {
  const { token } = monitor.check_spec.heartbeat ?? {};
  const heading = useRef<HTMLHeadingElement>(null);
  useArrival(heading);
  return (
    <Card>
      <h2 ref={heading} class="heading text-base">
        Waiting for the first ping of {monitor.name}
      </h2>
      <p class="mb-4 mt-1 text-sm text-soft">Call this URL when the job is done. You’re alerted if no ping arrives.</p>
      {token !== undefined && <PingUrl token={token} />}
      <ButtonLink href={`/monitors/${monitor.id}`} tone="primary" class="mt-5">
        View monitor
      </ButtonLink>
    </Card>
  );
}

/** The ping URL of a heartbeat monitor, and commands that call it. */
function PingUrl({ token }: { token: string }) {
  const url = `${INSTALLATION_URL}/ping/${token}`;
  const curl = 'curl -fsS -m 10 --retry 5';
  return (
    <div class="flex min-w-0 flex-col gap-4 text-sm">
      <div>
        <p class="mb-1 font-medium">Ping URL</p>
        <CopyText label="Ping URL" text={url} />
        <PingLoopbackHint url={url} />
        <p class="mt-1 text-[0.8125rem] text-soft">
          Keep it private: anyone with it can ping. GET, HEAD and POST work.
        </p>
      </div>
      <div>
        <p class="mb-1 font-medium">Ping after success</p>
        <CopyText label="Command for success" text={`your-job && ${curl} ${url}`} />
      </div>
      <div>
        <p class="mb-1 font-medium">Ping start and exit status</p>
        <CopyText
          label="Command with start and exit status"
          text={`${curl} ${url}/start; your-job; ${curl} ${url}/$?`}
        />
      </div>
    </div>
  );
}

/** A summary of the draft: when the monitor counts as down, and how soon an alert follows. */
function Meaning({ form: { draft, surroundings } }: { form: FormState }) {
  const down =
    draft.type === 'heartbeat'
      ? 'Down when a ping is missed, or at once when the job reports a failure.'
      : draft.type === 'domain'
        ? 'Degraded when expiry is near, down when it has expired.'
        : describeDown(draft, surroundings);
  const timeout = describeTimeout(draft, surroundings);
  const seconds = latestNotice(draft, surroundings);
  const locations = isAgentChecked(draft.type) ? countLocations(draft, surroundings.sharedLocations) : 1;
  return (
    <div aria-live="polite" class="rounded-xl border border-line bg-surface p-4 text-sm">
      <h2 class="heading text-sm">What this means</h2>
      <p class="mt-1.5 text-soft">{down ?? 'Not enough locations selected.'}</p>
      {seconds !== null && (
        <p class="mt-1.5 text-soft">
          {draft.type === 'heartbeat' ? 'A missed run is detected ' : 'An outage is detected '}
          <span class="font-medium text-ink">
            {draft.type === 'heartbeat'
              ? `${sayDuration(seconds)} after ${draft.heartbeat.cron.trim() === '' ? 'its last ping' : 'it was due'}`
              : `after ${sayDuration(seconds)} at the latest`}
          </span>
          .
        </p>
      )}
      {timeout !== null && <p class="mt-1.5 text-soft">{timeout}</p>}
      {locations === 0 && <p class="mt-1.5 text-degraded">No location checks it yet: select one of your agents.</p>}
    </div>
  );
}
