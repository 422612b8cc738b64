import type { ComponentChildren } from 'preact';
import { useRef, useEffect } from 'preact/hooks';
import { navigate, askBeforeLeaving } from '../shell/router.ts';
import { Button } from './button.tsx';
import { confirm, Dialog } from './dialog.tsx';

/** What is asked of who leaves something that is shown once: `question` and `text`, with `action` for an answer. */
type Once = { question: string; text: string; action?: string; children: ComponentChildren };

const KEPT = 'I have kept it';

/**
 * Something that is shown once, and the button that says that it was kept, which leads to `href`; who leaves otherwise
 * is asked.
 */
export function Kept({ question, text, action = KEPT, href, children }: Once & { href: string }) {
  const isKept = useRef(false);
  useLeaveQuestion({
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

/**
 * The same over the page: Escape, the cross and the dark around it ask as well, for what is gone by a slip is gone for
 * good.
 */
export function KeptDialog({
  title,
  question,
  text,
  action = KEPT,
  onClose,
  children,
}: Once & { title: string; onClose: () => void }) {
  const ask = () => askWhetherKept({ question, text, action });
  useLeaveQuestion({ isNeeded: true, isFree: () => false, ask });
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
      {children}
    </Dialog>
  );
}

function askWhetherKept({ question, text, action }: Required<Omit<Once, 'children'>>): Promise<boolean> {
  return confirm({ title: question, text, action, tone: 'primary' });
}

type Leaving = {
  /** Whether there is anything that would be lost. */
  isNeeded: boolean;
  /** The question; true = go. */
  ask: () => Promise<boolean>;
  /** Asked in the moment of leaving: what was saved just now may not be drawn yet. */
  isFree: () => boolean;
};

/**
 * While something would be lost, leaving is asked about: by ours within the console, by the browser's own question
 * beyond it.
 */
export function useLeaveQuestion({ isNeeded, ask, isFree }: Leaving): void {
  const latest = useRef({ ask, isFree });
  latest.current = { ask, isFree };
  useEffect(() => {
    if (!isNeeded) return undefined;
    const stop = askBeforeLeaving(async () => latest.current.isFree() || (await latest.current.ask()));
    const hold = (event: BeforeUnloadEvent) => {
      if (!latest.current.isFree()) event.preventDefault();
    };
    window.addEventListener('beforeunload', hold);
    return () => {
      stop();
      window.removeEventListener('beforeunload', hold);
    };
  }, [isNeeded]);
}
