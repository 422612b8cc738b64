import { count, joinWords } from '../../parts/figures.ts';
import type { Step } from './bulk-steps.ts';

type Act = Pick<Step, 'action' | 'tags'>;

/** What happens while an action is under way: `Pausing 37 monitors`. */
export function describeRunning({ action, tags }: Act, total: number): string {
  const monitors = count(total, 'monitor');
  switch (action) {
    case 'pause':
      return `Pausing ${monitors}`;
    case 'resume':
      return `Resuming ${monitors}`;
    case 'check':
      return `Starting checks of ${monitors}`;
    case 'tag':
      return `Adding ${joinWords(tags)} to ${monitors}`;
    case 'untag':
      return `Removing ${joinWords(tags)} from ${monitors}`;
    case 'delete':
      return `Deleting ${monitors}`;
  }
}

/** What an action came to: `37 monitors paused`, or `34 of 37 monitors paused`. */
export function describeDone({ action, tags }: Act, total: number, failed: number): string {
  const monitors = failed === 0 ? count(total, 'monitor') : `${total - failed} of ${count(total, 'monitor')}`;
  switch (action) {
    case 'pause':
      return `${monitors} paused`;
    case 'resume':
      return `${monitors} resumed`;
    case 'check':
      return `Checks of ${monitors} started`;
    case 'tag':
      return `${joinWords(tags)} added to ${monitors}`;
    case 'untag':
      return `${joinWords(tags)} removed from ${monitors}`;
    case 'delete':
      return `${monitors} deleted`;
  }
}
