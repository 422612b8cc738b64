import { STATUSES, type Status } from './statuses.ts';

/** The mark of a status; unless `silent`, screen readers announce its name. */
export function StatusMark({
  status,
  silent = false,
  class: className = 'size-3.5',
}: {
  status: Status;
  silent?: boolean;
  class?: string;
}) {
  const { label, fill, sign } = STATUSES[status];
  return (
    <svg
      viewBox="0 0 16 16"
      class={`shrink-0 ${fill} ${className}`}
      fill="currentColor"
      fill-rule="evenodd"
      {...(silent ? { 'aria-hidden': true } : { role: 'img', 'aria-label': label })}
    >
      <path d={sign} />
    </svg>
  );
}

/** Sign and name of a status. */
export function StatusLabel({ status }: { status: Status }) {
  const { label, text } = STATUSES[status];
  return (
    <span class={`inline-flex items-center gap-1.5 font-medium ${text}`}>
      <StatusMark status={status} silent />
      {label}
    </span>
  );
}
