import { useSignal } from '@preact/signals';
import { useId, useRef } from 'preact/hooks';
import { sortTags, splitTags } from '../../../core/monitors/monitor.ts';
import type { Monitor, Schemas } from '../../client/api.ts';
import { monitors } from '../../client/live.ts';
import { CheckField } from '../../parts/choice-fields.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { judgeTags } from '../../parts/monitors.ts';
import { StatusMark } from '../../parts/status.tsx';

/** Most monitors that are listed; the search finds the others. */
const SHOWN = 100;

/** Finds the monitors whose name or target contains all words of a text. */
function findMonitors(text: string): readonly Monitor[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (monitors.value ?? []).filter(({ name, target }) =>
    words.every((word) => `${name} ${target}`.toLowerCase().includes(word)),
  );
}

type MonitorDialogProps = {
  onClose: () => void;
  onChosen: (id: string) => void;
  title?: string;
  /** The effect of the choice. */
  text?: string;
  isOffered?: (monitor: Monitor) => boolean;
  error?: string | null;
};

/** A dialog that chooses one monitor. */
export function MonitorDialog({
  onClose,
  onChosen,
  title = 'Choose a monitor',
  text: about,
  isOffered = () => true,
  error = null,
}: MonitorDialogProps) {
  const text = useSignal('');
  const found = findMonitors(text.value).filter(isOffered);
  return (
    <Dialog title={title} onClose={onClose}>
      {about !== undefined && <p class="mb-3 text-sm">{about}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (found[0] !== undefined) onChosen(found[0].id);
        }}
      >
        <TextField
          label="Search"
          hideLabel
          placeholder="Name or URL"
          autofocus
          value={text.value}
          onValue={(value) => (text.value = value)}
          error={error}
        />
      </form>
      <ul class="mt-2 max-h-80 overflow-y-auto">
        {found.slice(0, SHOWN).map((monitor) => (
          <li key={monitor.id}>
            <button
              type="button"
              onClick={() => onChosen(monitor.id)}
              class="
                flex w-full items-center gap-2.5 rounded-md px-2 py-1.5 text-left text-sm hover:bg-hover
                focus-visible:-outline-offset-2
              "
            >
              <StatusMark status={monitor.status} />
              <span class="clipped max-w-[60%] shrink-0">{monitor.name}</span>
              <span class="clipped ml-auto text-xs text-soft">{monitor.target}</span>
            </button>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="px-2 py-3 text-sm text-soft">{whyNone()}</p>}
      <Beyond found={found.length} />
    </Dialog>
  );
}

/** A list of monitors with checkboxes; initially checked ones come first. */
function MonitorTicks({
  chosen,
  none,
  onChosen,
  error,
}: {
  chosen: readonly string[];
  /** The effect of choosing none. */
  none: string;
  onChosen: (ids: string[]) => void;
  error?: string | null | undefined;
}) {
  const text = useSignal('');
  const first = useRef(new Set(chosen)).current;
  const ids = new Set(chosen);
  const found = findMonitors(text.value).toSorted((a, b) => Number(first.has(b.id)) - Number(first.has(a.id)));
  const toggle = (id: string, isTicked: boolean) =>
    onChosen(isTicked ? [...chosen, id] : chosen.filter((each) => each !== id));
  return (
    <div>
      <TextField
        label="Search monitors"
        hideLabel
        placeholder="Name or URL"
        value={text.value}
        onValue={(value) => (text.value = value)}
        error={error}
      />
      <ul aria-label="Monitors" class="mt-2 max-h-64 overflow-y-auto rounded-md border border-line">
        {found.slice(0, SHOWN).map((monitor) => (
          <li key={monitor.id}>
            <label class="flex items-center gap-2.5 px-2.5 py-1.5 text-sm hover:bg-hover">
              <input
                type="checkbox"
                checked={ids.has(monitor.id)}
                onChange={(event) => toggle(monitor.id, event.currentTarget.checked)}
                class="size-4 shrink-0 accent-accent"
              />
              <span class="clipped max-w-[60%] shrink-0">{monitor.name}</span>
              <span class="clipped ml-auto text-xs text-soft">{monitor.target}</span>
            </label>
          </li>
        ))}
        {found.length === 0 && <li class="px-2.5 py-3 text-sm text-soft">{whyNone()}</li>}
      </ul>
      <Beyond found={found.length} />
      <p class="mt-1 text-[0.8125rem] text-soft" role="status">
        {ids.size === 0 && none !== '' ? `No monitors selected${none}` : `${ids.size} selected.`}
      </p>
    </div>
  );
}

function whyNone(): string {
  const { value: all } = monitors;
  if (all === null) return 'Loading monitors…';
  return all.length === 0 ? 'No monitors yet.' : 'No monitors match.';
}

function Beyond({ found }: { found: number }) {
  return found > SHOWN ? (
    <p class="mt-1 text-[0.8125rem] text-soft">{found - SHOWN} more. Search to find them.</p>
  ) : null;
}

/** Monitors whose alerts a channel receives: all, or those of `ids` and those with any, or all, of the tags. */
export type Route = { all: boolean; ids: readonly string[]; tags: string; needsAllTags: boolean };

/** Returns the route of a channel as it is stored. */
export function routeOf({ all_monitors: all, monitor_ids: ids, monitor_tags: tags }: Schemas['Channel']): Route {
  return { all, ids, tags: (tags?.any ?? tags?.all ?? []).join(', '), needsAllTags: tags?.all !== undefined };
}

/** Finds the errors of a route, by the field of the API. */
export function judgeRoute({ all, tags }: Route): { monitor_tags?: string | undefined } {
  return all ? {} : { monitor_tags: judgeTags(tags) };
}

/** Returns the tags that a channel is routed by, in words; empty without any. */
export function describeTags({ monitor_tags: tags }: Schemas['Channel']): string {
  return (tags?.any ?? tags?.all ?? []).join(tags?.all === undefined ? ' or ' : ' and ');
}

/** Converts a route to fields of the API. */
export function routeBody({ all, ids, tags, needsAllTags }: Route): Partial<Schemas['ChannelCreate']> {
  const listed = sortTags(splitTags(tags));
  const wanted = needsAllTags ? { all: listed } : { any: listed };
  return {
    all_monitors: all,
    ...(!all && { monitor_ids: [...ids], monitor_tags: listed.length === 0 ? null : wanted }),
  };
}

type RoutingProps = {
  route: Route;
  onRoute: (route: Route) => void;
  error?: string | null | undefined;
  tagError?: string | null | undefined;
  legend?: string;
  none?: string;
  /** Whether the choice can be limited to monitors with all of the tags. */
  canNeedAllTags?: boolean;
};

/**
 * Chooses the monitors whose alerts a channel receives, or those of another object; `none` follows "No monitors
 * selected".
 */
export function Routing({
  route,
  onRoute,
  error,
  tagError,
  legend = 'Send alerts for',
  none = ': no alerts will be sent.',
  canNeedAllTags = true,
}: RoutingProps) {
  const name = useId();
  return (
    <fieldset class="flex flex-col gap-2">
      <legend class="mb-1 text-sm font-medium">{legend}</legend>
      <Radio
        name={name}
        label="All monitors"
        hint="Including monitors you add later."
        checked={route.all}
        onChecked={() => onRoute({ ...route, all: true })}
      />
      <Radio
        name={name}
        label="Chosen monitors"
        checked={!route.all}
        onChecked={() => onRoute({ ...route, all: false })}
      />
      {!route.all && (
        <div class="flex flex-col gap-4 pl-7">
          <MonitorTicks
            chosen={route.ids}
            none={splitTags(route.tags).length > 0 ? '' : none}
            onChosen={(ids) => onRoute({ ...route, ids })}
            error={error}
          />
          <TextField
            label="And monitors with tags"
            value={route.tags}
            placeholder="env:prod, payments"
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            hint="Including monitors that get these tags later."
            error={tagError}
            onValue={(tags) => onRoute({ ...route, tags })}
          />
          {canNeedAllTags && splitTags(route.tags).length > 1 && (
            <CheckField
              label="Only monitors with all of these tags"
              checked={route.needsAllTags}
              onChecked={(needsAllTags) => onRoute({ ...route, needsAllTags })}
            />
          )}
        </div>
      )}
    </fieldset>
  );
}

function Radio({
  name,
  label,
  hint,
  checked,
  onChecked,
}: {
  name: string;
  label: string;
  hint?: string;
  checked: boolean;
  onChecked: () => void;
}) {
  return (
    <label class="flex gap-2.5 text-sm">
      <input
        type="radio"
        name={name}
        checked={checked}
        onChange={onChecked}
        class="mt-0.5 size-[1.125rem] shrink-0 accent-accent"
      />
      <span>
        {label}
        {hint !== undefined && <span class="block text-[0.8125rem] text-soft">{hint}</span>}
      </span>
    </label>
  );
}
