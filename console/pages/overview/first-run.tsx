import type { ComponentChildren, RefObject } from 'preact';
import { api, type Monitor } from '../../client/api.ts';
import { Remembered, canWrite } from '../../client/session-state.ts';
import { toast, useAction } from '../../parts/action.tsx';
import { Button, ButtonLink, IconButton } from '../../parts/button.tsx';
import { Icon } from '../../parts/icon.tsx';
import { useLoad } from '../../parts/load.tsx';
import { Card } from '../../parts/page.tsx';
import { PATHS } from '../../paths.ts';
import { UnnotifiedWarning, isActive, testAlert, useChannels, type Channel } from '../channels/words.tsx';

const hidden = new Remembered('checklist-hidden');

/** Most channels whose record is searched for a first alert. */
const MAX_LOOKED_AT = 5;

type FirstRunProps = { monitors: readonly Monitor[]; box: RefObject<HTMLDivElement | null> };

/**
 * The first steps of an account: a monitor, a channel and a test alert. Once they are done or closed, a warning while
 * no channel receives alerts; nothing for viewers, and until the channels are loaded. It stays at the lower edge, so
 * that its appearance moves nothing.
 */
export function FirstRun({ monitors, box }: FirstRunProps) {
  const channels = useChannels().value.value;
  if (channels === null || !canWrite()) return null;
  const isClosed = hidden.holds;
  if (isClosed && channels.some(isActive)) return null;
  return (
    <div ref={box} class="sticky bottom-3 z-20 mx-3 mt-auto w-auto pt-3 md:ml-auto md:w-96">
      {isClosed ? (
        monitors.length > 0 && (
          <UnnotifiedWarning hasChannels={channels.length > 0}>No channel receives alerts.</UnnotifiedWarning>
        )
      ) : (
        <Checklist hasMonitor={monitors.length > 0} channels={channels} />
      )}
    </div>
  );
}

const [MONITOR, CHANNEL, TEST] = [0, 1, 2];

function Checklist({ hasMonitor, channels }: { hasMonitor: boolean; channels: readonly Channel[] }) {
  const active = channels.filter(isActive);
  const [first] = active;
  const delivered = useLoad(
    (abort) => wasAnyDelivered(active, abort),
    [active.map(({ id }) => id).join(), testAlert.holds],
  );
  const testing = useAction();
  const test = (id: string) =>
    testing.run(async () => {
      await api.post('/channels/{id}/test', { path: { id } });
      testAlert.set();
      toast('Test alert delivered');
    });
  if (delivered.value.value === null) return null;
  const isTested = delivered.value.value;
  const steps = [hasMonitor, first !== undefined, isTested];
  const done = steps.filter(Boolean).length;
  const next = steps.indexOf(false);
  if (next < 0) return null;
  return (
    <section aria-label="Get started">
      <Card class="p-4 shadow-lg">
        <div class="flex items-center justify-between gap-3">
          <h2 class="heading text-sm">Get started: {done} of 3</h2>
          <IconButton icon="close" label="Hide checklist" class="-my-2 -mr-2" onClick={() => hidden.set()} />
        </div>
        <ol class="mt-2 flex flex-col gap-2.5 text-sm">
          <Step isDone={hasMonitor} isNext={next === MONITOR} title="Create a monitor">
            <ButtonLink size="small" href={PATHS.monitorNew}>
              New monitor
            </ButtonLink>
          </Step>
          <Step
            isDone={first !== undefined}
            isNext={next === CHANNEL}
            title="Add an alert channel"
            note="Without one, no one is notified."
          >
            <ButtonLink size="small" href={PATHS.channelNew}>
              New channel
            </ButtonLink>
          </Step>
          <Step isDone={isTested} isNext={next === TEST} title="Send a test alert">
            {first !== undefined && (
              <Button
                size="small"
                class="min-w-0 max-w-full"
                busy={testing.isBusy.value}
                onClick={() => void test(first.id)}
              >
                <span class="clipped">Send to {first.name}</span>
              </Button>
            )}
          </Step>
        </ol>
      </Card>
    </section>
  );
}

type StepProps = { isDone: boolean; isNext: boolean; title: string; note?: string; children: ComponentChildren };

/** A step; a phone shows only the next one. */
function Step({ isDone, isNext, title, note, children }: StepProps) {
  return (
    <li class={`min-h-8 flex-wrap items-center gap-x-2.5 gap-y-1 ${isNext ? 'flex' : 'hidden md:flex'}`}>
      <span
        class={
          'grid size-5 shrink-0 place-items-center rounded-full border ' +
          (isDone ? 'border-up text-up' : 'border-line-strong')
        }
      >
        {isDone && <Icon name="check" class="size-3.5" />}
      </span>
      <span class={`min-w-0 flex-1 basis-40 ${isDone ? 'text-soft' : ''}`}>
        {title}
        {isDone && <span class="sr-only"> (done)</span>}
        {!isDone && note !== undefined && <span class="block text-[0.8125rem] text-soft">{note}</span>}
      </span>
      {!isDone && children}
    </li>
  );
}

/** Reports whether a test was sent from this browser, or the record contains an alert that arrived. */
async function wasAnyDelivered(channels: readonly Channel[], abort: AbortSignal): Promise<boolean> {
  if (testAlert.holds) return true;
  for (const { id } of channels.slice(0, MAX_LOOKED_AT)) {
    const { deliveries } = await api.get('/channels/{id}/deliveries', {
      path: { id },
      query: { outcome: 'delivered', limit: 1 },
      signal: abort,
    });
    if (deliveries.length > 0) return true;
  }
  return false;
}
