import { confirm } from '../parts/dialog.tsx';
import { useLeaveQuestion } from '../parts/leaving.ts';

/**
 * While there is something unsaved, leaving is asked about. `isSaved` is asked in that moment, for what was just saved
 * may not be drawn yet.
 */
export function useUnsaved(isUnsaved: boolean, isSaved: () => boolean): void {
  useLeaveQuestion({
    isNeeded: isUnsaved,
    isFree: isSaved,
    ask: () =>
      confirm({ title: 'Leave without saving?', text: 'What you have filled in here will be gone.', action: 'Leave' }),
  });
}
