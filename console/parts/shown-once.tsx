import type { ComponentChildren } from 'preact';
import { useRef, useEffect } from 'preact/hooks';
import { navigate, guardLeaving } from '../shell/router.ts';
import { Button } from './button.tsx';
import { confirm, Dialog } from './dialog.tsx';

/** The confirmation before leaving something that is shown once: `question`, `text` and the label `action`. */
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
  // The first button copies; the browser would choose the one that closes.
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

type Leaving = {
  /** Whether anything would be lost. */
  isNeeded: boolean;
  /** The confirmation; true = leave. */
  ask: () => Promise<boolean>;
  /** Called at the moment of leaving, since a save may not be rendered yet. */
  isFree: () => boolean;
};

/** Asks for confirmation before leaving while `isNeeded`: in a dialog within the console, by the browser beyond it. */
export function useLeaveGuard({ isNeeded, ask, isFree }: Leaving): void {
  const latest = useRef({ ask, isFree });
  latest.current = { ask, isFree };
  useEffect(() => {
    if (!isNeeded) return undefined;
    const stop = guardLeaving(async () => latest.current.isFree() || (await latest.current.ask()));
    const warn = (event: BeforeUnloadEvent) => {
      if (!latest.current.isFree()) event.preventDefault();
    };
    window.addEventListener('beforeunload', warn);
    return () => {
      stop();
      window.removeEventListener('beforeunload', warn);
    };
  }, [isNeeded]);
}
