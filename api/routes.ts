import { Router } from 'express';
import type { RequestHandler } from 'express';
import type { HandlerDependencies } from './dependencies.ts';
import { deleteAgentHandler, getAgentHandler, listAgentsHandler } from './handlers/agents.ts';
import {
  createChannelHandler,
  deleteChannelHandler,
  getChannelHandler,
  listChannelsHandler,
  rotateSecretHandler,
  testChannelHandler,
  updateChannelHandler,
} from './handlers/channels.ts';
import { requestCheckHandler } from './handlers/check-request.ts';
import { listChecksHandler } from './handlers/checks.ts';
import { getDeliveryHandler, listDeliveriesHandler, redeliverHandler, replayHandler } from './handlers/deliveries.ts';
import { getFleetHandler } from './handlers/fleet.ts';
import {
  acknowledgeIncidentHandler,
  addIncidentNoteHandler,
  deleteIncidentNoteHandler,
  getIncidentHandler,
  unacknowledgeIncidentHandler,
} from './handlers/incident-record.ts';
import { listIncidentsHandler, listMonitorIncidentsHandler } from './handlers/incidents.ts';
import { acceptInvitationHandler, createInvitationHandler, deleteInvitationHandler, findInvitationHandler, listInvitationsHandler } from './handlers/invitations.ts';
import { listMembersHandler, removeMemberHandler, updateMemberHandler } from './handlers/members.ts';
import {
  createMonitorHandler,
  deleteMonitorHandler,
  getMonitorHandler,
  listMonitorsHandler,
  pauseMonitorHandler,
  resumeMonitorHandler,
  updateMonitorHandler,
} from './handlers/monitors.ts';
import { watchLiveHandler } from './handlers/live.ts';
import { createAgentHandler, rotateAgentTokenHandler } from './handlers/own-agents.ts';
import { getOverviewHandler, getOverviewHistoryHandler } from './handlers/overview.ts';
import { getReportHandler, listReportsHandler } from './handlers/reports.ts';
import { confirmTotpHandler, removeTotpHandler, renewRecoveryCodesHandler, startTotpHandler } from './handlers/second-factor.ts';
import { listServiceGapsHandler } from './handlers/service-gaps.ts';
import { endOtherSessionsHandler, endSessionHandler, getSessionHandler, listSessionsHandler, signOutHandler } from './handlers/sessions.ts';
import { signInHandler } from './handlers/sign-in.ts';
import { getMonitorStatsHandler, getMonitorUptimeHandler } from './handlers/stats.ts';
import { tryMonitorHandler } from './handlers/trials.ts';
import { createTokenHandler, listTokensHandler, revokeTokenHandler } from './handlers/tokens.ts';
import { getUsageHandler } from './handlers/usage.ts';
import { changePasswordHandler, updateUserHandler } from './handlers/user.ts';
import { onlyAs } from './middleware/admission.ts';
import type { operations } from './schema.generated.ts';

/** Operations that are served elsewhere: without a token, or at the root. */
type ServedElsewhere = 'getDescription' | `agent${string}` | `pingHeartbeat${string}` | `on${string}`;
type OperationId = Exclude<keyof operations, ServedElsewhere>;

type Route = { method: 'get' | 'post' | 'patch' | 'delete'; path: string; handler: (dependencies: HandlerDependencies) => RequestHandler };

