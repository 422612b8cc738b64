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

/** Operations that are served elsewhere: without a token, or at the root. */
type ServedElsewhere = 'getDescription' | `agent${string}` | `pingHeartbeat${string}` | `on${string}`;

/** The described operations below `/v1`, by their ids in the description. */
export type OperationId = Exclude<keyof operations, ServedElsewhere>;

type Present<Type, Absent> = [NonNullable<Type>] extends [never] ? Absent : NonNullable<Type>;
type ContentOf<Message> = Message extends { content: infer Types } ? Types[keyof Types] : undefined;
type Responses<Id extends OperationId> = operations[Id]['responses'];

/** The body of an operation's requests; undefined where it takes none, or one may be left out. */
export type Body<Id extends OperationId> = ContentOf<operations[Id]['requestBody']>;

/** The query parameters that an operation knows, read as numbers where the description says so. */
export type Query<Id extends OperationId> = Present<operations[Id]['parameters']['query'], Record<string, never>>;

/** What an operation answers with where it succeeds, in any of its forms; undefined where that is nothing. */
export type Answer<Id extends OperationId> = ContentOf<Responses<Id>[keyof Responses<Id> & (200 | 201 | 202 | 204)]>;

/**
 * Answers the requests of an operation, which have the shape that the description gives them: the router lets no others
 * through.
 */
export type Handler<Id extends OperationId> = RequestHandler<
  Present<operations[Id]['parameters']['path'], Record<never, string>>,
  Answer<Id>,
  Body<Id>,
  Query<Id>
>;

/** What is to be probed once, and for whom. */
export type PreviewInput = { tenantId: string; target: CheckTarget };

/** Everything that the API needs from outside; the entry file makes it. */
export type ApiDependencies = {
  database: Database;
  rateLimitStore: RateLimitStore;
  /**
   * Called with each committed change of schedules. It may fail or take its time: no request waits for it, the
   * reconcile chore mends it.
   */
  onScheduleChange: (change: ScheduleChange) => Promise<void>;
  /** Tries a webhook (D-52). */
  sendTestDelivery: (webhook: TestedWebhook) => Promise<TestResult>;
  /** Renders templates of webhooks beside the event loop. */
  templates: Pick<TemplateRenderer, 'render'>;
  /** Sends a chat a short message that its owner asked for; null where nothing is connected. */
  sendTestMessage: (channel: Channel) => Promise<TestResult | null>;
  /** Adds the jobs of attempts whose rows are committed; rejects while the queue is away. */
  enqueueAttempts: (attempts: readonly DueAttempt[]) => Promise<void>;
  /** Adds the jobs of what locations are to answer in drills; rejects while the queue is away. */
  enqueueDrill: (answers: readonly DrillJob[]) => Promise<void>;
  /** The OpenID Connect provider that people may sign in with; null = none is set up. */
  openId: OpenIdProvider | null;
  /** Exchanges the code that a person brought back from Slack; null while the installation has no Slack app. */
  authorizeSlack: ((code: string) => Promise<SlackAuthorization>) | null;
  /** The name of the installation's Telegram bot in the record of its updates; empty while there is none. */
  telegramBot: string;
  /** Makes one attempt at a Slack channel's webhook. */
  sendSlack: (webhookUrl: string, message: ChatMessage) => Promise<ChannelAttempt>;
  /** Makes one attempt at an email; null while the installation has no mail server. */
  sendEmail: ((email: Email) => Promise<ChannelAttempt>) | null;
  /**
   * Reads a vendor's page within seconds, unless it was read within `freshMs` (ten minutes by default). It never
   * rejects because of the page. What is stored of the page counts for the tenant.
   */
  readVendorPage: (page: VendorPage, reader: { tenantId: string; freshMs?: number }) => Promise<VendorReading>;
  /**
   * Has the check process of a region probe a target once, and waits for the outcome. Null where no process answered
   * within 30 s. Rejects while the queue is away.
   */
  runPreview: (region: string, preview: PreviewInput) => Promise<PreviewOutcome | null>;
  /** Hands results of customers' agents to the evaluator; rejects while the queue is away. */
  submitResults: (results: ResultPayload[]) => Promise<void>;
  /**
   * Reads the depth of each queue, and since when the oldest unevaluated results have waited. `oldestResultsAtMs` is in
   * Unix milliseconds; null = none wait. The whole is null while the queue is away.
   */
  readQueues: () => Promise<{ depths: QueueDepth[]; oldestResultsAtMs: number | null } | null>;
  /** Whether PostgreSQL stores what it is given; answers within about a second. */
  isStoring: () => Promise<boolean>;
  /** Names of queues that cannot be written to; empty when all can. */
  findAwayQueues: () => Promise<readonly string[]>;
  /** Sends the span of an agent's failed check to the operator's collector; null where none is. */
  recordFailedCheck: ((check: FailedCheck) => void) | null;
  /** Knows which pings that came to this process are not stored. */
  unstoredPings: UnstoredPings;
  /** Aborted once this process is to stop: it goes on serving for a while, but must not be given new work. */
  stopping: AbortSignal;
  /** Where the metrics of this process are kept; the API adds its own. */
  metrics: Registry;
  logger: Logger;
  /** Unix milliseconds. */
  now: () => number;
  makeId: (prefix: IdPrefix) => string;
  config: ApiConfig;
};

/** The streams of one process. */
export type Live = {
  /**
   * Answers with a stream until the reader goes, the process stops, or the caller's session or token is over. Throws
   * 429 where the caller has too many.
   */
  open(response: ServerResponse, reader: { caller: Caller; isBack: boolean }): void;
};

/** Changes of many monitors, made in this process. */
export type BulkChanges = {
  /** Changes these monitors and resolves with what came of each, in their order; nothing is recorded of it. */
  changeAll(task: BulkTask, monitors: readonly Selected[]): Promise<BulkResult[]>;
  /** Resolves with what would come of each; nothing is changed. */
  rehearseAll(task: BulkTask, monitors: readonly Selected[]): Promise<BulkResult[]>;
  /** Makes a stored change whose caller waits for it, and resolves with what became of it. */
  finish(change: BulkChange, task: BulkTask): Promise<BulkChange>;
  /** A job was stored. */
  wake(): void;
};

/** What handlers are given besides. */
export type HandlerDependencies = ApiDependencies & {
  /** One for all that check passwords and codes: they count together. */
  throttle: Throttle;
  live: Live;
  rateLimits: RateLimits;
  /** One for all that is made while it is read: it counts together. */
  takeAnswerSlot: (tenantId: string) => () => void;
  bulkChanges: BulkChanges;
  /** The overview and the wallboard show the same checks. */
  accountChecks: KeptCalls<AccountChecks>;
};

/** The dependencies that one handler, step or group of handlers uses. */
export type Parts<Names extends keyof HandlerDependencies> = Pick<HandlerDependencies, Names>;

export type ApiConfig = {
  /** Base of links, without a trailing slash. */
  publicUrl: string;
  /** The name of this cell, which its tokens carry; null or absent = it has none. */
  cell?: string | null;
  /** Whether the plans' counts of monitors apply (D-60). */
  planCountLimits: boolean;
  /** Null = no bot is set up; links name a placeholder. */
  telegramBotName: string | null;
  /** Null = no Slack app is set up. */
  slackClientId: string | null;
  /** Whether a mail server is set up; absent = none is. */
  sendsEmail?: boolean;
  /** The page of a trace, with `{trace_id}` in it; null or absent = there is none. */
  traceUrl?: string | null;
  /** The proxies that are believed about a client's address: addresses, ranges, `loopback`, `private`. */
  trustedProxies: readonly string[];
};
