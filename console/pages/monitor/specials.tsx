import type { ComponentChildren } from 'preact';
import { countDaysLeft } from '../../../core/checks/domain/facts.ts';
import { api, type Schemas } from '../../client/api.ts';
import { INSTALLATION_URL } from '../../client/base-path.ts';
import { CopyText, PingLoopbackHint } from '../../parts/copy.tsx';
import { count } from '../../parts/figures.ts';
import { Icon } from '../../parts/icon.tsx';
import { useLoad } from '../../parts/load.tsx';
import { Code, FactLine } from '../../parts/object-page.tsx';
import { Card, Section } from '../../parts/page.tsx';
import { PingKeyLink, pingAddress, usePingKey } from '../../parts/ping-key.tsx';
import { Moment, clock, formatDay } from '../../parts/time.tsx';
import { reasonOf, sentence } from './status-words.ts';

type Detail = Schemas['MonitorDetail'];
type Check = Schemas['Check'];
type SpecialProps = { detail: Detail; checks: readonly Check[] | null };

const SPECIALS: Partial<Record<Schemas['MonitorType'], (props: SpecialProps) => ComponentChildren>> = {
  heartbeat: PingAddress,
  vendor: Vendor,
  domain: Expiry,
  http: Expiry,
};

/** The section that only monitors of some types have. */
export function Special(props: SpecialProps) {
  const Part = SPECIALS[props.detail.type];
  return Part === undefined ? null : <Part {...props} />;
}

/** The ping address of a heartbeat monitor. */
function PingAddress({ detail }: SpecialProps) {
  const { token, slug, failEnabled = true } = detail.check_spec.heartbeat ?? {};
  const address = `${INSTALLATION_URL}/ping/${token ?? ''}`;
  return (
    <Section
      title="Ping URL"
      lead={token === undefined ? undefined : 'Keep it private: anyone who has it can send pings.'}
    >
      <Card>
        {token === undefined ? (
          <p class="text-sm text-soft">Only editors and owners can see the ping URL.</p>
        ) : (
          <div class="grid grid-cols-1 gap-3">
            <CopyText text={address} label="Ping URL" />
            <PingLoopbackHint url={address} />
            <CopyText text={`your-job && curl -fsS -m 10 --retry 5 --retry-connrefused ${address}`} label="Command" />
            <p class="text-sm text-soft">
              Append <Code>/start</Code> when the job starts to measure its run time
              {failEnabled && (
                <>
                  ; append <Code>/fail</Code>, or <Code>/$?</Code> with the exit status, when it ends
                </>
              )}
              .
            </p>
            {slug !== undefined && <SlugAddress slug={slug} />}
          </div>
        )}
      </Card>
    </Section>
  );
}

/** The address of a heartbeat by its slug and the account's ping key. */
function SlugAddress({ slug }: { slug: string }) {
  const { value: answer } = usePingKey().value;
  if (answer === null) return null;
  const key = answer.ping_key?.key;
  return (
    <>
      <p class="text-sm text-soft">
        {key === undefined ? (
          <>
            It was created by a ping with a <PingKeyLink />, which the account no longer has.
          </>
        ) : (
          <>
            The same by its slug and the account’s <PingKeyLink />:
          </>
        )}
      </p>
      {key !== undefined && (
        <CopyText
          text={`curl -fsS -m 10 --retry 5 --retry-connrefused ${pingAddress(key, slug)}`}
          label="Command by slug"
        />
      )}
    </>
  );
}

/** The status page of a vendor monitor: its components and its present state. */
function Vendor({ detail, checks }: SpecialProps) {
  const { pageUrl, components = [] } = detail.check_spec.vendor ?? {};
  const newest = checks?.[0];
  return (
    <Section title="Vendor">
      <Card class="grid gap-2 p-4 text-sm md:p-5">
        <p>
          {newest === undefined
            ? 'Waiting for the first check of the status page.'
            : newest.reason === null
              ? 'All monitored components are operational.'
              : sentence(newest.reason)}
        </p>
        {components.length === 0 ? (
          <p class="text-soft">All components are monitored.</p>
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
            Status page <Icon name="external" class="size-3.5" />
          </a>
        )}
      </Card>
    </Section>
  );
}

