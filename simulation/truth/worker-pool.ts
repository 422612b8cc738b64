import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Cell } from './cell.ts';
import type { Score } from './score.ts';

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url));

/**
 * Simulates cells on all processors and returns their scores in order; `onDone` is called with the number that are
 * done.
 */
export async function simulateCells(cells: readonly Cell[], onDone: (done: number) => void): Promise<Score[]> {
  const scores: Score[] = [];
  let taken = 0;
  let done = 0;
  const work = async (): Promise<void> => {
    const worker = fork(WORKER);
    const failed = once(worker, 'exit').then(([status]) => {
      throw new Error(`a worker ended with status ${status}`);
    });
    for (let cell = cells[taken]; cell !== undefined; cell = cells[taken]) {
      const index = taken;
      taken += 1;
      worker.send(cell);
      const [score]: Score[] = await Promise.race([once(worker, 'message'), failed]);
      if (score !== undefined) scores[index] = score;
      onDone((done += 1));
    }
    failed.catch(() => undefined);
    worker.disconnect();
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return scores;
}
