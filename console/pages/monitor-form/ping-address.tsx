import { CopyText } from '../../parts/copy.tsx';

/** Where a job reports, and how. */
export function PingAddress({ token }: { token: string }) {
  const url = `${window.location.origin}/ping/${token}`;
  const curl = 'curl -fsS -m 10 --retry 5';
  return (
    <div class="flex min-w-0 flex-col gap-4 text-sm">
      <div>
        <p class="mb-1 font-medium">Ping address</p>
        <CopyText label="Ping address" text={url} />
        <p class="mt-1 text-[0.8125rem] text-soft">
          It is enough to ping: treat it as a password. GET, HEAD and POST all count.
        </p>
      </div>
      <div>
        <p class="mb-1 font-medium">At the end of a job, where only success counts</p>
        <CopyText label="Command for success" text={`your-job && ${curl} ${url}`} />
      </div>
      <div>
        <p class="mb-1 font-medium">With its start and its exit status</p>
        <CopyText
          label="Command with start and exit status"
          text={`${curl} ${url}/start; your-job; ${curl} ${url}/$?`}
        />
      </div>
    </div>
  );
}