type Facts = Schemas['MonitorFacts'];
type Props = { detail: Schemas['MonitorDetail']; checks: readonly Schemas['Check'][] | null };

/** The expiry of the domain and the certificate, the registrar, and the warnings that were sent. */
function Expiry({ detail, checks }: Props) {
  const { id, type, target, updated_at: version } = detail;
  const isDomain = type === 'domain';
  const hasExpiry = isDomain || /^https:/i.test(target) || (detail.check_spec.domain?.warnDays ?? 0) > 0;
  const newest = isDomain ? checks?.[0] : undefined;
  // A domain's facts change with its check, a certificate's with the monitor.
  const load = useLoad(
    async (signal) => (hasExpiry ? await api.get('/monitors/{id}/facts', { path: { id }, signal }) : null),
    [id, version, hasExpiry, newest?.at, checks === null],
  );
  const facts = load.value.value;
  const hasFacts = facts !== null && (facts.domain !== null || facts.certificate !== null);
  if (!isDomain && !hasFacts) return null;
  return (
    <Section title="Expiry">
      <Card class="grid gap-3 p-4 text-sm md:p-5">
        {isDomain && newest === undefined && !hasFacts && (
          <p class="text-soft">Waiting for the first lookup at the registry.</p>
        )}
        {newest !== undefined && newest.reason !== null && !hasDate(facts) && <p>{reasonOf(newest)}</p>}
        {hasFacts && <FactList facts={facts} />}
        {facts?.advisories.map((advisory) => (
          <Warning key={advisory.subject} advisory={advisory} />
        ))}
      </Card>
    </Section>
  );
}

function FactList({ facts: { domain, certificate } }: { facts: Facts }) {
  return (
    <dl class="grid gap-x-6 gap-y-1 md:grid-cols-[8rem_1fr]">
      {domain !== null && (
        <>
          <FactLine name="Domain">
            {domain.name} <span class="text-soft">{sayDomain(domain)}</span>
          </FactLine>
          {domain.registrar !== null && <FactLine name="Registrar">{domain.registrar}</FactLine>}
          {domain.asked_at !== null && (
            <FactLine name="Last lookup">
              <Moment at={domain.asked_at} />
              {domain.failure !== null && (
                <span class="text-soft">; latest attempt failed: {sentence(domain.failure)}</span>
              )}
            </FactLine>
          )}
        </>
      )}
      {certificate !== null && (
        <FactLine name="Certificate">
          {certificate.name} <span class="text-soft">{sayExpiry(certificate.expires_at)}</span>
        </FactLine>
      )}
    </dl>
  );
}

function Warning({
  advisory: { subject, threshold_days: days, sent_at: at },
}: {
  advisory: Facts['advisories'][number];
}) {
  return (
    <p class="flex gap-2 text-degraded">
      <Icon name="warning" class="mt-0.5 size-4" />
      <span>
        Expiry alert for the {subject} sent at {count(days, 'day')} left, <Moment at={at} />.
      </span>
    </p>
  );
}

/** Reports whether the list of facts contains the expiry of the domain. */
function hasDate(facts: Facts | null): boolean {
  return facts?.domain?.registered === true && facts.domain.expires_at !== null;
}

function sayDomain({ registered, expires_at: at }: NonNullable<Facts['domain']>): string {
  if (registered === false) return 'not registered';
  if (registered === null) return 'not found so far';
  return at === null ? 'registered; the registry publishes no expiry date' : sayExpiry(at);
}

function sayExpiry(at: number): string {
  const days = countDaysLeft(at, clock.value * 1000);
  return days === 0 ? `expired on ${formatDay(at)}` : `expires on ${formatDay(at)}, in ${count(days, 'day')}`;
}
