import type { AuditAction } from '../core/accounts/audit-entry.ts';
import { getUsageHandler, listAuditLogHandler, updateAccountHandler } from './accounts/account.ts';
import {
  acceptInvitationHandler,
  createInvitationHandler,
  deleteInvitationHandler,
  findInvitationHandler,
  listInvitationsHandler,
  listMembersHandler,
  removeMemberHandler,
  updateMemberHandler,
} from './accounts/members.ts';
import {
  listIdentitiesHandler,
  startIdentityLinkHandler,
  unlinkIdentityHandler,
} from './accounts/open-id/identities.ts';
import { getSignInMethodsHandler, startOpenIdHandler } from './accounts/open-id/sign-in.ts';
import {
  endOtherSessionsHandler,
  endSessionHandler,
  getSessionHandler,
  listSessionsHandler,
  signInHandler,
  signOutHandler,
} from './accounts/sessions.ts';
import { createTokenHandler, listTokensHandler, revokeTokenHandler } from './accounts/tokens.ts';
import {
  changePasswordHandler,
  confirmTotpHandler,
  removeTotpHandler,
  renewRecoveryCodesHandler,
  startTotpHandler,
  updateUserHandler,
} from './accounts/user.ts';
import {
  createAgentHandler,
  deleteAgentHandler,
  getAgentHandler,
  listAgentsHandler,
  rotateAgentTokenHandler,
  updateAgentHandler,
} from './agents/agents.ts';
import { getFleetHandler, retireRegionHandler } from './agents/fleet.ts';
import { testChannelHandler, updateWebhookHandler } from './alerts/channel-test.ts';
import {
  createChannelHandler,
  deleteChannelHandler,
  getChannelHandler,
  listChannelsHandler,
  rotateSecretHandler,
  updateChannelHandler,
} from './alerts/channels.ts';
import { getDeliveryHandler, listDeliveriesHandler, redeliverHandler, replayHandler } from './alerts/deliveries.ts';
import { getDrillHandler, listChannelDrillsHandler, listDrillsHandler, startDrillHandler } from './alerts/drills.ts';
import { resendConfirmationHandler } from './alerts/email.ts';
import {
  muteMonitorHandler,
  snoozeIncidentHandler,
  unmuteMonitorHandler,
  unsnoozeIncidentHandler,
} from './alerts/mutes.ts';
import { previewMessagesHandler, previewRulesHandler } from './alerts/previews.ts';
import { listChecksHandler, requestCheckHandler } from './checks/checks.ts';
import type { Handler, HandlerDependencies, OperationId } from './handler.ts';
import { deletePingKeyHandler, getPingKeyHandler, replacePingKeyHandler } from './heartbeats/slug-pings.ts';
import {
  acknowledgeIncidentHandler,
  addIncidentNoteHandler,
  deleteIncidentNoteHandler,
  getIncidentHandler,
  listIncidentsHandler,
  listMonitorIncidentsHandler,
  unacknowledgeIncidentHandler,
} from './incidents/incidents.ts';
import { watchLiveHandler } from './live/live.ts';
import {
  createMaintenanceWindowHandler,
  deleteMaintenanceWindowHandler,
  endMaintenanceWindowHandler,
  extendMaintenanceWindowHandler,
  getMaintenanceWindowHandler,
  listMaintenanceOccurrencesHandler,
  listMaintenanceWindowsHandler,
  previewMaintenanceWindowHandler,
  skipMaintenanceOccurrenceHandler,
  startMonitorMaintenanceHandler,
  updateMaintenanceWindowHandler,
} from './maintenance/windows.ts';
import { changeMonitorsHandler, getMonitorChangesHandler } from './monitors/bulk.ts';
import { getMonitorDependenciesHandler, getMonitorFactsHandler, getMonitorLocationsHandler } from './monitors/facts.ts';
import {
  createMonitorHandler,
  deleteMonitorHandler,
  getMonitorHandler,
  listMonitorsHandler,
  pauseMonitorHandler,
  resumeMonitorHandler,
  updateMonitorHandler,
} from './monitors/monitors.ts';
import {
  getOverviewFiguresHandler,
  getOverviewHandler,
  getOverviewHistoryHandler,
  getWallHandler,
} from './monitors/overview.ts';
import { previewMonitorHandler, previewScheduleHandler } from './monitors/previews.ts';
import { listVendorComponentsHandler, listVendorsHandler } from './monitors/vendors.ts';
import type { paths } from './schema.generated.ts';
import { getMonitorMetricsHandler } from './statistics/metrics.ts';
import { getReportHandler, listReportsHandler } from './statistics/reports.ts';
import { listServiceGapsHandler } from './statistics/service-gaps.ts';
import { getTagSlaHandler } from './statistics/sla.ts';
import { getMonitorStatsHandler, getMonitorUptimeHandler } from './statistics/stats.ts';

