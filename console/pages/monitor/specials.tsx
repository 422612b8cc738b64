import type { ComponentChildren } from 'preact';
import type { Schemas } from '../../client/api.ts';
import { CopyText } from '../../parts/copy.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Card, Section } from '../../parts/page.tsx';
import { Expiry } from './expiry.tsx';
import { sentence } from './status-words.ts';

type Detail = Schemas['MonitorDetail'];
type Check = Schemas['Check'];
export type SpecialProps = { detail: Detail; checks: readonly Check[] | null };

const SPECIALS: Partial<Record<Schemas['MonitorType'], (props: SpecialProps) => ComponentChildren>> = {
  heartbeat: PingAddress,
  vendor: Vendor,
  domain: Expiry,
  http: Expiry,
};

/** What only monitors of one type have. */
export function Special(props: SpecialProps) {
  const Part = SPECIALS[props.detail.type];
  return Part === undefined ? null : <Part {...props} />;
}

/** Where the job reports in. */
function PingAddress({ detail }: SpecialProps) {
  const { token, failEnabled = true } = detail.check_spec.heartbeat ?? {};
  const address = `${window.location.origin}/ping/${token ?? ''}`;
  return (
    <Section
      title="Address to ping"
      lead={token === undefined ? undefined : 'Knowing it is enough to report in: keep it to the job.'}
    >
      <Card>
        {token === undefined ? (
          <p class="text-sm text-soft">Only those who may change the monitor see its address.</p>
        ) : (
          <div class="grid grid-cols-1 gap-3">
            <CopyText text={address} label="Ping address" />
            <CopyText
              text={`your-job && curl -fsS -m 10 --retry 5 --retry-connrefused ${address}`}
              label="Command for a job"
            />
            <p class="text-sm text-soft">
              Call <Code>/start</Code> behind it when the job begins, to see how long it runs
              {failEnabled && (
                <>
                  ; <Code>/fail</Code>, or <Code>/$?</Code> with its exit status, when it ends
                </>
              )}
              .
            </p>
          </div>
        )}
      </Card>
    </Section>
  );
}

/** Which page is read, which parts of it count, and what it says. */
function Vendor({ detail, checks }: SpecialProps) {
  const { pageUrl, components = [] } = detail.check_spec.vendor ?? {};
  const newest = checks?.[0];
  return (
    <Section title="Vendor">
      <Card class="grid gap-2 p-4 text-sm md:p-5">
        <p>
          {newest === undefined
            ? 'Its page was not read yet.'
            : newest.reason === null
              ? 'All that is watched is operational.'
              : sentence(newest.reason)}
        </p>
        {components.length === 0 ? (
          <p class="text-soft">The vendor counts as a whole.</p>
        ) : (
          <ul class="flex flex-wrap gap-1.5" aria-label="Components">
            {components.map((component) => (
              <li key={component} class="rounded-md border border-line px-2 py-0.5">
                {component}
              </li>
            ))}
          </ul>
        )}
        {pageUrl !== undefined && (
          <a
            href={pageUrl}
            target="_blank"
            rel="noreferrer"
            class="inline-flex items-center gap-1.5 justify-self-start underline underline-offset-2"
          >
            The vendor's own page <Icon name="external" class="size-3.5" />
          </a>
        )}
      </Card>
    </Section>
  );
}

function Code({ children }: { children: ComponentChildren }) {
  return <code class="font-mono text-[0.8125rem]">{children}</code>;
}
