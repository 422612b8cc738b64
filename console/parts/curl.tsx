import { useSignal } from '@preact/signals';
import { INSTALLATION_URL } from '../client/base-path.ts';
import { curlOf, SECRET_PLACEHOLDER, type ApiRequest } from '../client/curl.ts';
import { Button } from './button.tsx';
import { CopyText } from './copy.tsx';
import { Dialog } from './dialog.tsx';

/** A button that shows what a form would send as a command; `request` is called when it is pressed. */
export function CurlButton({ request }: { request: () => ApiRequest }) {
  const command = useSignal<string | null>(null);
  return (
    <>
      <Button
        tone="quiet"
        icon="copy"
        title="Copy as curl"
        onClick={() => (command.value = curlOf(request(), INSTALLATION_URL))}
        class="md:ml-auto"
      >
        {/* On a phone it would take a line of its own in the bar that stays visible. */}
        <span class="sr-only sm:not-sr-only">Copy as curl</span>
      </Button>
      {command.value !== null && (
        <Dialog title="Copy as curl" wide onClose={() => (command.value = null)}>
          <div class="flex flex-col gap-3 text-sm">
            <p class="text-soft">
              Set <code class="font-mono">SPOTCHECK_TOKEN</code> to an{' '}
              <a href="/settings/tokens" class="underline underline-offset-2 hover:text-ink">
                API token
              </a>{' '}
              with write access.
              {command.value.includes(SECRET_PLACEHOLDER) && (
                <>
                  {' Replace '}
                  <code class="font-mono">{SECRET_PLACEHOLDER}</code> with your secrets.
                </>
              )}
            </p>
            <CopyText label="Command" text={command.value} />
          </div>
        </Dialog>
      )}
    </>
  );
}