/** The handler of an operation, and its path as in the description. */
type Served<Id extends OperationId> = {
  path: keyof paths;
  handler: (dependencies: HandlerDependencies) => Handler<Id>;
  /**
   * Exempts the operation from the limit on an account's concurrent requests. It mostly waits for another service,
   * within a rate limit of its own, or makes only short reads.
   */
  isConcurrencyExempt?: true;
};

/**
 * A route. If it can change something, `records` is its action in the audit log. Null if it stores nothing that a
 * customer could ask about later (previews, tests, and redirects to a provider, before the person returns). Also null
 * for retiring a region, which is recorded in the accounts that it monitored for, and for bulk changes, which record
 * the change of each monitor.
 */
type Route<Id extends OperationId> = Served<Id> &
  ({ method: 'get'; records?: never } | { method: 'post' | 'patch' | 'delete'; records: AuditAction | null });

/**
 * All described operations below `/v1`, by operation id. A missing one, or one without `records`, fails the type check.
 */
export const ROUTES = {
  listMonitors: { method: 'get', path: '/monitors', handler: listMonitorsHandler },
  createMonitor: { method: 'post', path: '/monitors', records: 'monitor.created', handler: createMonitorHandler },
  getMonitor: { method: 'get', path: '/monitors/{id}', isConcurrencyExempt: true, handler: getMonitorHandler },
  updateMonitor: { method: 'patch', path: '/monitors/{id}', records: 'monitor.changed', handler: updateMonitorHandler },
  deleteMonitor: {
    method: 'delete',
    path: '/monitors/{id}',
    records: 'monitor.deleted',
    handler: deleteMonitorHandler,
  },
  pauseMonitor: {
    method: 'post',
    path: '/monitors/{id}/pause',
    records: 'monitor.paused',
    handler: pauseMonitorHandler,
  },
  changeMonitors: { method: 'post', path: '/monitors/bulk', records: null, handler: changeMonitorsHandler },
  getMonitorChanges: { method: 'get', path: '/monitors/bulk/{bulk_id}', handler: getMonitorChangesHandler },
  requestCheck: {
    method: 'post',
    path: '/monitors/{id}/check',
    records: 'monitor.check_requested',
    handler: requestCheckHandler,
  },
  muteMonitor: { method: 'post', path: '/monitors/{id}/mute', records: 'monitor.muted', handler: muteMonitorHandler },
  unmuteMonitor: {
    method: 'delete',
    path: '/monitors/{id}/mute',
    records: 'monitor.unmuted',
    handler: unmuteMonitorHandler,
  },
  startDrill: { method: 'post', path: '/monitors/{id}/drill', records: 'monitor.drilled', handler: startDrillHandler },
  listDrills: { method: 'get', path: '/monitors/{id}/drills', handler: listDrillsHandler },
  getDrill: { method: 'get', path: '/drills/{id}', handler: getDrillHandler },
  resumeMonitor: {
    method: 'post',
    path: '/monitors/{id}/resume',
    records: 'monitor.resumed',
    handler: resumeMonitorHandler,
  },
  listMonitorIncidents: { method: 'get', path: '/monitors/{id}/incidents', handler: listMonitorIncidentsHandler },
  listChecks: { method: 'get', path: '/monitors/{id}/checks', handler: listChecksHandler },
  getMonitorStats: { method: 'get', path: '/monitors/{id}/stats', handler: getMonitorStatsHandler },
  getMonitorUptime: { method: 'get', path: '/monitors/{id}/uptime', handler: getMonitorUptimeHandler },
  getMonitorFacts: { method: 'get', path: '/monitors/{id}/facts', handler: getMonitorFactsHandler },
  getMonitorLocations: { method: 'get', path: '/monitors/{id}/locations', handler: getMonitorLocationsHandler },
  getMonitorDependencies: {
    method: 'get',
    path: '/monitors/{id}/dependencies',
    handler: getMonitorDependenciesHandler,
  },
  getOverview: { method: 'get', path: '/overview', handler: getOverviewHandler },
  getOverviewHistory: { method: 'get', path: '/overview/history', handler: getOverviewHistoryHandler },
  getOverviewFigures: { method: 'get', path: '/overview/figures', handler: getOverviewFiguresHandler },
  getWall: { method: 'get', path: '/wall', handler: getWallHandler },
  getFleet: { method: 'get', path: '/fleet', handler: getFleetHandler },
  retireRegion: { method: 'post', path: '/fleet/retirements', records: null, handler: retireRegionHandler },
  tryMonitor: {
    method: 'post',
    path: '/trials',
    records: null,
    isConcurrencyExempt: true,
    handler: previewMonitorHandler,
  },
  listVendors: { method: 'get', path: '/vendors', handler: listVendorsHandler },
  listVendorComponents: { method: 'get', path: '/vendors/components', handler: listVendorComponentsHandler },
  watchLive: { method: 'get', path: '/live', isConcurrencyExempt: true, handler: watchLiveHandler },
  startMonitorMaintenance: {
    method: 'post',
    path: '/monitors/{id}/maintenance',
    records: 'maintenance.created',
    handler: startMonitorMaintenanceHandler,
  },
  listMaintenanceWindows: {
    method: 'get',
    path: '/maintenance-windows',
    handler: listMaintenanceWindowsHandler,
  },
  createMaintenanceWindow: {
    method: 'post',
    path: '/maintenance-windows',
    records: 'maintenance.created',
    handler: createMaintenanceWindowHandler,
  },
  previewMaintenanceWindow: {
    method: 'post',
    path: '/maintenance-windows/preview',
    records: null,
    handler: previewMaintenanceWindowHandler,
  },
  listMaintenanceOccurrences: {
    method: 'get',
    path: '/maintenance-windows/occurrences',
    handler: listMaintenanceOccurrencesHandler,
  },
  getMaintenanceWindow: { method: 'get', path: '/maintenance-windows/{id}', handler: getMaintenanceWindowHandler },
  updateMaintenanceWindow: {
    method: 'patch',
    path: '/maintenance-windows/{id}',
    records: 'maintenance.changed',
    handler: updateMaintenanceWindowHandler,
  },
  deleteMaintenanceWindow: {
    method: 'delete',
    path: '/maintenance-windows/{id}',
    records: 'maintenance.deleted',
    handler: deleteMaintenanceWindowHandler,
  },
  endMaintenanceWindow: {
    method: 'post',
    path: '/maintenance-windows/{id}/end',
    records: 'maintenance.ended',
    handler: endMaintenanceWindowHandler,
  },
  extendMaintenanceWindow: {
    method: 'post',
    path: '/maintenance-windows/{id}/extend',
    records: 'maintenance.extended',
    handler: extendMaintenanceWindowHandler,
  },
  skipMaintenanceOccurrence: {
    method: 'post',
    path: '/maintenance-windows/{id}/skip',
    records: 'maintenance.skipped',
    handler: skipMaintenanceOccurrenceHandler,
  },
  listIncidents: { method: 'get', path: '/incidents', handler: listIncidentsHandler },
  getIncident: { method: 'get', path: '/incidents/{id}', handler: getIncidentHandler },
  acknowledgeIncident: {
    method: 'post',
    path: '/incidents/{id}/acknowledge',
    records: 'incident.acknowledged',
    handler: acknowledgeIncidentHandler,
  },
  unacknowledgeIncident: {
    method: 'delete',
    path: '/incidents/{id}/acknowledge',
    records: 'incident.unacknowledged',
    handler: unacknowledgeIncidentHandler,
  },
  snoozeIncident: {
    method: 'post',
    path: '/incidents/{id}/snooze',
    records: 'incident.snoozed',
    handler: snoozeIncidentHandler,
  },
  unsnoozeIncident: {
    method: 'delete',
    path: '/incidents/{id}/snooze',
    records: 'incident.unsnoozed',
    handler: unsnoozeIncidentHandler,
  },
  addIncidentNote: {
    method: 'post',
    path: '/incidents/{id}/notes',
    records: 'incident.note_added',
    handler: addIncidentNoteHandler,
  },
  deleteIncidentNote: {
    method: 'delete',
    path: '/incidents/{id}/notes/{note_id}',
    records: 'incident.note_deleted',
    handler: deleteIncidentNoteHandler,
  },
  listServiceGaps: { method: 'get', path: '/service/gaps', handler: listServiceGapsHandler },
  listChannels: { method: 'get', path: '/channels', handler: listChannelsHandler },
  createChannel: { method: 'post', path: '/channels', records: 'channel.created', handler: createChannelHandler },
  getChannel: { method: 'get', path: '/channels/{id}', handler: getChannelHandler },
  updateChannel: { method: 'patch', path: '/channels/{id}', records: 'channel.changed', handler: updateChannelHandler },
  deleteChannel: {
    method: 'delete',
    path: '/channels/{id}',
    records: 'channel.deleted',
    handler: deleteChannelHandler,
  },
  testChannel: {
    method: 'post',
    path: '/channels/{id}/test',
    records: null,
    isConcurrencyExempt: true,
    handler: testChannelHandler,
  },
  resendConfirmation: {
    method: 'post',
    path: '/channels/{id}/confirmation',
    records: 'channel.confirmation_sent',
    isConcurrencyExempt: true,
    handler: resendConfirmationHandler,
  },
  updateWebhook: {
    method: 'patch',
    path: '/channels/{id}/webhook',
    records: 'channel.changed',
    handler: updateWebhookHandler,
  },
  rotateSecret: {
    method: 'post',
    path: '/channels/{id}/rotate-secret',
    records: 'channel.secret_rotated',
    handler: rotateSecretHandler,
  },
  previewRules: {
    method: 'post',
    path: '/channels/{id}/rules/preview',
    records: null,
    handler: previewRulesHandler,
  },
  previewMessages: { method: 'get', path: '/channels/{id}/previews', handler: previewMessagesHandler },
  listChannelDrills: { method: 'get', path: '/channels/{id}/drills', handler: listChannelDrillsHandler },
  listDeliveries: { method: 'get', path: '/channels/{id}/deliveries', handler: listDeliveriesHandler },
  replayDeliveries: {
    method: 'post',
    path: '/channels/{id}/replay',
    records: 'channel.replayed',
    handler: replayHandler,
  },
  getDelivery: { method: 'get', path: '/deliveries/{id}', handler: getDeliveryHandler },
  redeliver: {
    method: 'post',
    path: '/deliveries/{id}/redeliver',
    records: 'channel.redelivered',
    handler: redeliverHandler,
  },
  listAgents: { method: 'get', path: '/agents', handler: listAgentsHandler },
  createAgent: { method: 'post', path: '/agents', records: 'agent.created', handler: createAgentHandler },
  getAgent: { method: 'get', path: '/agents/{id}', handler: getAgentHandler },
  updateAgent: { method: 'patch', path: '/agents/{id}', records: 'agent.changed', handler: updateAgentHandler },
  deleteAgent: { method: 'delete', path: '/agents/{id}', records: 'agent.deleted', handler: deleteAgentHandler },
  rotateAgentToken: {
    method: 'post',
    path: '/agents/{id}/rotate',
    records: 'agent.token_rotated',
    handler: rotateAgentTokenHandler,
  },
  listReports: { method: 'get', path: '/reports', handler: listReportsHandler },
  getMonitorMetrics: { method: 'get', path: '/metrics', handler: getMonitorMetricsHandler },
  getTagSla: { method: 'get', path: '/sla', handler: getTagSlaHandler },
  getReport: { method: 'get', path: '/reports/{id}', handler: getReportHandler },
  getSignInMethods: { method: 'get', path: '/sign-in-methods', handler: getSignInMethodsHandler },
  startOpenIdSignIn: {
    method: 'post',
    path: '/session/open-id',
    records: null,
    isConcurrencyExempt: true,
    handler: startOpenIdHandler,
  },
  signIn: { method: 'post', path: '/session', records: 'member.signed_in', handler: signInHandler },
  getSession: { method: 'get', path: '/session', handler: getSessionHandler },
  signOut: { method: 'delete', path: '/session', records: 'member.signed_out', handler: signOutHandler },
  listSessions: { method: 'get', path: '/sessions', handler: listSessionsHandler },
  endOtherSessions: {
    method: 'post',
    path: '/sessions/end-others',
    records: 'member.other_sessions_ended',
    handler: endOtherSessionsHandler,
  },
  endSession: { method: 'delete', path: '/sessions/{id}', records: 'member.session_ended', handler: endSessionHandler },
  updateUser: { method: 'patch', path: '/user', records: 'member.changed', handler: updateUserHandler },
  changePassword: {
    method: 'post',
    path: '/user/password',
    records: 'member.password_changed',
    handler: changePasswordHandler,
  },
  startTotp: { method: 'post', path: '/user/totp', records: 'member.second_factor_begun', handler: startTotpHandler },
  removeTotp: {
    method: 'delete',
    path: '/user/totp',
    records: 'member.second_factor_stopped',
    handler: removeTotpHandler,
  },
  confirmTotp: {
    method: 'post',
    path: '/user/totp/confirm',
    records: 'member.second_factor_started',
    handler: confirmTotpHandler,
  },
  renewRecoveryCodes: {
    method: 'post',
    path: '/user/recovery-codes',
    records: 'member.recovery_codes_renewed',
    handler: renewRecoveryCodesHandler,
  },
  listIdentities: { method: 'get', path: '/user/identities', handler: listIdentitiesHandler },
  startIdentityLink: {
    method: 'post',
    path: '/user/identities',
    records: null,
    isConcurrencyExempt: true,
    handler: startIdentityLinkHandler,
  },
  unlinkIdentity: {
    method: 'delete',
    path: '/user/identities/{id}',
    records: 'member.identity_unlinked',
    handler: unlinkIdentityHandler,
  },
  listMembers: { method: 'get', path: '/members', handler: listMembersHandler },
  updateMember: {
    method: 'patch',
    path: '/members/{id}',
    records: 'member.role_changed',
    handler: updateMemberHandler,
  },
  removeMember: { method: 'delete', path: '/members/{id}', records: 'member.removed', handler: removeMemberHandler },
  listInvitations: { method: 'get', path: '/invitations', handler: listInvitationsHandler },
  createInvitation: {
    method: 'post',
    path: '/invitations',
    records: 'invitation.created',
    handler: createInvitationHandler,
  },
  acceptInvitation: {
    method: 'post',
    path: '/invitations/accept',
    records: 'invitation.accepted',
    handler: acceptInvitationHandler,
  },
  findInvitation: { method: 'get', path: '/invitations/{id}', handler: findInvitationHandler },
  deleteInvitation: {
    method: 'delete',
    path: '/invitations/{id}',
    records: 'invitation.deleted',
    handler: deleteInvitationHandler,
  },
  listTokens: { method: 'get', path: '/tokens', handler: listTokensHandler },
  createToken: { method: 'post', path: '/tokens', records: 'token.created', handler: createTokenHandler },
  revokeToken: { method: 'delete', path: '/tokens/{id}', records: 'token.revoked', handler: revokeTokenHandler },
  updateAccount: { method: 'patch', path: '/account', records: 'account.renamed', handler: updateAccountHandler },
  previewSchedule: {
    method: 'post',
    path: '/monitors/schedule-preview',
    records: null,
    handler: previewScheduleHandler,
  },
  getPingKey: { method: 'get', path: '/ping-key', handler: getPingKeyHandler },
  replacePingKey: {
    method: 'post',
    path: '/ping-key',
    records: 'account.ping_key_created',
    handler: replacePingKeyHandler,
  },
  deletePingKey: {
    method: 'delete',
    path: '/ping-key',
    records: 'account.ping_key_deleted',
    handler: deletePingKeyHandler,
  },
  getUsage: { method: 'get', path: '/usage', handler: getUsageHandler },
  listAuditLog: { method: 'get', path: '/audit-log', handler: listAuditLogHandler },
} as const satisfies { [Id in OperationId]: Route<Id> };
