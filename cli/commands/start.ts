import type { Command } from 'commander';
import type { Environment } from '../../config/environment.ts';
import { startService, type RunningService } from '../start.ts';

/** Adds `start`: the whole service in one process, until a signal ends it. */
export function addStartCommand(program: Command, readEnvironment: () => Environment): void {
  program
    .command('start')
    .description('run the whole service in this process')
    .action(async () => {
      const say = (text: string) => void process.stdout.write(`${text}\n`);
      const stopping = stopOnSignals(say);
      const service = await startService(readEnvironment(), say);
      greet(service, say);
      await stopping;
      say('Stopping: finishing what is under way (press Ctrl-C again to leave at once)');
      await service.stop();
      say('Stopped');
      process.exit(0);
    });
}

function greet({ url, firstStart }: RunningService, say: (text: string) => void): void {
  if (firstStart !== null) {
    say('');
    say('This is the first start. Keep these, they are not shown again:');
    say(`  API token   ${firstStart.token}`);
    say(`  Console     ${firstStart.email}, password ${firstStart.password}`);
    say('');
  }
  say(`Spotcheck is ready at ${url}`);
}

/** Resolves with the first signal; a second one ends the process where it stands, and the next start mends what that leaves. */
function stopOnSignals(say: (text: string) => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let asked = false;
  const onSignal = () => {
    if (asked) {
      say('Left at once');
      process.exit(1);
    }
    asked = true;
    resolve();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return promise;
}
