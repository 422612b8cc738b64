import { BASE_PATH } from '../client/base-path.ts';

/** Paths on a 20 x 20 grid, each drawn as one line. A text or label beside the icon has the same meaning. */
const LINES = {
  monitors: 'M2.5 10.5h3.2l2-5.5 3.2 10 2.2-6 1 1.5h3.4',
  incidents: 'M10 3.2 17.5 16h-15L10 3.2ZM10 8v3.6M10 13.9v.1',
  channels: 'M10 3a5 5 0 0 0-5 5v3l-1.5 2.7h13L15 11V8a5 5 0 0 0-5-5ZM8.2 16.2a2 2 0 0 0 3.6 0',
  agents: 'M10 17.2s5.6-4.7 5.6-9a5.6 5.6 0 0 0-11.2 0c0 4.3 5.6 9 5.6 9ZM10 10.2a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z',
  maintenance:
    'M12.8 3.1a4.2 4.2 0 0 0-4.1 5.6l-5.4 5.4a1.8 1.8 0 0 0 2.6 2.6l5.4-5.4a4.2 4.2 0 0 0 5.4-5.1l-2.5 2.5-2.6-.7' +
    '-.7-2.6 2.5-2.2a4.2 4.2 0 0 0-.6-.1Z',
  reports: 'M4 17V3h8.5L16 6.5V17H4ZM7.2 13.5v-2M10 13.5V9M12.8 13.5v-3',
  settings: 'M3 6h7m4 0h3M3 14h3m4 0h7M12 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM8 16a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z',
  fleet: 'M3.5 4h13v4h-13V4ZM3.5 12h13v4h-13v-4ZM6.2 6h.1M6.2 14h.1',
  queues: 'M3 5h14M3 10h14M3 15h9',
  docs: 'M4 4h5a1 1 0 0 1 1 1v12a1.5 1.5 0 0 0-1.5-1.2H4V4ZM16 4h-5a1 1 0 0 0-1 1v12a1.5 1.5 0 0 1 1.5-1.2H16V4Z',
  more: 'M4.5 10h.1M10 10h.1M15.5 10h.1',
  search: 'M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM13 13l4 4',
  plus: 'M10 4v12M4 10h12',
  minus: 'M4 10h12',
  close: 'M5 5l10 10M15 5 5 15',
  check: 'M4.5 10.5l3.5 3.5 7.5-8',
  chevron: 'M7.5 5l5 5-5 5',
  down: 'M5 7.5l5 5 5-5',
  folder: 'M3 15.5v-11h5l1.7 2H17v9H3Z',
  foldAll: 'M5.5 3.5 10 8l4.5-4.5M5.5 16.5 10 12l4.5 4.5',
  unfoldAll: 'M5.5 7.5 10 3l4.5 4.5M5.5 12.5 10 17l4.5-4.5',
  back: 'M12.5 5l-5 5 5 5',
  copy: 'M7 7V3.5h9.5V13H13M3.5 7H13v9.5H3.5V7Z',
  eye: 'M2 10s3-5.5 8-5.5 8 5.5 8 5.5-3 5.5-8 5.5S2 10 2 10ZM10 12.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4Z',
  pause: 'M7 4.5v11M13 4.5v11',
  play: 'M6 4.5v11l9-5.5-9-5.5Z',
  mute: 'M7 4a5 5 0 0 1 8 4v3M5 8v3l-1.5 2.7h10.7M8.2 16.2a2 2 0 0 0 3.6 0M3 3l14 14',
  snooze: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM10 6v4l2.7 2',
  tag: 'M3.5 3.5h6.5l6.5 6.5-6.5 6.5-6.5-6.5V3.5ZM7 7h.1',
  untag: 'M5.5 3.5H10l6.5 6.5-2 2M11.8 14.7 10 16.5 3.5 10V6.3M3 3l14 14',
  undo: 'M7.5 3.5 4 7l3.5 3.5M4 7h7.5a4.5 4.5 0 0 1 0 9H8',
  retry: 'M15.8 7.5A6.2 6.2 0 1 0 16 12M16 3.8v3.9h-3.9',
  trash: 'M3.5 5.5h13M8 5.5V3.5h4v2M5 5.5l.8 11h8.4l.8-11',
  edit: 'M4 16l.8-3.4L13 4.4l2.6 2.6-8.2 8.2L4 16Z',
  external: 'M8.5 4H4v12h12v-4.5M11.5 3.5h5v5M16 4l-7 7',
  download: 'M10 3v9M6.5 8.8 10 12.3l3.5-3.5M4 16.5h12',
  print: 'M6 7.5V3.5h8v4M6 13.5H3.5v-6h13v6H14M6 11.5h8v5H6v-5Z',
  wall: 'M2.5 3.5h6.5v5.5H2.5V3.5ZM11 3.5h6.5v5.5H11V3.5ZM2.5 11h6.5v5.5H2.5V11ZM11 11h6.5v5.5H11V11Z',
  light:
    'M10 13.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4ZM10 2.5v1.3M10 16.2v1.3M2.5 10h1.3M16.2 10h1.3M4.7 ' +
    '4.7l.9.9M14.4 14.4l.9.9M15.3 4.7l-.9.9M5.6 14.4l-.9.9',
  dark: 'M16 11.8A6.5 6.5 0 0 1 8.2 4 6.5 6.5 0 1 0 16 11.8Z',
  system: 'M3 4h14v9.5H3V4ZM7.5 16.5h5M10 13.5v3',
  person: 'M10 10a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4ZM3.8 16.8c.7-3 3-4.6 6.2-4.6s5.5 1.6 6.2 4.6',
  leave: 'M12 4H4v12h8M8.5 10H17M14 7l3 3-3 3',
  keyboard: 'M2.5 5h15v10h-15V5ZM5.5 8h.1M8.5 8h.1M11.5 8h.1M14.5 8h.1M6.5 12h7',
  key: 'M7 12.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM10.5 9H17v3M14 9v2.5',
  warning: 'M10 3.2 17.5 16h-15L10 3.2ZM10 8v3.6M10 13.9v.1',
  info: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM10 9v4.5M10 6.6v.1',
} as const;

export type IconName = keyof typeof LINES;

/** An icon that screen readers skip. */
export function Icon({ name, class: className = 'size-4' }: { name: IconName; class?: string }) {
  return (
    <svg
      class={`shrink-0 ${className}`}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      stroke-width="1.6"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={LINES[name]} />
    </svg>
  );
}

/** The logo. */
export function Logo({ class: className = 'size-6' }: { class?: string }) {
  return <img src={`${BASE_PATH}/favicon.svg`} alt="" width="24" height="24" class={className} />;
}
