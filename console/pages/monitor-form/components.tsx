import { useSignal } from '@preact/signals';
import { useEffect, useId, useRef } from 'preact/hooks';
import { sentenceOf } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { Button } from '../../parts/button.tsx';
import { TextField } from '../../parts/field.tsx';
import type { Status } from '../../parts/monitors.ts';
import { StatusMark } from '../../parts/status.tsx';
import { isWatched, unlisted, withComponent } from './draft.ts';
import { FieldProblem, TextList } from './fields.tsx';
import type { FormState } from './problems.ts';

type Component = Schemas['VendorComponent'];

/** Our status and label for each state of a vendor's component. */
const STATES = {
  operational: { status: 'up', label: 'Operational' },
  maintenance: { status: 'degraded', label: 'Under maintenance' },
  degraded: { status: 'degraded', label: 'Degraded performance' },
  partial: { status: 'degraded', label: 'Partial outage' },
  major: { status: 'down', label: 'Major outage' },
} as const satisfies Record<Component['state'], { status: Status; label: string }>;

/** Number of components from which there is a search field. */
const SEARCHED_FROM = 10;

/** Chooses the components of a vendor: from the list of its page, or as text if there is no list. */
export function Components({ form }: { form: FormState }) {
  const { draft, change, vendors, monitor } = form;
  const target = draft.target.trim();
  // Other pages are read by a button, not at every letter of their URL.
  const isKnown =
    vendors.some(({ id }) => id === target.toLowerCase()) || (target !== '' && target === monitor?.target);
  const current = useRef(new AbortController());
  const page = useSignal<Schemas['VendorPage'] | null>(null);
  const failure = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  const read = async () => {
    const { signal } = current.current;
    isBusy.value = true;
    try {
      const answer = await api.get('/vendors/components', { query: { target }, signal });
      if (signal.aborted) return;
      page.value = answer;
      failure.value = answer.failure;
    } catch (error) {
      if (signal.aborted) return;
      failure.value = sentenceOf(error);
    }
    isBusy.value = false;
  };
  useEffect(() => {
    page.value = null;
    failure.value = null;
    isBusy.value = false;
    const controller = new AbortController();
    current.current = controller;
    if (isKnown) void read();
    return () => controller.abort();
  }, [target, isKnown]);
  const listed = page.value?.lists === 'all' ? page.value.components : [];
  if (page.value?.lists === 'none')
    return <p class="text-sm text-soft">Azure’s feed lists no components: all of Azure is monitored.</p>;
  return (
    <div class="flex flex-col gap-3" aria-busy={isBusy.value}>
      {listed.length > 0 && <ComponentChoice form={form} listed={listed} />}
      {listed.length === 0 && <WrittenComponents form={form} />}
      {listed.length > 0 &&
        unlisted(draft.components, listed).map((text) => (
          <Unlisted
            key={text}
            text={text}
            onRemove={() => change({ components: draft.components.filter((each) => each !== text) })}
          />
        ))}
      <p role="status" class="text-[0.8125rem] leading-5 text-soft empty:hidden">
        {isBusy.value
          ? 'Loading components'
          : failure.value === null
            ? null
            : `${failure.value}. You can still enter components.`}
      </p>
      {target.includes('://') && listed.length === 0 && (
        <Button size="small" class="self-start" busy={isBusy.value} onClick={() => void read()}>
          Load components
        </Button>
      )}
    </div>
  );
}

function ComponentChoice({
  form: { draft, change, problem },
  listed,
}: {
  form: FormState;
  listed: readonly Component[];
}) {
  const id = useId();
  const sought = useSignal('');
  const wanted = sought.value.trim().toLowerCase();
  const shown = listed.filter(
    (component) => component.name.toLowerCase().includes(wanted) || isWatched(component, draft.components),
  );
  return (
    <fieldset aria-describedby={id} class="min-w-0">
      <legend class="text-sm font-medium">Components</legend>
      <div id={id} class="text-[0.8125rem] leading-5 text-soft">
        {draft.components.length === 0 ? 'None selected: all components count.' : 'Only selected components count.'}
      </div>
      <FieldProblem text={problem('components')} />
      {listed.length >= SEARCHED_FROM && (
        <TextField
          label="Search components"
          hideLabel
          value={sought.value}
          placeholder={`Search ${listed.length} components`}
          autocomplete="off"
          spellcheck={false}
          class="mt-1.5"
          onValue={(text) => (sought.value = text)}
        />
      )}
      <ul class="mt-1.5 max-h-72 overflow-y-auto rounded-md border border-line" tabIndex={-1}>
        {shown.map((component) => (
          <li key={component.id} class="border-b border-line last:border-b-0">
            <label class="flex min-h-9 items-center gap-2.5 px-3 py-1.5 text-sm hover:bg-hover">
              <input
                type="checkbox"
                class="size-[1.125rem] shrink-0 accent-accent"
                checked={isWatched(component, draft.components)}
                onChange={(event) =>
                  change({
                    components: withComponent(component, {
                      listed,
                      watched: draft.components,
                      isOn: event.currentTarget.checked,
                    }),
                  })
                }
              />
              <span class="min-w-0 flex-1 break-words">{component.name}</span>
              <State state={component.state} />
            </label>
          </li>
        ))}
        {shown.length === 0 && <li class="px-3 py-2 text-sm text-soft">No components match.</li>}
      </ul>
    </fieldset>
  );
}

function State({ state }: { state: Component['state'] }) {
  const { status, label } = STATES[state];
  return (
    <span class="flex shrink-0 items-center gap-1.5 text-[0.8125rem] text-soft">
      <StatusMark status={status} silent />
      {label}
    </span>
  );
}

/** A watched component that the page does not list, such as a renamed one; the user decides whether to keep it. */
function Unlisted({ text, onRemove }: { text: string; onRemove: () => void }) {
  return (
    <p class="flex flex-wrap items-center gap-2 text-sm">
      <span class="text-degraded">{text} isn’t on the status page anymore.</span>
      <Button size="small" onClick={onRemove}>
        Remove
      </Button>
    </p>
  );
}

function WrittenComponents({ form: { draft, change, problem } }: { form: FormState }) {
  const isAws = draft.target.toLowerCase() === 'aws';
  return (
    <TextList
      label="Components"
      item="Component"
      values={draft.components}
      onValues={(components) => change({ components })}
      placeholder={isAws ? 'ec2:us-east-1' : 'Actions'}
      hint={
        isAws
          ? 'At least one service:region, like ec2:us-east-1 or cloudfront:global.'
          : 'Names from the status page. Leave empty to count all components.'
      }
      error={problem('components')}
    />
  );
}
