import type { ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Channel } from '../core/alerts/channel.ts';
import type { ChatMessage } from '../core/alerts/chat/message.ts';
import type { PreviewOutcome } from '../core/checks/preview.ts';
import type { ScheduleChange } from '../core/checks/slots.ts';
import type { VendorReading } from '../core/checks/vendor/document.ts';
import type { VendorPage } from '../core/checks/vendor/page.ts';
import type { BulkResult, BulkTask } from '../core/monitors/bulk.ts';
import type { CheckTarget } from '../core/monitors/monitor.ts';
import type { KeptCalls } from '../core/shared-calls.ts';
import type { FailedCheck } from '../core/system/otlp.ts';
import type { Database } from '../models/database.ts';
import type { BulkChange, Selected } from '../models/monitors/bulk-changes.ts';
import type { AccountChecks } from '../models/monitors/monitor-overview.ts';
import type { IdPrefix } from '../models/secrets/ids.ts';
import type { ChannelAttempt } from '../notifications/attempt-result.ts';
import type { Email } from '../notifications/email/sending.ts';
import type { SlackAuthorization } from '../notifications/slack/authorization.ts';
import type { TestResult, TestedWebhook } from '../notifications/webhook/sending.ts';
import type { TemplateRenderer } from '../notifications/webhook/template/renderer.ts';
import type { DueAttempt } from '../queues/job-queues.ts';
import type { QueueDepth } from '../queues/metrics.ts';
import type { DrillJob, ResultPayload } from '../queues/payloads.ts';
import type { OpenIdProvider } from './accounts/open-id/provider.ts';
import type { Throttle } from './accounts/session/throttle.ts';
import type { UnstoredPings } from './heartbeats/ping-storage.ts';
import type { RateLimitStore } from './middleware/limits.ts';
import type { RateLimits } from './rate-limits.ts';
import type { Caller } from './request-context.ts';
import type { operations } from './schema.generated.ts';

/** Operations served elsewhere: without a token, or at the root. */
type ServedElsewhere = 'getDescription' | `agent${string}` | `pingHeartbeat${string}` | `on${string}`;

/** Ids of the described operations below `/v1`. */
export type OperationId = Exclude<keyof operations, ServedElsewhere>;

type Present<Type, Absent> = [NonNullable<Type>] extends [never] ? Absent : NonNullable<Type>;
type ContentOf<Message> = Message extends { content: infer Types } ? Types[keyof Types] : undefined;
type Responses<Id extends OperationId> = operations[Id]['responses'];

/** Body type of an operation's requests; undefined if it takes none or an optional one. */
export type Body<Id extends OperationId> = ContentOf<operations[Id]['requestBody']>;

/** Query parameters of an operation, with numbers where the description specifies them. */
export type Query<Id extends OperationId> = Present<operations[Id]['parameters']['query'], Record<string, never>>;

/** Body type of an operation's successful responses, in any format; undefined if there is none. */
export type Answer<Id extends OperationId> = ContentOf<Responses<Id>[keyof Responses<Id> & (200 | 201 | 202 | 204)]>;

/** Handles the requests of an operation. They match the description: the router rejects all others. */
export type Handler<Id extends OperationId> = RequestHandler<
  Present<operations[Id]['parameters']['path'], Record<never, string>>,
  Answer<Id>,
  Body<Id>,
  Query<Id>
>;

/** Target of a single probe, and the account that requested it. */
export type PreviewInput = { tenantId: string; target: CheckTarget };

