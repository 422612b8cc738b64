import type {
  AnchorHTMLAttributes,
  ButtonHTMLAttributes,
  ComponentChildren,
  RefObject,
  TargetedToggleEvent,
} from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Icon, type IconName } from './icon.tsx';

type Tone = 'primary' | 'plain' | 'quiet' | 'danger';

const TONES: Record<Tone, string> = {
  primary: 'bg-accent text-accent-ink hover:brightness-110 active:brightness-95',
  plain: 'bg-surface text-ink border border-line-strong/60 hover:bg-hover',
  quiet: 'text-soft hover:text-ink hover:bg-hover',
  danger: 'bg-surface text-down border border-down/50 hover:bg-down-tint',
};

const SHAPE =
  'inline-flex select-none items-center justify-center gap-1.5 rounded-md font-medium ' +
  // Not `clipped`: among flexible neighbors a button keeps the width of its label.
  'overflow-clip text-ellipsis whitespace-nowrap ' +
  'transition-[background-color,filter,color] duration-100 disabled:cursor-not-allowed disabled:opacity-55 ' +
  'aria-disabled:cursor-not-allowed aria-disabled:opacity-55';
const SIZES = { small: 'h-8 px-2.5 text-[0.8125rem]', normal: 'h-9 px-3.5 text-sm' } as const;

type Common = { tone?: Tone; size?: keyof typeof SIZES; icon?: IconName; children: ComponentChildren; class?: string };
type ButtonProps = Common & Omit<ButtonHTMLAttributes, 'size' | 'icon' | 'class'> & { busy?: boolean };

/**
 * A button. While `busy` it shows a spinner, keeps its width and focus, and ignores clicks. A focused one that becomes
 * `disabled` ignores clicks, too: the attribute would lose the focus.
 */
