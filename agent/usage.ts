/** What `--help` says. */
export const USAGE = `Usage: npm run agent [-- --help | --version]        (node agent/main.ts)

The customer's agent of Spotcheck: checks from here what the service asks it to, and reports what it sees.

Environment:
  SPOTCHECK_URL            address of the service, https://...                          required
  SPOTCHECK_AGENT_TOKEN    the agent's token, spa_...                                   required
  DATA_DIR                 where the agent keeps its key, its work and what waits       .data
                           for the service: a folder of its own in DATA_DIR/agents
  AGENT_PULL_SECONDS       seconds between two check-ins, 1 to 60                       15
  AGENT_BUFFER_RESULTS     results that wait for the service, 100 to 100000             10000
  AGENT_BUFFER_HOURS       and for how many hours, 1 to 24                              24
  AGENT_CONCURRENCY        checks under way at a time, 1 to 2000                        100
  ALLOW_PRIVATE_NETWORK    false: check public addresses only                           true
  SELF_CHECK_HOSTS         host:port, commas between: asked when most checks fail       not set
                           at once, and if none answers the failures do not count
  LOG_LEVEL                trace, debug, info, warn, error, fatal or silent             info
  NODE_EXTRA_CA_CERTS      a file of certificate authorities to trust besides

Signals:
  SIGTERM, SIGINT          ends checks under way (12 s at most), sends what waits, stops; a second one stops at once

Exit status:
  0   stopped
  1   refused: wrong configuration, another agent with this token runs here, or the service does not know the token
  2   wrong usage
  70  a fault of the agent's own; start it again
`;
