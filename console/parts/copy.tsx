import { useSignal, type ReadonlySignal } from '@preact/signals';
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { INSTALLATION_URL } from '../client/base-path.ts';
import { SECRET_PLACEHOLDER, curlOf, type ApiRequest } from '../client/curl.ts';
import { navigate } from '../shell/router.ts';
import { Button } from './button.tsx';
import { Dialog, confirm, useLeaveGuard } from './dialog.tsx';

/** Time for which "Copied" is shown, in milliseconds. */
const SAID_MS = 2000;

/** State of a copy button. `box` is the element of the text, which is selected if there is no clipboard. */
type Copying<E extends HTMLElement> = {
  box: RefObject<E | null>;
  isCopied: ReadonlySignal<boolean>;
  copy: () => void;
};

/** Copies a text to the clipboard, and confirms it for two seconds. */
export function useCopy<E extends HTMLElement>(text: string): Copying<E> {
  const box = useRef<E>(null);
  const isCopied = useSignal(false);
  useEffect(() => {
    isCopied.value = false;
  }, [text]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // The clipboard needs https and may be forbidden: then the text is selected, to be copied by hand.
      if (box.current !== null) window.getSelection()?.selectAllChildren(box.current);
      return;
    }
    isCopied.value = true;
    setTimeout(() => {
      isCopied.value = false;
    }, SAID_MS);
  };
  return { box, isCopied, copy: () => void copy() };
}

/** The button that copies. */
export function CopyButton({
  copying: { isCopied, copy },
  ...style
}: {
  copying: Pick<Copying<HTMLElement>, 'isCopied' | 'copy'>;
  size?: 'small' | 'normal';
  tone?: 'plain' | 'quiet';
  class?: string;
}) {
  return (
    <Button {...style} icon={isCopied.value ? 'check' : 'copy'} onClick={copy}>
      {isCopied.value ? 'Copied' : 'Copy'}
    </Button>
  );
}

/** Warns that a link leads each computer to itself; the content names those who cannot use it, and the remedy. */
export function LoopbackHint({ url, children }: { url: string; children: ComponentChildren }) {
  const { hostname } = new URL(url);
  const isLoopback = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  return isLoopback ? <p class="text-sm text-degraded">{children}</p> : null;
}

/** Warns below a heartbeat monitor's ping URL that only jobs on this computer can call it. */
export function PingLoopbackHint({ url }: { url: string }) {
  return (
    <LoopbackHint url={url}>
      Other computers can’t open this URL: it leads to themselves. For jobs there, replace {new URL(url).host} with an
      address they can reach.
    </LoopbackHint>
  );
}

/** A text such as a command or a token, with a button that copies it. */
export function CopyText({ text, label }: { text: string; label: string }) {
  const copying = useCopy<HTMLElement>(text);
  return (
    <div class="flex items-start gap-2">
      <code
        ref={copying.box}
        class="
          min-w-0 flex-1 select-all overflow-x-auto whitespace-pre rounded-md border border-line bg-sunken px-3 py-2
          font-mono text-[0.8125rem]
        "
        tabIndex={0}
        role="group"
        aria-label={label}
      >
        {text}
      </code>
      <CopyButton copying={copying} />
    </div>
  );
}

/** A button that shows the form's request as a command; `request` is called when it is pressed. */
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
        {/* On a phone the text would need another line in the bar that stays visible. */}
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

/** The confirmation before leaving content that is shown once: `question`, `text` and the label `action`. */
type Once = { question: string; text: string; action?: string; children: ComponentChildren };

const KEPT = 'I’ve saved it';

/**
 * Content that is shown once, with a button that confirms it was saved and leads to `href`. Leaving otherwise asks for
 * confirmation.
 */
export function ShownOnce({ question, text, action = KEPT, href, children }: Once & { href: string }) {
  const isKept = useRef(false);
  useLeaveGuard({
    isNeeded: true,
    isFree: () => isKept.current,
    ask: () => askWhetherKept({ question, text, action }),
  });
  const go = () => {
    isKept.current = true;
    navigate(href, { replace: true });
  };
  return (
    <div class="max-w-3xl">
      {children}
      <div class="mt-6">
        <Button tone="primary" onClick={go}>
          {action}
        </Button>
      </div>
    </div>
  );
}

/** Content that is shown once, in a dialog. Closing it without the button asks for confirmation. */
export function ShownOnceDialog({
  title,
  question,
  text,
  action = KEPT,
  onClose,
  children,
}: Once & { title: string; onClose: () => void }) {
  const ask = () => askWhetherKept({ question, text, action });
  const content = useRef<HTMLDivElement>(null);
  // The first button copies; the browser would focus the one that closes.
  useEffect(() => content.current?.querySelector('button')?.focus(), []);
  useLeaveGuard({ isNeeded: true, isFree: () => false, ask });
  return (
    <Dialog
      title={title}
      wide
      onClose={() => void ask().then((isKept) => isKept && onClose())}
      actions={
        <Button tone="primary" onClick={onClose}>
          {action}
        </Button>
      }
    >
      <div ref={content}>{children}</div>
    </Dialog>
  );
}

function askWhetherKept({ question, text, action }: Required<Omit<Once, 'children'>>): Promise<boolean> {
  return confirm({ title: question, text, action, tone: 'primary' });
}