/** External dependencies of the API; the entry file makes them. */
export type ApiDependencies = {
  database: Database;
  rateLimitStore: RateLimitStore;
  /**
   * Called with each committed change of schedules. It may fail or be slow: no request waits for it, and the reconcile
   * chore repairs omissions.
   */
  onScheduleChange: (change: ScheduleChange) => Promise<void>;
  /** Sends a test delivery to a webhook (D-52). */
  sendTestDelivery: (webhook: TestedWebhook) => Promise<TestResult>;
  /** Renders templates of webhooks off the event loop. */
  templates: Pick<TemplateRenderer, 'render'>;
  /** Sends a requested short test message to a chat; null if nothing is connected. */
  sendTestMessage: (channel: Channel) => Promise<TestResult | null>;
  /** Adds the jobs of attempts whose rows are committed; rejects while the queue is away. */
  enqueueAttempts: (attempts: readonly DueAttempt[]) => Promise<void>;
  /** Adds the jobs for the locations' answers in drills; rejects while the queue is away. */
  enqueueDrill: (answers: readonly DrillJob[]) => Promise<void>;
  /** The OpenID Connect provider for signing in; null if none is set up. */
  openId: OpenIdProvider | null;
  /** Exchanges the code that a person brought back from Slack; null if the installation has no Slack app. */
  authorizeSlack: ((code: string) => Promise<SlackAuthorization>) | null;
  /** Name of the installation's Telegram bot in the record of its updates; empty if there is none. */
  telegramBot: string;
  /** Makes one attempt to send to a Slack channel's webhook. */
  sendSlack: (webhookUrl: string, message: ChatMessage) => Promise<ChannelAttempt>;
  /** Makes one attempt to send an email; null if the installation has no mail server. */
  sendEmail: ((email: Email) => Promise<ChannelAttempt>) | null;
  /**
   * Reads a vendor's page within seconds, unless it was read within `freshMs` (ten minutes by default). Never rejects
   * because of the page. The stored part of the page counts toward the tenant.
   */
  readVendorPage: (page: VendorPage, reader: { tenantId: string; freshMs?: number }) => Promise<VendorReading>;
  /**
   * Has the check process of a region probe a target once, and returns the outcome. Null if no process responded within
   * 30 s. Rejects while the queue is away.
   */
  runPreview: (region: string, preview: PreviewInput) => Promise<PreviewOutcome | null>;
  /** Submits results of customers' agents to the evaluator; rejects while the queue is away. */
  submitResults: (results: ResultPayload[]) => Promise<void>;
  /**
   * Reads the depth of each queue, and when the oldest unevaluated results were queued. `oldestResultsAtMs` is in Unix
   * milliseconds; null = none wait. Resolves with null while the queue is away.
   */
  readQueues: () => Promise<{ depths: QueueDepth[]; oldestResultsAtMs: number | null } | null>;
  /** Reports whether PostgreSQL accepts writes, within about a second. */
  isStoring: () => Promise<boolean>;
  /** Names the queues that cannot be written to; empty if all can. */
  findAwayQueues: () => Promise<readonly string[]>;
  /** Sends the span of an agent's failed check to the operator's collector; null if there is none. */
  recordFailedCheck: ((check: FailedCheck) => void) | null;
  /** Pings that this process has received but not stored. */
  unstoredPings: UnstoredPings;
  /** Aborted once this process is to stop: it keeps serving for a while, but must not be given new work. */
  stopping: AbortSignal;
  /** Registry for the metrics of this process, including the API's. */
  metrics: Registry;
  logger: Logger;
  /** Unix milliseconds. */
  now: () => number;
  makeId: (prefix: IdPrefix) => string;
  config: ApiConfig;
};

/** Live streams of one process. */
export type Live = {
  /**
   * Responds with a stream until the reader disconnects, the process stops, or the caller's session or token ends.
   * Throws 429 if the caller has too many.
   */
  open(response: ServerResponse, reader: { caller: Caller; isBack: boolean }): void;
};

/** Changes of many monitors, made in this process. */
export type BulkChanges = {
  /** Changes the given monitors and resolves with the result of each, in order; no job is stored. */
  changeAll(task: BulkTask, monitors: readonly Selected[]): Promise<BulkResult[]>;
  /** Resolves with the result that each would have; changes nothing. */
  rehearseAll(task: BulkTask, monitors: readonly Selected[]): Promise<BulkResult[]>;
  /** Makes a stored change while its caller waits, and resolves with its final state. */
  finish(change: BulkChange, task: BulkTask): Promise<BulkChange>;
  /** Called after a job was stored. */
  wake(): void;
};

/** Dependencies of handlers. */
export type HandlerDependencies = ApiDependencies & {
  /** Shared by all that check passwords and codes, so that they count together. */
  throttle: Throttle;
  live: Live;
  rateLimits: RateLimits;
  /** Shared by all responses that are generated while they are read, so that they count together. */
  takeAnswerSlot: (tenantId: string) => () => void;
  bulkChanges: BulkChanges;
  /** Shared, because the overview and the wallboard show the same checks. */
  accountChecks: KeptCalls<AccountChecks>;
};

/** The dependencies of one handler, step or group of handlers. */
export type Parts<Names extends keyof HandlerDependencies> = Pick<HandlerDependencies, Names>;

export type ApiConfig = {
  /** Base URL of links, without a trailing slash. */
  publicUrl: string;
  /** Name of this cell, which its tokens contain; null or absent if it has none. */
  cell?: string | null;
  /** Whether the plans' limits on the number of monitors apply (D-60). */
  planCountLimits: boolean;
  /** Null = no bot is set up; links contain a placeholder. */
  telegramBotName: string | null;
  /** Null = no Slack app is set up. */
  slackClientId: string | null;
  /** Whether a mail server is set up; false if absent. */
  sendsEmail?: boolean;
  /** URL of a trace's page, with the placeholder `{trace_id}`; null or absent if there is none. */
  traceUrl?: string | null;
  /** Proxies trusted for a client's address: addresses, ranges, `loopback`, `private`. */
  trustedProxies: readonly string[];
};
