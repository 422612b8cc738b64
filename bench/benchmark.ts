import type { Report } from './report.ts';
import type { WithStand } from './stand/stand.ts';

/** One benchmark: prints figures, never fails for them. `isQuick` trades exactness for time. */
export type Benchmark = (context: BenchContext) => Promise<void>;

export type BenchContext = { isQuick: boolean; report: Report; withStand: WithStand };
