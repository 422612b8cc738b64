import type { Schemas } from '../client/api.ts';
import type { Defaults, Surroundings } from './monitor-defaults.ts';
import type { Draft } from './monitor-draft.ts';
import type { Problems } from './problems.ts';

/** What the parts of the form work on: the draft, what its empty fields stand for, and what is wrong. */
export type FormState = {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  defaults: Defaults;
  surroundings: Surroundings;
  /** What is wrong with a field, by the API's name of it. */
  problem: (field: string) => string | undefined;
  problems: Problems;
  agents: readonly Schemas['Agent'][];
  /** Those that go by an id, by name. */
  vendors: readonly Schemas['Vendor'][];
  /** The monitor as it was read; null while a new one is made. */
  monitor: Schemas['MonitorDetail'] | null;
};
