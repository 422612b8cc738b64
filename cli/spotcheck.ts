import '../config/thread-pool.ts';
import { Command, CommanderError, Help } from 'commander';
import { describeFailure } from '../config/failures.ts';
import packageJson from '../package.json' with { type: 'json' };
import { addCommands } from './command-line.ts';
import { UsageError, write } from './output.ts';

/** Exit status: 0 done, 1 refused with one line on standard error, 2 wrong usage. */
async function main(): Promise<number> {
  const program = new Command('spotcheck')
    .description(packageJson.description)
    .version(packageJson.version)
    .showHelpAfterError()
    .configureOutput({ writeOut: write })
    .exitOverride();
  program.configureHelp({ visibleCommands: listCommands, subcommandTerm: describeUsage });
  addCommands(program);
  for (const command of program.commands) inheritExit(command);
  try {
    await program.parseAsync();
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    process.stderr.write(`${describeFailure(error)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

/** Lists the commands themselves in the help, where Commander would stop at their groups. */
function listCommands(command: Command): Command[] {
  return new Help()
    .visibleCommands(command)
    .flatMap((inner) => (inner.commands.length === 0 ? [inner] : inner.commands));
}

function describeUsage(command: Command): string {
  const group = command.parent?.parent ? `${command.parent.name()} ` : '';
  return group + new Help().subcommandTerm(command);
}

/** Keeps Commander from ending the process, which must be set for every command. */
function inheritExit(command: Command): void {
  command.exitOverride().showHelpAfterError();
  for (const inner of command.commands) inheritExit(inner);
}

process.exitCode = await main();
