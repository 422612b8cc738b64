import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { isAgentChecked } from '../../../core/monitors/monitor.ts';
import { api } from '../../client/api.ts';
import type { Schemas } from '../../client/shapes.ts';
import { useAction } from '../../parts/action.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { CopyText } from '../../parts/copy.tsx';
import { confirm } from '../../parts/dialog.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Card, useWide } from '../../parts/page.tsx';
import { useLeaveGuard } from '../../parts/shown-once.tsx';
import { toast } from '../../parts/toast.tsx';
import { PATHS } from '../../paths.ts';
import { navigate } from '../../shell/router.ts';
import { Basics, TypeChooser } from './basics.tsx';
import { createBody, isChanged, patchBody } from './body.ts';
import { type FormState, defaultsOf, type Surroundings, countLocations } from './defaults.ts';
import type { Draft } from './draft.ts';
import { Dependencies, Judgement, Locations } from './judgement.tsx';
import { PreviewCard } from './preview-card.tsx';
import { findHeaderProblems, NO_PROBLEMS, problemsOf, type Problems } from './problems.ts';
import { suggestName, describeDown, latestNotice, sayDuration } from './sentences.ts';
import { TypeFields } from './type-fields.tsx';
import { ChangedElsewhere, useMonitorDraft } from './use-monitor-draft.tsx';

type Props = { original: Draft; surroundings: Surroundings; monitor: Schemas['MonitorDetail'] | null } & Pick<
  FormState,
  'agents' | 'vendors'
>;

/** The form of a new or existing monitor. */
export function MonitorForm({ original, surroundings, monitor, agents, vendors }: Props) {
  const { draft, base, elsewhere, save: saveUnlessChanged } = useMonitorDraft({ original, monitor, surroundings });
  const first = base.value.draft;
  const problems = useSignal<Problems>(NO_PROBLEMS);
  const action = useAction((failure) => (problems.value = problemsOf(failure, draft.value)));
  const isSaved = useSignal(false);
  const isWide = useWide();
  const made = useSignal<Schemas['MonitorDetail'] | null>(null);
  const box = useRef<HTMLFormElement>(null);
  useUnsaved(!isSaved.value && isChanged(draft.value, first), () => isSaved.peek());
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
    monitor,
  };
  const create = async () => {
    const name = draft.value.name.trim() === '' ? suggestName(draft.value, vendors) : draft.value.name.trim();
    const { type, target } = draft.value;
    const { id } = await api.post('/monitors', { body: createBody({ ...draft.value, name }) });
    isSaved.value = true;
    // The monitor exists: a later failure must not look as if it did not.
    if (type === 'heartbeat') made.value = await api.get('/monitors/{id}', { path: { id } }).catch(() => null);
    if (made.value === null)
      leave(id, target.trim() === '' ? `${name} is saved as a draft` : `${name} is watched from now on`);
  };
  const change = async (id: string) => {
    const isStored = await saveUnlessChanged(async () => {
      const { draft: from, version } = base.peek();
      const body = patchBody(draft.value, { original: from, surroundings });
      await api.patch('/monitors/{id}', {
        path: { id },
        body: { ...body, ...(version !== null && { if_settings_version: version }) },
      });
    });
    if (!isStored) return;
    isSaved.value = true;
    leave(id, 'Saved');
  };
  const save = async () => {
    if (action.isBusy.peek()) return;
    const own = draft.value.type === 'http' ? findHeaderProblems(draft.value.request.headers) : {};
    problems.value = { byField: own, rest: [] };
    if (Object.keys(own).length > 0) return;
    await action.run(() => (monitor === null ? create() : change(monitor.id)));
  };
  if (made.value !== null) return <NewHeartbeat monitor={made.value} />;
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
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void save();
      }}
    >
      <div class="flex min-w-0 flex-col gap-6">
        <WholeProblem problems={problems.value} />
        <ChangedElsewhere elsewhere={elsewhere.value} />
        {token !== undefined && (
          <Card>
            <PingAddress token={token} />
          </Card>
        )}
        {monitor === null && <TypeChooser type={type} onType={(chosen) => form.change({ type: chosen })} />}
        <Basics form={form} />
        <div>
          <TypeFields form={form} />
          {type === 'http' || type === 'tcp' || type === 'icmp' || type === 'udp' ? <Locations form={form} /> : null}
          <Judgement form={form} />
          <Dependencies form={form} />
        </div>
        <PreviewCard form={form} original={first} onProblems={(found) => (problems.value = found)} />
        <div class="lg:hidden">
          <Meaning form={form} />
        </div>
        <div
          class="
          sticky bottom-0 z-10 -mx-4 flex flex-wrap items-center gap-2 border-t border-line bg-paper px-4 py-3 md:-mx-2
          md:px-2 [@media(height<32rem)]:static
        "
        >
          <Button type="submit" tone="primary" busy={action.isBusy.value}>
            {monitor === null ? 'Create monitor' : 'Save changes'}
          </Button>
          <ButtonLink href={monitor === null ? PATHS.monitors : `/monitors/${monitor.id}`} tone="quiet">
            Cancel
          </ButtonLink>
        </div>
      </div>
      <aside class="sticky top-6 hidden flex-col gap-4 self-start lg:flex">
        <Meaning form={form} />
      </aside>
    </form>
  );
}

