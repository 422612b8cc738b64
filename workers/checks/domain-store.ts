import { claimDomain, findDomain, storeDomain } from '../../models/checks/domains.ts';
import { releaseRegistry, findRdapService, acquireRegistry } from '../../models/checks/registries.ts';
import type { Database } from '../../models/database.ts';
import type { DomainStore } from '../../probes/domain/registry-queue.ts';

/** The knowledge of domains in PostgreSQL, for all processes that look domains up. */
export function domainStoreOf(database: Database): DomainStore {
  return {
    read: (name) => findDomain(database, name),
    claim: (name, when) => claimDomain(database, name, when),
    write: (facts) => storeDomain(database, facts),
    findRdapService: (tld) => findRdapService(database, tld),
    acquireRegistry: (server, when) => acquireRegistry(database, server, when),
    releaseRegistry: (server, when) => releaseRegistry(database, server, when),
  };
}
