import { momentReader } from '../time-zones.ts';
import { measureServiceHours, readServiceHours, serviceStretches, type ServiceSla } from './service-hours.ts';
import { judgeSla, type StateHistory, type StateSeconds, type Stretch } from './sla.ts';

/** Hours to count: those of a monitor's SLA, or requested ones; without a target there is no verdict. */
export type CountedHours = Omit<ServiceSla, 'target'> & { target: number | null };

/** Figures of service hours in wire form, which reports store as is. */
export type ServiceFigures = {
  target: number | null;
  timezone: string;
  hours: string;
  exclude_maintenance: boolean;
  uptime_percent: number | null;
  met: boolean | null;
  budget: { total_seconds: number; used_seconds: number; left_seconds: number } | null;
  seconds: StateSeconds;
};

/** Maximum number of service hours whose stretches a calendar caches. */
const MAX_KEPT = 100;

/**
 * Service hours of a window `[fromMs, toMs)` (Unix milliseconds), each computed once regardless of how many monitors
 * have them.
 */
export class ServiceCalendar {
  readonly #window: { fromMs: number; toMs: number };
  readonly #stretches = new Map<string, Stretch[]>();
  readonly #readers = new Map<string, (localMs: number) => number>();

  constructor(window: { fromMs: number; toMs: number }) {
    this.#window = window;
  }

  /** Returns the stretches of valid hours; throws for invalid ones. */
  stretchesOf({ timezone, hours }: Pick<ServiceSla, 'timezone' | 'hours'>): Stretch[] {
    const key = `${timezone} ${hours}`;
    const kept = this.#stretches.get(key);
    if (kept !== undefined) return kept;
    const read = readServiceHours(hours);
    if (!read.ok) throw new Error(`these service hours ${read.problem}`);
    const stretches = serviceStretches(read.hours, this.#window, this.#momentsOf(timezone));
    if (this.#stretches.size >= MAX_KEPT) this.#stretches.clear();
    this.#stretches.set(key, stretches);
    return stretches;
  }

  #momentsOf(timezone: string): (localMs: number) => number {
    const kept = this.#readers.get(timezone);
    if (kept !== undefined) return kept;
    const reader = momentReader(timezone);
    if (this.#readers.size >= MAX_KEPT) this.#readers.clear();
    this.#readers.set(timezone, reader);
    return reader;
  }
}

/**
 * Measures how long each state lasted in the service hours of a calendar's window. `history.maintenance` is excluded
 * from the uptime: with `excludeMaintenance` it is excluded here, too, otherwise it counts as the monitor's own state.
 */
export async function measureService(
  calendar: ServiceCalendar,
  counted: Omit<ServiceSla, 'target'>,
  history: StateHistory,
): Promise<StateSeconds> {
  const maintenance = counted.excludeMaintenance ? history.maintenance : [];
  return await measureServiceHours({ ...history, maintenance }, calendar.stretchesOf(counted));
}

/** Returns the figures of service hours against their target. */
export function serviceFigures(
  { target, timezone, hours, excludeMaintenance }: CountedHours,
  seconds: StateSeconds,
): ServiceFigures {
  const { uptimePercent, slaMet, budget } = judgeSla(seconds, target);
  return {
    target,
    timezone,
    hours,
    exclude_maintenance: excludeMaintenance,
    uptime_percent: uptimePercent,
    met: slaMet,
    budget: budget && {
      total_seconds: budget.totalSeconds,
      used_seconds: budget.usedSeconds,
      left_seconds: budget.leftSeconds,
    },
    seconds,
  };
}