function leave(id: string, text: string): void {
  toast(text);
  navigate(`/monitors/${id}`, { replace: true });
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
        {fields > 0 && <p>{fields === 1 ? 'One field needs another look.' : `${fields} fields need another look.`}</p>}
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

/** The ping address of a new heartbeat monitor. */
function NewHeartbeat({ monitor }: { monitor: Schemas['MonitorDetail'] }) {
  const { token } = monitor.check_spec.heartbeat ?? {};
  return (
    <Card>
      <h2 class="heading text-base">{monitor.name} waits for its first ping</h2>
      <p class="mb-4 mt-1 text-sm text-soft">
        Let the job call this address when it is done. If it never does, you will be notified of that, too.
      </p>
      {token !== undefined && <PingAddress token={token} />}
      <ButtonLink href={`/monitors/${monitor.id}`} tone="primary" class="mt-5">
        Go to the monitor
      </ButtonLink>
    </Card>
  );
}

/**
 * Asks before leaving with unsaved changes. `isSaved` is called at that moment, since a save may not be rendered yet.
 */
function useUnsaved(isUnsaved: boolean, isSaved: () => boolean): void {
  useLeaveGuard({
    isNeeded: isUnsaved,
    isFree: isSaved,
    ask: () =>
      confirm({ title: 'Leave without saving?', text: 'What you have filled in here will be gone.', action: 'Leave' }),
  });
}

/** The ping address of a heartbeat monitor, and commands that call it. */
function PingAddress({ token }: { token: string }) {
  const url = `${window.location.origin}/ping/${token}`;
  const curl = 'curl -fsS -m 10 --retry 5';
  return (
    <div class="flex min-w-0 flex-col gap-4 text-sm">
      <div>
        <p class="mb-1 font-medium">Ping address</p>
        <CopyText label="Ping address" text={url} />
        <p class="mt-1 text-[0.8125rem] text-soft">
          It is enough to ping: treat it as a password. GET, HEAD and POST all count.
        </p>
      </div>
      <div>
        <p class="mb-1 font-medium">At the end of a job, where only success counts</p>
        <CopyText label="Command for success" text={`your-job && ${curl} ${url}`} />
      </div>
      <div>
        <p class="mb-1 font-medium">With its start and its exit status</p>
        <CopyText
          label="Command with start and exit status"
          text={`${curl} ${url}/start; your-job; ${curl} ${url}/$?`}
        />
      </div>
    </div>
  );
}

/** A summary of the draft: when the monitor is down, and how soon that is known. */
function Meaning({ form: { draft, surroundings } }: { form: FormState }) {
  const down =
    draft.type === 'heartbeat'
      ? 'Down when a ping is missed, or at once when the job says it failed.'
      : draft.type === 'domain'
        ? 'Degraded once the days of warning begin, down when it has expired.'
        : describeDown(draft, surroundings);
  const seconds = latestNotice(draft, surroundings);
  const locations = isAgentChecked(draft.type) ? countLocations(draft, surroundings.sharedLocations) : 1;
  return (
    <div aria-live="polite" class="rounded-xl border border-line bg-surface p-4 text-sm">
      <h2 class="heading text-sm">What this means</h2>
      <p class="mt-1.5 text-soft">{down ?? 'That many locations do not check it.'}</p>
      {seconds !== null && (
        <p class="mt-1.5 text-soft">
          {draft.type === 'heartbeat' ? 'A job that does not run is known ' : 'An outage is known '}
          <span class="font-medium text-ink">
            {draft.type === 'heartbeat'
              ? `${sayDuration(seconds)} after its last ping`
              : `after ${sayDuration(seconds)} at the latest`}
          </span>
          .
        </p>
      )}
      {locations === 0 && (
        <p class="mt-1.5 text-degraded">
          No place checks it yet: there is no shared agent, and none of yours is ticked.
        </p>
      )}
    </div>
  );
}