/** Every described operation below `/v1`, by its id in the description: a missing one fails the type check. */
export const ROUTES = {
  listMonitors: { method: 'get', path: '/monitors', handler: listMonitorsHandler },
  createMonitor: { method: 'post', path: '/monitors', handler: createMonitorHandler },
  getMonitor: { method: 'get', path: '/monitors/:id', handler: getMonitorHandler },
  updateMonitor: { method: 'patch', path: '/monitors/:id', handler: updateMonitorHandler },
  deleteMonitor: { method: 'delete', path: '/monitors/:id', handler: deleteMonitorHandler },
  pauseMonitor: { method: 'post', path: '/monitors/:id/pause', handler: pauseMonitorHandler },
  requestCheck: { method: 'post', path: '/monitors/:id/check', handler: requestCheckHandler },
  resumeMonitor: { method: 'post', path: '/monitors/:id/resume', handler: resumeMonitorHandler },
  listMonitorIncidents: { method: 'get', path: '/monitors/:id/incidents', handler: listMonitorIncidentsHandler },
  listChecks: { method: 'get', path: '/monitors/:id/checks', handler: listChecksHandler },
  getMonitorStats: { method: 'get', path: '/monitors/:id/stats', handler: getMonitorStatsHandler },
  getMonitorUptime: { method: 'get', path: '/monitors/:id/uptime', handler: getMonitorUptimeHandler },
  getOverview: { method: 'get', path: '/overview', handler: getOverviewHandler },
  getOverviewHistory: { method: 'get', path: '/overview/history', handler: getOverviewHistoryHandler },
  getFleet: { method: 'get', path: '/fleet', handler: getFleetHandler },
  tryMonitor: { method: 'post', path: '/trials', handler: tryMonitorHandler },
  watchLive: { method: 'get', path: '/live', handler: watchLiveHandler },
  listIncidents: { method: 'get', path: '/incidents', handler: listIncidentsHandler },
  getIncident: { method: 'get', path: '/incidents/:id', handler: getIncidentHandler },
  acknowledgeIncident: { method: 'post', path: '/incidents/:id/acknowledge', handler: acknowledgeIncidentHandler },
  unacknowledgeIncident: { method: 'delete', path: '/incidents/:id/acknowledge', handler: unacknowledgeIncidentHandler },
  addIncidentNote: { method: 'post', path: '/incidents/:id/notes', handler: addIncidentNoteHandler },
  deleteIncidentNote: { method: 'delete', path: '/incidents/:id/notes/:note_id', handler: deleteIncidentNoteHandler },
  listServiceGaps: { method: 'get', path: '/service/gaps', handler: listServiceGapsHandler },
  listChannels: { method: 'get', path: '/channels', handler: listChannelsHandler },
  createChannel: { method: 'post', path: '/channels', handler: createChannelHandler },
  getChannel: { method: 'get', path: '/channels/:id', handler: getChannelHandler },
  updateChannel: { method: 'patch', path: '/channels/:id', handler: updateChannelHandler },
  deleteChannel: { method: 'delete', path: '/channels/:id', handler: deleteChannelHandler },
  testChannel: { method: 'post', path: '/channels/:id/test', handler: testChannelHandler },
  rotateSecret: { method: 'post', path: '/channels/:id/rotate-secret', handler: rotateSecretHandler },
  listDeliveries: { method: 'get', path: '/channels/:id/deliveries', handler: listDeliveriesHandler },
  replayDeliveries: { method: 'post', path: '/channels/:id/replay', handler: replayHandler },
  getDelivery: { method: 'get', path: '/deliveries/:id', handler: getDeliveryHandler },
  redeliver: { method: 'post', path: '/deliveries/:id/redeliver', handler: redeliverHandler },
  listAgents: { method: 'get', path: '/agents', handler: listAgentsHandler },
  createAgent: { method: 'post', path: '/agents', handler: createAgentHandler },
  getAgent: { method: 'get', path: '/agents/:id', handler: getAgentHandler },
  deleteAgent: { method: 'delete', path: '/agents/:id', handler: deleteAgentHandler },
  rotateAgentToken: { method: 'post', path: '/agents/:id/rotate', handler: rotateAgentTokenHandler },
  listReports: { method: 'get', path: '/reports', handler: listReportsHandler },
  getReport: { method: 'get', path: '/reports/:id', handler: getReportHandler },
  signIn: { method: 'post', path: '/session', handler: signInHandler },
  getSession: { method: 'get', path: '/session', handler: getSessionHandler },
  signOut: { method: 'delete', path: '/session', handler: signOutHandler },
  listSessions: { method: 'get', path: '/sessions', handler: listSessionsHandler },
  endOtherSessions: { method: 'post', path: '/sessions/end-others', handler: endOtherSessionsHandler },
  endSession: { method: 'delete', path: '/sessions/:id', handler: endSessionHandler },
  updateUser: { method: 'patch', path: '/user', handler: updateUserHandler },
  changePassword: { method: 'post', path: '/user/password', handler: changePasswordHandler },
  startTotp: { method: 'post', path: '/user/totp', handler: startTotpHandler },
  removeTotp: { method: 'delete', path: '/user/totp', handler: removeTotpHandler },
  confirmTotp: { method: 'post', path: '/user/totp/confirm', handler: confirmTotpHandler },
  renewRecoveryCodes: { method: 'post', path: '/user/recovery-codes', handler: renewRecoveryCodesHandler },
  listMembers: { method: 'get', path: '/members', handler: listMembersHandler },
  updateMember: { method: 'patch', path: '/members/:id', handler: updateMemberHandler },
  removeMember: { method: 'delete', path: '/members/:id', handler: removeMemberHandler },
  listInvitations: { method: 'get', path: '/invitations', handler: listInvitationsHandler },
  createInvitation: { method: 'post', path: '/invitations', handler: createInvitationHandler },
  acceptInvitation: { method: 'post', path: '/invitations/accept', handler: acceptInvitationHandler },
  findInvitation: { method: 'get', path: '/invitations/:id', handler: findInvitationHandler },
  deleteInvitation: { method: 'delete', path: '/invitations/:id', handler: deleteInvitationHandler },
  listTokens: { method: 'get', path: '/tokens', handler: listTokensHandler },
  createToken: { method: 'post', path: '/tokens', handler: createTokenHandler },
  revokeToken: { method: 'delete', path: '/tokens/:id', handler: revokeTokenHandler },
  getUsage: { method: 'get', path: '/usage', handler: getUsageHandler },
} as const satisfies Record<OperationId, Route>;

/** The router of all of them; each is reached by its own door only. */
export function createRouter(dependencies: HandlerDependencies): Router {
  const router = Router({ caseSensitive: true });
  for (const [id, { method, path, handler }] of Object.entries<Route>(ROUTES)) router[method](path, onlyAs(id), handler(dependencies));
  return router;
}
