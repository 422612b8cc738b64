import { chooseSlot, startOffsetMs } from '../../core/checks/slots.ts';
import type { Random } from '../truth/random.ts';

/** Accounts of a cell, as their numbers of monitors. */
export type PlannedCell = { name: string; accounts: number[]; monitors: number };

/** Most and fewest monitors of an account, and the exponent by which larger accounts get rarer (Pareto). */
const MAX_MONITORS = 20_000;
const FEWEST_MONITORS = 20;
const TAIL = 1.2;

/**
 * Spreads accounts over cells until there are enough monitors: each account goes to the cell that has the fewest then.
 * The first account has `movingMonitors`, and is in the first cell.
 */
export function planCells(
  { cells, monitors, movingMonitors }: { cells: number; monitors: number; movingMonitors: number },
  random: Random,
): PlannedCell[] {
  const planned = Array.from({ length: cells }, (_, index): PlannedCell => {
    return {
      name: String.fromCodePoint(97 + (index % 26)).repeat(1 + Math.floor(index / 26)),
      accounts: [],
      monitors: 0,
    };
  });
  let left = monitors;
  while (left > 0) {
    const isFirst = left === monitors;
    const drawn = Math.floor(FEWEST_MONITORS * (1 - random.uniform()) ** (-1 / TAIL));
    const size = Math.min(left, isFirst ? movingMonitors : Math.min(MAX_MONITORS, drawn));
    const cell = planned.reduce((fewest, each) => (each.monitors < fewest.monitors ? each : fewest));
    cell.accounts.push(size);
    cell.monitors += size;
    left -= size;
  }
  return planned;
}

/** A monitor in a cell's schedule. */
export type Scheduled = { no: number; slot: number; offsetMs: number };

/** The slots of one agent and interval in a cell, chosen as the service chooses them. */
export class Schedule {
  readonly intervalSeconds: number;
  readonly #slots = new Map<number, Map<number, Scheduled>>();
  readonly #occupancy = new Map<number, number>();
  #lastNo = 0;

  constructor(intervalSeconds: number) {
    this.intervalSeconds = intervalSeconds;
  }

  /** Adds a monitor with the next number, to the emptiest slot or to the given one. */
  add(slot = chooseSlot(this.intervalSeconds, this.#occupancy)): Scheduled {
    this.#lastNo += 1;
    const scheduled = { no: this.#lastNo, slot, offsetMs: startOffsetMs(this.intervalSeconds, this.#lastNo) };
    const monitors = this.#slots.get(slot) ?? new Map<number, Scheduled>();
    this.#slots.set(slot, monitors.set(scheduled.no, scheduled));
    this.#occupancy.set(slot, monitors.size);
    return scheduled;
  }

  remove({ no, slot }: Scheduled): void {
    const monitors = this.#slots.get(slot);
    monitors?.delete(no);
    this.#occupancy.set(slot, monitors?.size ?? 0);
  }

  /** Returns the monitors of a slot, ordered by the moment at which they are checked. */
  listSlot(slot: number): Scheduled[] {
    return [...(this.#slots.get(slot)?.values() ?? [])].toSorted((a, b) => a.offsetMs - b.offsetMs);
  }

  /** Returns the number of monitors in each occupied slot, by slot. */
  occupancy(): ReadonlyMap<number, number> {
    return new Map([...this.#occupancy].filter(([, monitors]) => monitors > 0));
  }
}
