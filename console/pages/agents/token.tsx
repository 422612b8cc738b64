import { CopyText } from '../../parts/copy.tsx';
import { Icon } from '../../parts/icon.tsx';

/** What starts an agent, the one time that it can be seen: its token is in it. */
export function AgentCommand({ command, token }: { command: string; token: string }) {
  return (
    <div class="flex flex-col gap-5">
      <p class="flex gap-2 rounded-md bg-degraded-tint px-3 py-2 text-sm text-degraded">
        <Icon name="key" class="mt-0.5 size-4" />
        <span>The token is shown now and never again. One token is for one agent.</span>
      </p>
      <div>
        <h3 class="heading mb-1 text-sm">Start it</h3>
        <p class="mb-2 text-sm text-soft">
          On the machine that is to check, in a copy of Spotcheck, after <code class="font-mono">npm ci</code> once. It
          needs no open port: it calls here.
        </p>
        <CopyText text={command} label="Install command" />
      </div>
      <div>
        <h3 class="heading mb-2 text-sm">Its token</h3>
        <CopyText text={token} label="Token" />
      </div>
    </div>
  );
}
