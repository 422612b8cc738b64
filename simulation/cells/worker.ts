import { parentPort, workerData } from 'node:worker_threads';
import { SimulatedCell, type CellFigures, type CellSettings, type RunTimes } from './cell.ts';
import type { Leaving } from './moved-account.ts';

export type ToCell = { kind: 'run'; times: RunTimes } | { kind: 'arriving'; leaving: Leaving };
export type FromCell =
  | { kind: 'ready' }
  | { kind: 'leaving'; leaving: Leaving }
  | { kind: 'done'; figures: CellFigures };

const cell = new SimulatedCell(workerData as CellSettings);
const say = (message: FromCell): void => parentPort?.postMessage(message, []);

parentPort?.on('message', (message: ToCell) => {
  if (message.kind === 'run') void run(message.times);
  else if (message.leaving.kind === 'schedule') cell.takeSchedule(message.leaving);
  else cell.takeStates(message.leaving);
});
say({ kind: 'ready' });

async function run(times: RunTimes): Promise<void> {
  const figures = await cell.run(times, (leaving) => say({ kind: 'leaving', leaving }));
  say({ kind: 'done', figures });
  parentPort?.close();
}
