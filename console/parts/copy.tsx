import { useSignal, type ReadonlySignal } from '@preact/signals';
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Button } from './button.tsx';

/** How long "Copied" is shown, in milliseconds. */
const SAID_MS = 2000;

/** Copies a text; `box` is its element, which is selected if there is no clipboard. */
export type Copying<E extends HTMLElement> = {
  box: RefObject<E | null>;
  isCopied: ReadonlySignal<boolean>;
  copy: () => void;
};

/** Copies a text to the clipboard, and tells for two seconds that it did. */
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
      // The clipboard needs https and may be forbidden: then select the text, to be copied by hand.
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

/** Warns below a link that leads each computer to itself; its content says who cannot use it, and the remedy. */
export function LoopbackHint({ url, children }: { url: string; children: ComponentChildren }) {
  const { hostname } = new URL(url);
  const isLoopback = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  return isLoopback ? <p class="text-sm text-degraded">{children}</p> : null;
}

/** Warns below the ping URL of a heartbeat monitor that only jobs on this computer can call it. */
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
