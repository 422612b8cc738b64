import { useEffect } from 'preact/hooks';
import { confirm } from '../parts/dialog.tsx';
import { askBeforeLeaving } from '../shell/router.ts';

/**
 * While there is something unsaved, leaving is asked about: by ours within the console, by the browser's own question beyond it. `isSaved` is asked in that
 * moment, for what was just saved may not be drawn yet.
 */
export function useUnsaved(isUnsaved: boolean, isSaved: () => boolean): void {
  useEffect(() => {
    if (!isUnsaved) return;
    const stop = askBeforeLeaving(async () => isSaved() || (await confirm({ title: 'Leave without saving?', text: 'What you have filled in here will be gone.', action: 'Leave' })));
    const ask = (event: BeforeUnloadEvent) => {
      if (!isSaved()) event.preventDefault();
    };
    window.addEventListener('beforeunload', ask);
    return () => {
      stop();
      window.removeEventListener('beforeunload', ask);
    };
  }, [isUnsaved]);
}
