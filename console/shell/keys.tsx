import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { navigate } from './router.ts';

type Shortcut = { keys: string; does: string; run: () => void };

/** Longest pause between two keys of a sequence, in milliseconds. */
const SEQUENCE_MS = 1200;

const shortcuts = new Set<Shortcut>();
const isHelpOpen = signal(false);

/**
 * Registers a keyboard shortcut while a component is shown: one key (`j`), a sequence (`g o`), or a key with Ctrl or
 * Cmd (`Ctrl+K`). Shortcuts are off while a dialog is open and, except those with Ctrl, while a menu is open or a field
 * has the focus. `run` null: the shortcut has no effect now, so neither the list of shortcuts nor the command palette
 * offers it.
 */
export function useShortcut(keys: string, does: string, run: (() => void) | null): void {
  useEffect(() => {
    if (run === null) return undefined;
    const shortcut = { keys, does, run };
    shortcuts.add(shortcut);
    return () => void shortcuts.delete(shortcut);
  });
}

/** Starts to handle keyboard shortcuts. */
export function listenToKeys(): void {
  let first: { key: string; atMs: number } | null = null;
  window.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.altKey || document.querySelector('dialog[open]') !== null) return;
    if (event.ctrlKey || event.metaKey) {
      runWithCtrl(event);
      return;
    }
    // An open menu handles Escape itself.
    if (isWriting(event.target) || document.querySelector(':popover-open') !== null) return;
    // The focused element may handle Enter itself.
    if (
      event.key === 'Enter' &&
      event.target instanceof Element &&
      event.target.closest('a, button, summary, [role="slider"]') !== null
    )
      return;
    const before = first !== null && performance.now() - first.atMs < SEQUENCE_MS ? `${first.key} ` : '';
    first = null;
    const found = find(before + event.key) ?? find(event.key);
    if (found !== null) {
      event.preventDefault();
      found.run();
    } else if ([...shortcuts].some(({ keys }) => keys.startsWith(`${event.key} `))) {
      first = { key: event.key, atMs: performance.now() };
    }
  });
}

function runWithCtrl(event: KeyboardEvent): void {
  const found = event.shiftKey ? null : find(`Ctrl+${event.key.toUpperCase()}`);
  if (found === null) return;
  // Browsers have default actions for some of these keys.
  event.preventDefault();
  found.run();
}

/** Returns the shortcuts of the present page, and those that work everywhere. */
export function listShortcuts(): readonly Shortcut[] {
  return [...shortcuts];
}

/** The shortcuts that work everywhere. */
export function CommonKeys({ items }: { items: readonly { letter: string; label: string; href: string }[] }) {
  useShortcut('?', 'Show keyboard shortcuts', () => {
    isHelpOpen.value = true;
  });
  return (
    <>
      {items.map((each) => (
        <GoTo key={each.letter} {...each} />
      ))}
      {isHelpOpen.value && <KeysHelp />}
    </>
  );
}

/** Opens the list of shortcuts. */
export function showKeys(): void {
  isHelpOpen.value = true;
}

function GoTo({ letter, label, href }: { letter: string; label: string; href: string }) {
  useShortcut(`g ${letter}`, `Go to ${label}`, () => navigate(href));
  return null;
}

function KeysHelp() {
  return (
    <Dialog
      title="Keyboard shortcuts"
      onClose={() => {
        isHelpOpen.value = false;
      }}
    >
      <dl class="grid grid-cols-[auto_1fr] items-center gap-x-5 gap-y-2 text-sm">
        {[...shortcuts].map(({ keys, does }) => (
          <div key={keys} class="contents">
            <dt class="flex gap-1">
              {keys.split(' ').map((key) => (
                <kbd
                  key={key}
                  class="
                    min-w-6 rounded border border-line-strong/60 bg-sunken px-1.5 text-center font-mono text-xs
                    leading-6
                  "
                >
                  {key === 'Enter' ? '↵' : key}
                </kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

function find(keys: string): Shortcut | null {
  return [...shortcuts].findLast((shortcut) => shortcut.keys === keys) ?? null;
}

/** Reports whether an element takes text or a choice, so that keys are meant for it. A checkbox takes only Space. */
export function isWriting(target: EventTarget | null): boolean {
  return (
    (target instanceof HTMLInputElement && target.type !== 'checkbox') ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    (target instanceof HTMLElement && target.isContentEditable)
  );
}
