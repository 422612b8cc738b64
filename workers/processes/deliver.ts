import { forgetOldest } from '../../core/bounded-map.ts';
import { CANARY } from '../../core/system/canary.ts';
import { buildEmail } from '../../notifications/email/alert.ts';
import { openMailSending, type MailSettings } from '../../notifications/email/sending.ts';
import { attemptSlack, openSlackSending } from '../../notifications/slack/attempt.ts';
import { openTelegramSending, type TelegramSettings } from '../../notifications/telegram/sending.ts';
import { attemptWebhook } from '../../notifications/webhook/attempt.ts';
import { openPingSending } from '../../notifications/webhook/ping.ts';
import { openWebhookSending } from '../../notifications/webhook/sending.ts';
import { giveJobBack, postponeJob } from '../../queues/job-queues.ts';
import { QUEUES, type DeliverJob } from '../../queues/payloads.ts';
import { ChannelHealth } from '../alerts/channel-health.ts';
import { ChannelLanes } from '../alerts/channel-lanes.ts';
import { Deliverer } from '../alerts/deliver.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

type DeliverProcessOptions = {
  allowPrivateNetwork: boolean;
  webhookTimeoutSeconds: number;
  deliveryRetrySeconds: readonly number[];
  telegram: TelegramSettings;
  slack: { apiUrl: string };
  /** Null if no mail server is configured. */
  mail: MailSettings | null;
};

/** Maximum running jobs, each as long as the slowest of its channels: they wait for receivers rather than compute. */
const JOBS_AT_ONCE = 500;

/** Maximum running retries of one account, whose receivers may hang: a quarter of all jobs. */
const JOBS_OF_ACCOUNT = 125;

/**
 * Time until a killed worker's job goes to another one, in milliseconds; its claim in the database decides when it may
 * be attempted again.
 */
const LOCK_MS = 15_000;

/** Starts delivering: a job delivers all that its channels have due, however many jobs for them arrive meanwhile. */
export function startDeliver(runtime: Runtime, options: DeliverProcessOptions): RunningProcess {
  const { database, backend, queues, log, metrics, newId, now, publicUrl } = runtime;
  const { allowPrivateNetwork, deliveryRetrySeconds, telegram, slack } = options;
  const deadlineMs = options.webhookTimeoutSeconds * 1000;
  const sending = openWebhookSending({ allowPrivateNetwork, deadlineMs });
  const sendPing = openPingSending({ deadlineMs, publicUrl, now });
  const slackSending = openSlackSending({ allowPrivateNetwork, apiUrl: slack.apiUrl, deadlineMs });
  const mail =
    options.mail &&
    openMailSending({
      settings: options.mail,
      onTrouble: (trouble, reason) => {
        metrics.mailServerFailed(trouble);
        log.warn({ trouble, error: reason }, 'mail_server.failed');
      },
    });
  const deliverer = new Deliverer({
    database,
    newId,
    publicUrl,
    sendWebhook: (delivery) =>
      delivery.account === CANARY.tenantId ? sendPing(delivery) : attemptWebhook(delivery, sending),
    sendTelegram: openTelegramSending(telegram, deadlineMs),
    sendSlack: (webhookUrl, message) => attemptSlack(webhookUrl, message, slackSending),
    sendEmail: mail && ((alert) => mail.send(buildEmail(alert))),
    deadlineMs,
    retrySeconds: deliveryRetrySeconds,
    channelHealth: new ChannelHealth(runtime),
    queues,
    metrics,
    log,
    now,
    random: Math.random,
  });
  const shares = new AccountShares({ most: JOBS_OF_ACCOUNT, attemptMs: deadlineMs });
  const lanes = new ChannelLanes({
    async claim(channelId) {
      const claim = await deliverer.claim(channelId);
      if (claim.claimed !== null) shares.learn(channelId, claim.claimed.tenantId);
      return claim;
    },
    attempt: (claimed) => deliverer.attempt(claimed),
  });
  const worker = backend.createWorker<DeliverJob>(
    QUEUES.deliver,
    async (job, token) => {
      const earlyMs = job.data.dueAtMs - now();
      if (earlyMs > 0) return await postponeJob(job, token, earlyMs);
      const entered = shares.enter(job.data);
      if ('waitMs' in entered) return await postponeJob(job, token, entered.waitMs);
      const { outcomes, isCutShort } = await lanes.runAll(job.data.channelIds).finally(entered.leave);
      return isCutShort ? await giveJobBack(job, token) : outcomes;
    },
    {
      concurrency: JOBS_AT_ONCE,
      lockDurationMs: LOCK_MS,
      onFailed: (job, error) => log.error({ err: error, job_id: job?.id }, 'delivery.job_failed'),
    },
  );
  return {
    name: 'deliver',
    async stop() {
      // A long backlog would delay shutdown: its rest goes to another process with its job, or waits for the next
      // start.
      lanes.stop();
      // An email that began only now could be interrupted in its exchange, and would be sent twice.
      mail?.stop();
      await worker.close();
      mail?.close();
      await sending.close();
    },
  };
}

/** Maximum channels whose accounts are remembered. */
const MAX_KNOWN_CHANNELS = 20_000;

/**
 * Shares a process's retries among accounts: one with hanging receivers leaves most jobs to others. A retry is a job of
 * a single channel, whose account is known after its first claim. First attempts are not limited.
 */
export class AccountShares {
  readonly #size: { most: number; attemptMs: number };
  readonly #accounts = new Map<string, string>();
  readonly #atWork = new Map<string, number>();
  /** Channels of each account with postponed jobs. */
  readonly #behind = new Map<string, Set<string>>();

  /** `most` is the maximum running jobs of an account, `attemptMs` the maximum duration of an attempt. */
  constructor(size: { most: number; attemptMs: number }) {
    this.#size = size;
  }

  /** Remembers the account of a channel. */
  learn(channelId: string, account: string): void {
    this.#accounts.set(channelId, account);
    forgetOldest(this.#accounts, MAX_KNOWN_CHANNELS);
  }

  /** Starts a job, or returns in how many milliseconds its account has room for it, considering postponed ones. */
  enter({
    channelIds,
    isRetry,
  }: Pick<DeliverJob, 'channelIds' | 'isRetry'>): { leave: () => void } | { waitMs: number } {
    const [channelId = ''] = channelIds;
    const account = isRetry === true ? this.#accounts.get(channelId) : undefined;
    if (account === undefined) return { leave: () => undefined };
    const atWork = this.#atWork.get(account) ?? 0;
    const behind = this.#behind.get(account) ?? new Set();
    if (atWork >= this.#size.most) {
      this.#behind.set(account, behind.add(channelId));
      return { waitMs: this.#size.attemptMs * Math.ceil(behind.size / this.#size.most) };
    }
    behind.delete(channelId);
    this.#atWork.set(account, atWork + 1);
    return { leave: () => this.#leave(account) };
  }

  #leave(account: string): void {
    const atWork = (this.#atWork.get(account) ?? 0) - 1;
    if (atWork > 0) {
      this.#atWork.set(account, atWork);
      return;
    }
    this.#atWork.delete(account);
    this.#behind.delete(account);
  }
}
