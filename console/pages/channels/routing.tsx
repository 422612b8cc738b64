import { useId } from 'preact/hooks';
import { MonitorTicks } from './monitor-choice.tsx';

/** Whose alerts a channel gets: everything's, or those of `ids`. */
export type Route = { all: boolean; ids: readonly string[] };

type RoutingProps = { route: Route; onRoute: (route: Route) => void; error?: string | null | undefined };

/** Chooses whose alerts a channel gets. */
export function Routing({ route, onRoute, error }: RoutingProps) {
  const name = useId();
  return (
    <fieldset class="flex flex-col gap-2">
      <legend class="mb-1 text-sm font-medium">Alerts of</legend>
      <Radio
        name={name}
        label="All monitors"
        hint="Also of those that you add later."
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
        <div class="pl-7">
          <MonitorTicks chosen={route.ids} onChosen={(ids) => onRoute({ all: false, ids })} error={error} />
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