export function Button({
  tone = 'plain',
  size = 'normal',
  icon,
  busy = false,
  children,
  class: extra = '',
  type = 'button',
  disabled = false,
  onClick,
  ...rest
}: ButtonProps) {
  const box = useRef<HTMLButtonElement>(null);
  useSuccessor(box);
  const isFocused = box.current !== null && box.current === document.activeElement;
  const isIgnored = busy || (isFocused && Boolean(disabled));
  const click = onClick ?? (type === 'submit' ? submitOnce : undefined);
  return (
    <button
      {...rest}
      ref={box}
      type={type}
      disabled={Boolean(disabled) && !isFocused}
      aria-disabled={isIgnored || undefined}
      aria-busy={busy}
      onClick={isIgnored ? ignoreClick : click}
      class={`${SHAPE} ${SIZES[size]} ${TONES[tone]} ${extra}`}
    >
      {busy ? <Spinner /> : icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}

function ignoreClick(event: Event): void {
  event.preventDefault();
}

/** Submits by the first click of a double-click alone: the second would confirm a warning unread (D-837). */
function submitOnce(event: MouseEvent): void {
  if (event.detail > 1) event.preventDefault();
}

/** Focuses the nearest heading if a focused control is removed, as in a deleted row, and nothing else has the focus. */
export function useSuccessor(control: RefObject<HTMLElement | null>): void {
  useLayoutEffect(
    () => () => {
      // Once the page is complete again.
      if (control.current === document.activeElement) queueMicrotask(successorOf(control.current));
    },
    [],
  );
}

/** Returns a function that focuses the nearest heading to where a control is now, if nothing else has the focus. */
export function successorOf(control: Element | null): () => void {
  const around: Element[] = [];
  // The sign-in page focuses its own field.
  const page = control?.closest('main, dialog');
  for (let box = control?.parentElement; box && page?.contains(box); box = box.parentElement) around.push(box);
  return () => {
    if (document.activeElement !== document.body) return;
    const headings = around.filter(({ isConnected }) => isConnected).map((box) => box.querySelector('h1, h2'));
    const heading = headings.find((each) => each instanceof HTMLHeadingElement);
    if (heading === undefined) return;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  };
}

/** A link that looks like a button. */
export function ButtonLink({
  tone = 'plain',
  size = 'normal',
  icon,
  children,
  class: extra = '',
  ...rest
}: Common & Omit<AnchorHTMLAttributes, 'size' | 'icon' | 'class' | 'role'> & { href: string }) {
  return (
    <a {...rest} class={`${SHAPE} ${SIZES[size]} ${TONES[tone]} ${extra}`}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </a>
  );
}

/** A button with an icon only; `label` names it. */
export function IconButton({
  icon,
  label,
  class: extra = '',
  ...rest
}: { icon: IconName; label: string; class?: string } & Omit<ButtonHTMLAttributes, 'label' | 'icon' | 'class'>) {
  const box = useRef<HTMLButtonElement>(null);
  useSuccessor(box);
  return (
    <button
      type="button"
      {...rest}
      ref={box}
      aria-label={label}
      title={label}
      class={
        'inline-grid size-9 shrink-0 place-items-center rounded-md text-soft hover:bg-hover hover:text-ink ' + extra
      }
    >
      <Icon name={icon} class="size-[1.125rem]" />
    </button>
  );
}

const MENU_ITEM =
  'flex w-full items-center gap-2.5 rounded-md px-2.5 py-2 text-left text-sm hover:bg-hover ' +
  'focus-visible:-outline-offset-2';

/** Returns the classes of a button or link in a menu; `isDanger`: for actions that cannot be undone. */
export function menuItem(isDanger = false): string {
  return `${MENU_ITEM} ${isDanger ? 'text-down' : ''}`;
}

/** Width of a menu, and its largest height, in rem. */
const MENU = { width: 12, height: 10.7 } as const;

type MenuProps = { label: string; busy?: boolean; children: ComponentChildren };

/** A small button that opens a menu of further buttons and links; Escape closes it, and returns the focus. */
export function MenuButton({ label, busy = false, children }: MenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const opened = useRef<AbortController | null>(null);
  const place = ({ newState, currentTarget: menu }: TargetedToggleEvent<HTMLDivElement>) => {
    opened.current?.abort();
    const box = button.current?.getBoundingClientRect();
    if (newState !== 'open' || box === undefined) return;
    const remPx = Number.parseFloat(getComputedStyle(menu).fontSize);
    const isAbove = box.bottom + MENU.height * remPx > window.innerHeight;
    const width = Math.min(MENU.width * remPx, window.innerWidth);
    const left = box.right - width;
    menu.style.left = `${left >= 8 ? left : Math.max(0, Math.min(box.left, window.innerWidth - width - 8))}px`;
    menu.style.top = isAbove ? 'auto' : `${box.bottom + 4}px`;
    menu.style.bottom = isAbove ? `${window.innerHeight - box.top + 4}px` : 'auto';
    // The menu would stay in place while the page below it moves. The scroll may also have happened before it opened.
    const hideIfMoved = () => {
      const hasMoved = button.current?.getBoundingClientRect().top !== box.top;
      if (hasMoved && menu.matches(':popover-open')) menu.hidePopover();
    };
    opened.current = new AbortController();
    window.addEventListener('scroll', hideIfMoved, { capture: true, signal: opened.current.signal });
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        popovertarget={id}
        class={`${SHAPE} ${SIZES.small} ${TONES.plain}`}
        aria-label={label}
        aria-disabled={busy || undefined}
        aria-busy={busy}
        onClick={busy ? ignoreClick : undefined}
      >
        {busy ? <Spinner /> : <Icon name="more" />}
        More
      </button>
      <div
        id={id}
        popover="auto"
        class="fixed m-0 w-48 max-w-full rounded-xl border border-line bg-raised p-1.5 text-ink shadow-xl"
        onBeforeToggle={place}
        // Before a button of the menu opens a dialog, which returns the focus to what has it then.
        onClickCapture={(event) => event.currentTarget.hidePopover()}
      >
        {children}
      </div>
    </>
  );
}

/** A spinner for work that is under way. */
export function Spinner() {
  return (
    <span
      class="
        size-4 shrink-0 animate-spin rounded-full border-2 border-current border-r-transparent
        motion-reduce:animate-none
      "
      aria-hidden="true"
    />
  );
}
