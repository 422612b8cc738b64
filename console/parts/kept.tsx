import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { askBeforeLeaving, navigate } from '../shell/router.ts';
import { Button } from './button.tsx';
import { confirm } from './dialog.tsx';

/** Something that is shown once, and the button that says that it was kept, which leads to `href`; who leaves otherwise is asked with `title` and `text`. */
export function Kept({ title, text, href, children }: { title: string; text: string; href: string; children: ComponentChildren }) {
  const letGo = useRef<() => void>(() => undefined);
  useEffect(() => {
    letGo.current = askBeforeLeaving(() => confirm({ title, text, action: 'I have kept it', tone: 'primary' }));
    return letGo.current;
  }, []);
  const go = () => {
    letGo.current();
    navigate(href, { replace: true });
  };
  return (
    <div class="max-w-3xl">
      {children}
      <div class="mt-6">
        <Button tone="primary" onClick={go}>
          I have kept it
        </Button>
      </div>
    </div>
  );
}
