// Made from openapi.yaml by npm run openapi:types; do not edit.
// openapi.yaml sha256 e64d92bf851a75f3e5cd5868e57011b1a85ede86bb1e673a4bd09eeae90e6a07

export type paths = {
    "/monitors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the monitors
         * @description Every monitor of the account in order of creation, without `check_spec` and `agent_sources`.
         */
        get: operations["listMonitors"];
        put?: never;
        /**
         * Create a monitor
         * @description Only `name` is required. A monitor without a target (heartbeats need none) is a draft: it stays `pending` and is not checked until a PATCH
         *     gives it one. A vendor's status page that the body makes us read is read before the answer, 8 seconds at most. Needs the `write` scope.
         *
         */
        post: operations["createMonitor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/monitors/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        /**
         * Read one monitor
         * @description The monitor with `check_spec` and `agent_sources`. Secret values are left out: names of secret headers, the kind of credentials and flags remain.
         *     The `check_spec` can be sent back in a PATCH as it is; its read-only parts are ignored there, and credentials, a secret body and a secret payload
         *     stay. To keep the secret headers, too, add `preserveSecretHeaders`: without it they are cleared. Secrets are kept only while scheme, host and port of the
         *     target (and a `Host` header, where one is sent) stay; otherwise a 400 asks for them again.
         *
         */
        get: operations["getMonitor"];
        put?: never;
        post?: never;
        /**
         * Delete a monitor
         * @description Stops the checks and resolves an open incident. Needs the `write` scope.
         */
        delete: operations["deleteMonitor"];
        options?: never;
        head?: never;
        /**
         * Change a monitor
         * @description All or nothing: the resulting monitor is validated as a whole, then stored at once. Omitted fields keep their value, except these:
         *
         *     - `check_spec` replaces the whole object. Omitting it on an http monitor clears headers, secret headers, credentials, body and assertions;
         *       all other types keep their settings. `warn_days` and `dependencies` are separate: they stay until they are sent.
         *     - `down_min_sources` omitted or null goes back to the default quorum.
         *
         *     Needs the `write` scope.
         *
         */
        patch: operations["updateMonitor"];
        trace?: never;
    };
    "/monitors/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause a monitor
         * @description Stops the checks; the status becomes `paused` and an open incident is resolved. Pausing twice changes nothing. Takes no body. Needs the `write` scope.
         */
        post: operations["pauseMonitor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/monitors/{id}/check": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check a monitor now
         * @description An extension. Every source that can looks at the monitor once, without waiting for its turn: the service's own at once (`asked`), the account's agents at their
         *     next check-in (`waits`). What they see counts like any other check: read it from `/monitors/{id}/checks`, where it is due at `requested_at` or later.
         *     `sources` is empty where the service checks by itself (domain, dns, vendor). A monitor that is not checked at present (paused, without a target, a
         *     heartbeat) is a 409. At most 6 a minute for a monitor. Takes no body. Needs the `write` scope.
         *
         */
        post: operations["requestCheck"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/monitors/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a monitor
         * @description A paused monitor is checked again and is `pending` until its first check completes. Any other monitor stays as it is.
         *     Takes no body. Needs the `write` scope.
         *
         */
        post: operations["resumeMonitor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/monitors/{id}/incidents": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        /**
         * List the incidents of one monitor
         * @description Newest first; without `limit` the newest 500.
         */
        get: operations["listMonitorIncidents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/monitors/{id}/checks": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        /**
         * List the single results of a monitor
         * @description An extension. Newest first, 100 without `limit`, for as long as the plan keeps them: 7 days on Free, 30 on Solo, 90 on Pro. Of a heartbeat monitor
         *     these are its pings, and the deadlines that passed without one.
         *
         */
        get: operations["listChecks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/monitors/{id}/stats": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        /**
         * Uptime, response times and counts of a monitor
         * @description An extension. Of a window of 400 days at the most, in all and in steps, 1,500 at the most. Uptime comes from changes of state, to the second;
         *     response times from single results and, where they are gone, from hourly and daily histograms, with an error of 2 % at the most.
         *
         */
        get: operations["getMonitorStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/monitors/{id}/uptime": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        /**
         * The uptime of a monitor day by day
         * @description An extension. One entry for each UTC day, oldest first; the last one is today, up to now.
         */
        get: operations["getMonitorUptime"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/monitors/{id}/facts": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        /**
         * What is known of a monitor's domain and certificate
         * @description An extension. What the registry said of the domain (of domain monitors, and of http monitors with `warn_days`), the certificate of an https monitor that
         *     expires first of those that its places saw last, and the advisories that stand: those that were sent of an expiry that is still the present one.
         *
         */
        get: operations["getMonitorFacts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Everything at a glance
         * @description How many monitors there are, how many are up and down, and all of them.
         */
        get: operations["getOverview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/overview/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The past of some monitors in a few numbers
         * @description An extension. Of up to 50 monitors the uptime of the last 90 UTC days, today included, and the median response time of each of the last 24 hours: what a
         *     list draws beside their names. Monitors that this account does not have are left out.
         *
         */
        get: operations["getOverviewHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/fleet": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How the installation is doing
         * @description An extension, for operators of the installation (users marked so; others get a 403): its processes, shared agents and queues. Nothing in it is of any account.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        get: operations["getFleet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/fleet/retirements": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give up the region of a shared agent
         * @description An extension, for operators of the installation. Without `confirmed` it answers what giving the region up would do, and does nothing. With it nobody can
         *     choose the region any more, and up to 1,000 of its monitors leave it: those that have other agents lose this one, the others get the region `move_to`, or
         *     one that is alive. With `move_to` all of them get that. `left` says how many are to leave yet: send it again until there are none. Each is recorded in its
         *     account's audit log as changed by the operator. Where monitors have nowhere to go it is a 409. `spotcheck agent restore` takes it back.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        post: operations["retireRegion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/trials": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Try a monitor before it is saved
         * @description An extension. Probes once what a creation with `monitor` would watch, or, with `monitor_id`, what a PATCH with `monitor` would make of that monitor (without
         *     `monitor`: the monitor as it is), and answers what was seen. `monitor` is read as a creation or a PATCH is, with the same 400s; only its name may be
         *     missing. Nothing is stored. Shared agents take trials (`region` chooses one; without it one of the draft's own, and a 400 where
         *     stored secrets would go to one that the monitor does not have), for domain, dns and vendor the
         *     service itself. A heartbeat is a 409. An answer takes up to 30 seconds. At most 10 a minute for each account,
         *     reads of status pages that are not in the catalogue included. Needs the `write` scope.
         *
         */
        post: operations["tryMonitor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vendors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the vendors that are known by an id
         * @description An extension. What a vendor monitor's `target` can name, by name. Any other vendor goes by the URL of its status page.
         */
        get: operations["listVendors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/vendors/components": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what a vendor's status page lists
         * @description An extension. What a vendor monitor with this `target` could watch, each with its present state. The page is read by a worker, 8 seconds at most, unless it
         *     was within the last minute. A page that cannot be read, or is none, is no error: `failure` says why, and there are no components. AWS lists only what is in trouble, Azure
         *     nothing. Pages that are not in the catalogue are read at most 10 times a minute for each account, previews included.
         *
         */
        get: operations["listVendorComponents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Watch what changes
         * @description An extension. A stream of server-sent events (`text/event-stream`, as `EventSource` reads it) without an end: whatever changes in the account is told within a second.
         *
         *     | event | `data`, as JSON |
         *     |---|---|
         *     | `ready` | `{}`: from now on nothing is missed. Load what you show after it, or once more if you did before |
         *     | `monitor` | a `Monitor`, as it is now |
         *     | `incident` | an `Incident` |
         *     | `channel` | a `Channel` |
         *     | `agent` | an `Agent`; that it was seen once more is not told |
         *     | `reset` | `{"wait_ms": 120}`: something was missed, or too much changed at once. Load what you show anew, after so many milliseconds |
         *
         *     Of what was deleted `data` is `{"id": "...", "deleted": true}`. Changes of a thing that follow one another closely are told once. A stream that comes back
         *     with `Last-Event-ID` begins with `reset` instead of `ready`. Every 15 seconds there is a comment. The stream ends when the server stops or the reader
         *     does not keep up (come back after `retry`), and when the session or token ends (then coming back is a 401). At most 20 at a time for
         *     each person or token: one more is a 429. Opening one counts as one request.
         *
         */
        get: operations["watchLive"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/incidents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the incidents of the account
         * @description Newest first; without `limit` the newest 500.
         */
        get: operations["listIncidents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/incidents/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The incident's id, `inc_...`. */
                id: components["parameters"]["IncidentId"];
            };
            cookie?: never;
        };
        /**
         * Read an incident with everything that belongs to it
         * @description An extension. What happened (`timeline`: every change of the monitor's state from the incident's first to its last, with what each place said at
         *     that moment), what each place saw at its first failure, degraded and down (`evidence`), what was sent because of it (`deliveries`, of the last 30 days), and `notes`.
         *     Of each the first 500 are shown. Incidents outlive their monitors.
         *
         */
        get: operations["getIncident"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/incidents/{id}/acknowledge": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The incident's id, `inc_...`. */
                id: components["parameters"]["IncidentId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say that somebody is looking after an incident
         * @description An extension. The first one stays: who acknowledges again changes nothing. Also for incidents that are resolved. A `note` is added to the incident's
         *     notes; sent again with the same text it is not added twice. Alerts go on as they would. Needs the `write` scope.
         *
         */
        post: operations["acknowledgeIncident"];
        /**
         * Take an acknowledgement back
         * @description An extension. Notes stay. Needs the `write` scope.
         */
        delete: operations["unacknowledgeIncident"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/incidents/{id}/notes": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The incident's id, `inc_...`. */
                id: components["parameters"]["IncidentId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add a note to an incident
         * @description An extension. Line breaks stay, other control characters become blanks. An incident has 500 notes at the most; then it is a 409. Needs the `write` scope.
         *
         */
        post: operations["addIncidentNote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/incidents/{id}/notes/{note_id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The incident's id, `inc_...`. */
                id: components["parameters"]["IncidentId"];
                /** @description The note's id, `note_...`. */
                note_id: string;
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete a note of an incident
         * @description An extension. Needs the `write` scope.
         */
        delete: operations["deleteIncidentNote"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/service/gaps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the times in which the service itself stood still
         * @description An extension. Stretches in which what tells our duties when (`clock`; also the whole service being stopped), our checks, or deciding what they said
         *     stood still, newest first; without `limit` the newest 500. They are the same for every account, and count as unknown in everyone's uptime; but for
         *     `overload`, when there were more checks than our agents could run, which counts for the monitors alone that were not checked in time.
         *
         */
        get: operations["listServiceGaps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/channels": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the alert channels
         * @description In order of creation.
         */
        get: operations["listChannels"];
        put?: never;
        /**
         * Create an alert channel
         * @description A webhook receives a signed test delivery first (`"test": true`) and is stored only if it answers with 2xx within 8 seconds. Its signing secret is in
         *     this answer and nowhere else. Telegram and Slack channels are `pending` until the returned link is opened. Needs the `write` scope.
         *
         */
        post: operations["createChannel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/channels/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The channel's id, `nch_...`. */
                id: components["parameters"]["ChannelId"];
            };
            cookie?: never;
        };
        /**
         * Read one channel
         * @description The full address of a webhook is never returned, only its host.
         */
        get: operations["getChannel"];
        put?: never;
        post?: never;
        /**
         * Delete a channel
         * @description No further alert goes there. Needs the `write` scope.
         */
        delete: operations["deleteChannel"];
        options?: never;
        head?: never;
        /**
         * Change a channel
         * @description Omitted fields keep their value; `monitor_ids` replaces the whole list. Neither the type nor the address of a webhook can change: delete the
         *     channel and create another. Needs the `write` scope.
         *
         */
        patch: operations["updateChannel"];
        trace?: never;
    };
    "/channels/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The channel's id, `nch_...`. */
                id: components["parameters"]["ChannelId"];
            };
            cookie?: never;
        };
        /**
         * List what was sent to a channel
         * @description An extension. Every delivery of the last 30 days with what became of it, newest first; without `limit` the newest 500.
         *
         */
        get: operations["listDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/channels/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The channel's id, `nch_...`. */
                id: components["parameters"]["ChannelId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send again what failed
         * @description An extension. All deliveries of the channel that failed and were made from `since` to `until` are sent once more, in the order in which they were made
         *     and each under its old `delivery_id`, with a whole timetable of retries. What is pending again is not sent a second time. A delivery that has
         *     had 100 attempts is left out. A chat reads of each that it is sent again, and how it was then. Needs the `write` scope.
         *
         */
        post: operations["replayDeliveries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/channels/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The channel's id, `nch_...`. */
                id: components["parameters"]["ChannelId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test now
         * @description An extension. A webhook gets the test delivery that it got when it was created (`"test": true`), a chat a short message. It is sent once and not
         *     recorded, also where the channel is disabled. What does not arrive is a 400 that starts with `test delivery failed`. Needs the `write` scope.
         *
         */
        post: operations["testChannel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/channels/{id}/rotate-secret": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The channel's id, `nch_...`. */
                id: components["parameters"]["ChannelId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change the signing secret of a webhook
         * @description An extension, for webhooks only. The new secret is in this answer and nowhere else, and signs from now on. For 24 hours the one before signs as well: in
         *     `X-Service-Signature-Previous` and as the second value of `webhook-signature`. A change within these hours ends that of the one before the last. Needs
         *     the `write` scope.
         *
         */
        post: operations["rotateSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deliveries/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The delivery's id, `dlv_...`. */
                id: components["parameters"]["DeliveryId"];
            };
            cookie?: never;
        };
        /**
         * Read one delivery with every attempt
         * @description An extension. The message as it was sent, and of each attempt when it was made, how long it took, and what was answered. Neither the address nor a
         *     secret is shown; where an answer quotes them they are struck out.
         *
         */
        get: operations["getDelivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deliveries/{id}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The delivery's id, `dlv_...`. */
                id: components["parameters"]["DeliveryId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a delivery again
         * @description An extension. Whatever became of it, it is sent once more under its old `delivery_id`, with a whole timetable of retries; its attempts go on counting. A
         *     409 while it is pending, when it has had 100 attempts, and when its channel is disabled or not connected. A chat reads that it is sent again, and how it
         *     was then. Needs the `write` scope.
         *
         */
        post: operations["redeliver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the agents
         * @description The account's own agents and the shared ones, in order of creation.
         */
        get: operations["listAgents"];
        put?: never;
        /**
         * Make an agent of one's own
         * @description An extension. The answer shows its token and the command that starts it, and nothing shows them again. For people: a new agent can be given secrets to check with. At the limit of the plan it is a 400.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        post: operations["createAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's id, `agt_...`. */
                id: components["parameters"]["AgentId"];
            };
            cookie?: never;
        };
        /** Read one agent */
        get: operations["getAgent"];
        put?: never;
        post?: never;
        /**
         * Delete one of the account's own agents
         * @description It leaves its monitors, whose `down_min_sources` drops to the number of sources left, never below 1. A shared agent cannot be deleted: 403.
         *     Needs the `write` scope.
         *
         */
        delete: operations["deleteAgent"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's id, `agt_...`. */
                id: components["parameters"]["AgentId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give an agent a new token
         * @description An extension. The old one ends at once, and the key that secrets were sealed to is forgotten: the next one that the agent shows counts. Brings an agent back that was revoked. A shared agent's cannot be changed: 403. Takes no body.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        post: operations["rotateAgentToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/reports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the reports
         * @description Newest first. A report of each week (from Monday) and each month, UTC, is made when it has ended, once, of the monitors that exist then; it does not change any
         *     more. An account without monitors gets none.
         *
         */
        get: operations["listReports"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/reports/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The report's id, `rep_...`. */
                id: components["parameters"]["ReportId"];
            };
            cookie?: never;
        };
        /**
         * Read one report
         * @description With its extensions: the days of each monitor, the incidents and the stretches in which the service itself stood still. `format` is one, too: `csv` is a
         *     line for each monitor, `html` a page to read and to print. `Accept` is not looked at.
         *
         */
        get: operations["getReport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read who is signed in
         * @description An extension. The same as signing in answers: what a page needs after it was loaded anew.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        get: operations["getSession"];
        put?: never;
        /**
         * Sign in
         * @description An extension. Sets the cookie of a new session, and ends the one that the request came with. Needs no token, and no `X-CSRF-Token`; a page of another
         *     origin cannot call it. Which of address and password was wrong is not said. Where the second factor is on and `code` is missing it answers
         *     401 with `code_required`: ask for a code of the app, or a recovery code, and send all three. 10 failures for one account, or 30 from one
         *     network (an IPv4 address or an IPv6 /64), within 15 minutes: 429 with `Retry-After`, whatever is sent. A browser, or else a network, that
         *     signed in to the account before has 10 of its own; a second cookie tells browsers.
         *
         */
        post: operations["signIn"];
        /**
         * Sign out
         * @description An extension. Ends this session and takes the cookie away.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        delete: operations["signOut"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List my sessions
         * @description An extension. Where the person is signed in, newest first.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        get: operations["listSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id, `ses_...`. */
                id: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End one of my sessions
         * @description An extension. Whoever is signed in there has to sign in again. Of the session of this request it is the same as signing out.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        delete: operations["endSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sessions/end-others": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End all my other sessions
         * @description An extension. Signs the person out everywhere but here. Takes no body.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        post: operations["endOtherSessions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change my name or theme
         * @description An extension. Fields that are left out stay.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        patch: operations["updateUser"];
        trace?: never;
    };
    "/user/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change my password
         * @description An extension. Ends all other sessions of the person. A wrong `current` is a 400, and counts like a failure to sign in.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        post: operations["changePassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/totp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin with a second factor
         * @description An extension. Makes a secret for an authenticator app (RFC 6238: SHA-1, 6 digits, 30 seconds). It counts from its first code on (confirmTotp);
         *     asked for again before that, it is another one. 409 where the second factor is on already. A wrong password is a 400, and counts like a failure to sign in.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        post: operations["startTotp"];
        /**
         * Turn the second factor off
         * @description An extension. Takes the password, and a code of the app or a recovery code; a wrong one is a 400, and counts like a failure to sign in. Ends all other
         *     sessions of the person. 409 where it is not on.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        delete: operations["removeTotp"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/totp/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Turn the second factor on
         * @description An extension. Takes the first code of the app, and gives ten recovery codes, each good for one time in place of a code; they are shown now and never again.
         *     Ends all other sessions of the person. A wrong code is a 400, and counts like a failure to sign in. 409 where it was not begun, or is on already.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        post: operations["confirmTotp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/user/recovery-codes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make new recovery codes
         * @description An extension. The old ones are good for nothing from then on; the new ones are shown now and never again. Takes the password, and a code of the app or an
         *     old recovery code, as removeTotp does. 409 where the second factor is not on.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        post: operations["renewRecoveryCodes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the members
         * @description An extension. Everybody who can sign in to the account, in order of arrival. For every member: who may change something can be asked.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        get: operations["listMembers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/members/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The member's id, `usr_...`. */
                id: components["parameters"]["MemberId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a member, or leave
         * @description An extension. Owners can remove anybody, and everybody can leave. It ends the sessions of the member, and the open invitations that they made. API tokens stay, whoever made them. The last owner cannot go: 409.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        delete: operations["removeMember"];
        options?: never;
        head?: never;
        /**
         * Change the role of a member
         * @description An extension. Ends the sessions of the member, but the one of the request. A member who was an owner takes the open invitations that they made along. The last owner stays one: 409.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        patch: operations["updateMember"];
        trace?: never;
    };
    "/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the invitations
         * @description An extension. Those that nobody has taken up, in order of creation, without their links; also those that are past, for 30 days.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        get: operations["listInvitations"];
        put?: never;
        /**
         * Invite somebody
         * @description An extension. Shows the link, and nothing shows it again: send it yourself, no mail is sent. It is good once, within 7 days, and for whoever has it. An older one for the same address ends. 409 for who is a member already, and beside 100 others that are open.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        post: operations["createInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/invitations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Look at an invitation
         * @description An extension. For who has the link, whose last part is to be given; needs no session. One that was used, taken back or is older than 7 days is a 404.
         *
         */
        get: operations["findInvitation"];
        put?: never;
        post?: never;
        /**
         * Take an invitation back
         * @description An extension. Its link is good for nothing from then on.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        delete: operations["deleteInvitation"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/invitations/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept an invitation
         * @description An extension. Makes the member, and signs them in as signIn does. 404 for an invitation that is not good any more, 409 where the address has an account already.
         *
         */
        post: operations["acceptInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the API tokens
         * @description An extension. In order of creation, without their values: those that are good, and those that ended within the last 30 days.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        get: operations["listTokens"];
        put?: never;
        /**
         * Make an API token
         * @description An extension. The answer shows the token, and nothing shows it again. As many as the plan allows can be good at a time; one more is a 400.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        post: operations["createToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The token's id, `tok_...`. */
                id: components["parameters"]["TokenId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an API token
         * @description An extension. It is good for nothing from then on. One that was revoked or has expired is a 404.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        delete: operations["revokeToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the plan and what is used of it
         * @description An extension. For tokens as well. A limit is null where the installation does not count.
         *
         */
        get: operations["getUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audit-log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List who changed what
         * @description An extension. Newest first; without `limit` the newest 100. Every change of the account leaves one entry, written together with the change: through
         *     this API by people and tokens, at the command line and the queue board by the operator, and what the service does by itself, such as disabling a channel whose chat sent
         *     `/stop`. What was refused or changed nothing leaves none, but one: sign-ins that are refused because of too many wrong passwords. Secrets are told
         *     as `changed` alone. Names are as they were then. Entries are kept for 400 days. For owners: the log tells addresses, and who signed in when.
         *     The console's alone: an API token, whatever its scopes, is answered with 403.
         *
         */
        get: operations["listAuditLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * This description
         * @description Also at the root of the installation. Needs no token.
         */
        get: operations["getDescription"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ping/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's `check_spec.heartbeat.token`. */
                token: components["parameters"]["HeartbeatToken"];
            };
            cookie?: never;
        };
        /**
         * Report in
         * @description The job ran. A ping is answered once it is stored; the same one again within 200 ms counts as one.
         */
        get: operations["pingHeartbeat"];
        put?: never;
        /**
         * Report in, with output
         * @description The job ran. The first 10 kB of the body are kept with the ping, whatever its type, and its first line alone once there were 64 KiB within an hour; a longer
         *     one is no error. Of pings that come far more often than the interval asks for, not each is kept; all count.
         *
         */
        post: operations["pingHeartbeatWithBody"];
        delete?: never;
        options?: never;
        /**
         * Report in, without an answer's body
         * @description The same as GET.
         */
        head: operations["pingHeartbeatByHead"];
        patch?: never;
        trace?: never;
    };
    "/ping/{token}/start": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's `check_spec.heartbeat.token`. */
                token: components["parameters"]["HeartbeatToken"];
            };
            cookie?: never;
        };
        /**
         * Report the start of a job, without output
         * @description The same as POST.
         */
        get: operations["pingHeartbeatStartByGet"];
        put?: never;
        /**
         * Report the start of a job
         * @description A sign of life that leaves the status as it is. Without an end within `maxDurationSeconds` the monitor goes down. The end that follows measures the run.
         *
         */
        post: operations["pingHeartbeatStart"];
        delete?: never;
        options?: never;
        /**
         * Report the start of a job, without an answer's body
         * @description The same as POST.
         */
        head: operations["pingHeartbeatStartByHead"];
        patch?: never;
        trace?: never;
    };
    "/ping/{token}/fail": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's `check_spec.heartbeat.token`. */
                token: components["parameters"]["HeartbeatToken"];
            };
            cookie?: never;
        };
        /**
         * Report a failed job, without output
         * @description The same as POST.
         */
        get: operations["pingHeartbeatFailByGet"];
        put?: never;
        /**
         * Report a failed job
         * @description The monitor goes down; with `failEnabled` false this is a 400.
         */
        post: operations["pingHeartbeatFail"];
        delete?: never;
        options?: never;
        /**
         * Report a failed job, without an answer's body
         * @description The same as POST.
         */
        head: operations["pingHeartbeatFailByHead"];
        patch?: never;
        trace?: never;
    };
    "/ping/{token}/{exit_status}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's `check_spec.heartbeat.token`. */
                token: components["parameters"]["HeartbeatToken"];
                /** @description The job's exit status; 0 is a success. Another number is a 404. */
                exit_status: number;
            };
            cookie?: never;
        };
        /**
         * Report a job's exit status, without output
         * @description The same as POST.
         */
        get: operations["pingHeartbeatExitStatusByGet"];
        put?: never;
        /**
         * Report a job's exit status
         * @description 0 counts as a ping, anything else as a failure, which with `failEnabled` false is a 400.
         */
        post: operations["pingHeartbeatExitStatus"];
        delete?: never;
        options?: never;
        /**
         * Report a job's exit status, without an answer's body
         * @description The same as POST.
         */
        head: operations["pingHeartbeatExitStatusByHead"];
        patch?: never;
        trace?: never;
    };
    "/agent/v1/pull": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check in and fetch the work
         * @description To be sent every 15 seconds or so: an agent that was not heard of for 90 seconds is offline. The work is complete each time; what is not in it is not
         *     to be checked any more. Fields of the request that we do not know are ignored. An answer with `ETag` can be asked for again with `If-None-Match`.
         *
         */
        post: operations["agentPull"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/v1/ingest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Hand in results
         * @description Up to 1000 results in at most 1 MiB. A malformed one is a 400 that names it, and none of them is taken. Results that are dropped would be dropped again.
         *     A result that comes twice counts once, so that after a 503, or no answer, the same request is sent again.
         *
         */
        post: operations["agentIngest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/v1/discoveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upload what was found in the network
         * @description An extension, for agents of other makes, which may use `/agent/v1/discovery` as well: any JSON of up to 1 MiB is answered 204, and nothing of it is kept.
         *
         */
        post: operations["agentDiscoveries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
};
export type webhooks = {
    "monitor.down": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A monitor stopped working
         * @description Any 2xx within 8 seconds accepts it. No answer and 5xx are tried again up to 3 times; 3xx and 4xx are final.
         */
        post: operations["onMonitorDown"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "monitor.degraded": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A monitor works, but not well
         * @description For example too slow, or a certificate that is about to expire.
         */
        post: operations["onMonitorDegraded"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "monitor.up": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A monitor works again
         * @description Also the first time that a new monitor is up, and the test delivery before a channel is stored (`"test": true`).
         *
         */
        post: operations["onMonitorUp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "monitor.unknown": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * The state of a monitor cannot be determined
         * @description Too few places have reported lately; `detail.sources_silent` names those that have not. The monitor's status reads `pending` meanwhile.
         *
         */
        post: operations["onMonitorUnknown"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "agent.offline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * One of your agents stopped checking in
         * @description Once per change and agent, within ten seconds after 90 seconds without a check-in; not for an agent that never checked in. Every enabled webhook channel
         *     hears of it, whatever monitors it is for. When most agents fall silent within two minutes the fault is likely ours: it is told 60 seconds later
         *     then, and only of those that are still silent. Time in which the service itself was away does not count.
         *
         */
        post: operations["onAgentOffline"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "agent.online": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * One of your agents checks in again
         * @description Once per change and agent, after an `agent.offline`.
         */
        post: operations["onAgentOnline"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "advisory.domain_expiry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A domain or certificate is about to expire
         * @description Once each at the monitor's threshold and at 14, 7, 3 and 1 days left, as far as these are below it; of several that have passed at once
         *     only the lowest is said. A renewed expiry starts anew. It changes no status.
         *
         */
        post: operations["onDomainExpiry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
};
export type components = {
    schemas: {
        /** @description What every error looks like. */
        Error: {
            /** @description A sentence for people. */
            error: string;
            /** @description The request's id, `req_...`. */
            request_id?: string;
        };
        Done: {
            /** @constant */
            ok: true;
        };
        /** @description Unix seconds. */
        UnixSeconds: number;
        /** @description Unix seconds, or null. */
        NullableUnixSeconds: number | null;
        QueryText: string;
        IdList: string;
        /**
         * @description What is watched. It never changes.
         * @enum {string}
         */
        MonitorType: "http" | "tcp" | "icmp" | "udp" | "domain" | "heartbeat" | "dns" | "vendor";
        /**
         * @description `pending` until the first decision, and while the state cannot be determined.
         * @enum {string}
         */
        MonitorStatus: "up" | "down" | "degraded" | "paused" | "pending";
        /** @description How many there were lately (within some ten seconds), and below how many milliseconds half and 99 percent of them lie. */
        Spread: {
            count: number;
            p50_ms: number;
            p99_ms: number;
        };
        FleetProcess: {
            /** @description `web`, `check hanoi`, `evaluate` and the like; `spotcheck` is everything in one. */
            kind: string;
            version: string;
            host: string;
            pid: number;
            started_at: components["schemas"]["UnixSeconds"];
            seen_at: components["schemas"]["UnixSeconds"];
            /** @description Starts of checks after their due times. */
            lateness: components["schemas"]["Spread"] | null;
            /** @description From the end of the oldest probe of a batch to its results being stored and decided. */
            evaluation_lag: components["schemas"]["Spread"] | null;
        };
        /** @description An extension. */
        Fleet: {
            processes: components["schemas"]["FleetProcess"][];
            /** @description The shared ones. */
            agents: {
                id: string;
                name: string;
                region: string;
                version: string | null;
                last_seen_at: components["schemas"]["NullableUnixSeconds"];
                offline_since: components["schemas"]["NullableUnixSeconds"];
                retired_at: components["schemas"]["NullableUnixSeconds"];
                monitors: number;
            }[];
            customers_agents: {
                /** @description Those that have ever checked in. */
                total: number;
                offline: number;
            };
            /** @description Null while the queue is away. */
            queues: {
                name: string;
                waiting: number;
                active: number;
                delayed: number;
                failed: number;
            }[] | null;
            /** @description For how long the oldest results wait that are not evaluated yet; null where none do. */
            oldest_results_seconds: number | null;
        };
        TrialCreate: {
            monitor_id?: string;
            region?: string;
            monitor?: components["schemas"]["MonitorPatch"];
        };
        VendorList: {
            vendors: components["schemas"]["Vendor"][];
        };
        Vendor: {
            /** @example github */
            id: string;
            /** @example GitHub */
            name: string;
            /**
             * @description Its status page for people.
             * @example https://www.githubstatus.com
             */
            page_url: string;
        };
        VendorPage: {
            /** @description Of the catalogue; the host of a page that is not in it. */
            id: string;
            /** @description What the catalogue or else the page calls the vendor. */
            name: string;
            /** @description The status page for people. */
            page_url: string;
            /**
             * @description Whether the page lists all components, those in trouble only (AWS, whose components are written `service:region`), or none (Azure).
             * @enum {string}
             */
            lists: "all" | "troubled" | "none";
            /** @description In the page's order. */
            components: components["schemas"]["VendorComponent"][];
            /** @description Why the page could not be read; null where it was. */
            failure: string | null;
        };
        VendorComponent: {
            /** @description The page's own; for AWS `service:region`. */
            id: string;
            /** @description Several components of a page may share one; the id tells them apart. */
            name: string;
            /** @enum {string} */
            state: "operational" | "maintenance" | "degraded" | "partial" | "major";
        };
        RetirementCreate: {
            /** @description Of a shared agent. */
            region: string;
            /** @description The region that its monitors get for it; null or left out = those that have no other get one that is alive. */
            move_to?: string | null;
            /**
             * @description Do it.
             * @default false
             */
            confirmed?: boolean;
        };
        /** @description An extension. */
        Retirement: {
            region: string;
            move_to: string | null;
            /** @description Those that it watched when this was asked. */
            monitors: number;
            /** @description Those of them that no other agent watches. */
            only_source: number;
            /** @description Those that get another region for it. */
            moved: number;
            /** @description Those whose `down_min_sources` falls to the agents left. */
            down_min_sources_lowered: number;
            /** @description Whether it was done. */
            retired: boolean;
            /** @description Monitors that are to leave it yet. */
            left: number;
        };
        /** @description An extension. */
        Trial: {
            /** @description Of the shared agent that looked; null where it was the service itself. */
            region: string | null;
            verdict: components["schemas"]["Vote"];
            /** @description A word of a fixed list; null where it was up. */
            cause: string | null;
            /** @description A sentence for people. */
            reason: string | null;
            latency_ms: number | null;
            http_status: number | null;
            /** @description Of http, tcp and udp. */
            phases: components["schemas"]["PhasesMs"] | null;
            /** @description Of http, tcp and udp; null where none came, or none was waited for. */
            answer: components["schemas"]["SeenAnswer"] | null;
            /** @description The one that expires first of those met on the way. */
            certificate: components["schemas"]["TrialCertificate"] | null;
            /** @description Of http, the expected status first, then `body_match` (on `text_body`) and the assertions as they are listed, each by itself. */
            conditions: components["schemas"]["TrialCondition"][];
            /** @description What icmp, dns, domain and vendor saw, in words. */
            facts: {
                name: string;
                text: string;
            }[];
        };
        TrialCertificate: {
            subject: string;
            issuer: string;
            valid_from: components["schemas"]["UnixSeconds"];
            valid_to: components["schemas"]["UnixSeconds"];
        };
        TrialCondition: {
            /** @enum {string} */
            source: "status" | "text_body" | "json_body" | "header" | "response_time" | "cert_expiry";
            op: string;
            value: string | null;
            path: string | null;
            name: string | null;
            /**
             * @description `missing`: what it speaks of was not in the answer; `not_reached`: there was no answer, or the computing time of the check was over before.
             * @enum {string}
             */
            outcome: "holds" | "differs" | "missing" | "not_reached";
            /** @description A sentence for people; null where it holds. */
            reason: string | null;
        };
        /** @description An extension. */
        CheckRequested: {
            id: string;
            requested_at: components["schemas"]["UnixSeconds"];
            sources: {
                /** @description The agent. */
                id: string;
                /**
                 * @description Whether it looks at once, at its next check-in, or not at all.
                 * @enum {string}
                 */
                state: "asked" | "waits" | "unable";
                /**
                 * @description Why it is unable.
                 * @enum {string}
                 */
                reason?: "capability" | "no_key" | "other_key";
            }[];
        };
        MonitorState: {
            /** @description The monitor, `mon_...`. */
            id: string;
            status: components["schemas"]["MonitorStatus"];
        };
        Monitor: {
            /** @description `mon_...` */
            id: string;
            name: string;
            type: components["schemas"]["MonitorType"];
            /** @description What is watched; `""` for heartbeats and drafts. */
            target: string;
            /** @description Seconds from check to check. */
            interval_seconds: number;
            /** @description Milliseconds that one check may take. */
            timeout_ms: number;
            /** @description The HTTP method. */
            method: string | null;
            /** @description Status codes that are good, such as `2xx` or `200,301`. */
            expected_status: string | null;
            /** @description Text that the first 1 MiB of the body must contain. */
            body_match: string | null;
            /**
             * @description 1 = follow redirects.
             * @enum {integer}
             */
            follow_redirects: 0 | 1;
            /** @description Failures in a row before a place counts as bad. */
            down_after_failures: number;
            /** @description Successes in a row before a bad place counts as good again. */
            up_after_successes: number;
            /** @description How many places must see a failure before the monitor is down. */
            down_min_sources: number;
            /** @description Heartbeats only: seconds that a ping may be late. Written as `grace_seconds`. */
            heartbeat_grace_seconds: number | null;
            /** @description Percent. */
            sla_target: number | null;
            status: components["schemas"]["MonitorStatus"];
            /**
             * @description 1 = being checked, 0 = paused.
             * @enum {integer}
             */
            enabled: 0 | 1;
            /** @description An extension. Since when it is as it is, in Unix seconds: the `at` of the transition, or the creation. */
            state_since: number;
            created_at: components["schemas"]["UnixSeconds"];
            updated_at: components["schemas"]["UnixSeconds"];
        };
        MonitorDetail: {
            /** @description `mon_...` */
            id: string;
            name: string;
            type: components["schemas"]["MonitorType"];
            /** @description What is watched; `""` for heartbeats and drafts. */
            target: string;
            /** @description Seconds from check to check. */
            interval_seconds: number;
            /** @description Milliseconds that one check may take. */
            timeout_ms: number;
            /** @description The HTTP method. */
            method: string | null;
            /** @description Status codes that are good, such as `2xx` or `200,301`. */
            expected_status: string | null;
            /** @description Text that the first 1 MiB of the body must contain. */
            body_match: string | null;
            /**
             * @description 1 = follow redirects.
             * @enum {integer}
             */
            follow_redirects: 0 | 1;
            /** @description Failures in a row before a place counts as bad. */
            down_after_failures: number;
            /** @description Successes in a row before a bad place counts as good again. */
            up_after_successes: number;
            /** @description How many places must see a failure before the monitor is down. */
            down_min_sources: number;
            /** @description Heartbeats only: seconds that a ping may be late. Written as `grace_seconds`. */
            heartbeat_grace_seconds: number | null;
            /** @description Percent. */
            sla_target: number | null;
            status: components["schemas"]["MonitorStatus"];
            /**
             * @description 1 = being checked, 0 = paused.
             * @enum {integer}
             */
            enabled: 0 | 1;
            /** @description An extension. Since when it is as it is, in Unix seconds: the `at` of the transition, or the creation. */
            state_since: number;
            created_at: components["schemas"]["UnixSeconds"];
            updated_at: components["schemas"]["UnixSeconds"];
            check_spec: components["schemas"]["CheckSpec"];
            /** @description The agents that probe this monitor, sorted. */
            agent_sources: string[];
            /** @description An extension, there only where an own agent among `agent_sources` cannot run this monitor, so that what it says is no vote. `capability`: it does not
             *     name the monitor's type; `no_key`: it shows no key to seal the monitor's secrets to; `other_key`: it shows another key than the first.
             *      */
            agent_sources_unable?: {
                id: string;
                /** @enum {string} */
                reason: "capability" | "no_key" | "other_key";
            }[];
        };
        /** @description Other fields are ignored. */
        AgentPull: {
            /** @description What the agent can measure, such as `http`, `cert`, `tcp`, `icmp`, `udp`; others are ignored. Without any it gets no work. */
            capabilities?: string[] | null;
            /** @description Cut to 64 characters. */
            version?: string | null;
            /** @description Cut to 64 characters. */
            arch?: string | null;
            /** @description X25519, 32 bytes in base64. The first one that an agent shows is pinned; secrets are sealed to it and to no other. */
            publicKey?: string | null;
        };
        AgentWork: {
            agentId: string;
            /** @enum {string} */
            agentKind: "tenant" | "first_party";
            /** @description Those of the offered ones that are known here. */
            capabilities: ("http" | "cert" | "tcp" | "icmp" | "udp")[];
            work: components["schemas"]["AgentWorkItem"][];
        };
        AgentWorkItem: {
            monitorId: string;
            /** @description The source that the results are counted under: the agent. */
            sourceKey: string;
            /** @enum {string} */
            type: "http" | "tcp" | "icmp" | "udp";
            target: string;
            intervalSeconds: number;
            timeoutMs: number;
            method: string | null;
            expectedStatus: string | null;
            followRedirects: boolean;
            /** @description Only the keys of the type. The monitor's `body_match` is the first assertion, on `text_body`. */
            checkSpec: {
                /** @description As in a monitor: `headers`, `secretHeaderNames`, `auth` (its `type`), `body`, `bodySecret`, `contentType`. */
                request?: Record<string, unknown>;
                assertions?: Record<string, unknown>[];
                /** @description As in a monitor, but with the escapes of a `utf8` payload resolved; bytes that are no text come as `hex`. */
                transport?: Record<string, unknown>;
                ping?: Record<string, unknown>;
            };
            /** @description When somebody asked last that the monitor be looked at out of turn, Unix seconds. Look at an item at once when this is another one than before. */
            askedAt?: number;
            /** @description The secrets as JSON in a libsodium sealed box for `publicKey`, base64. */
            sealedSecrets?: string;
            /**
             * @description Why the monitor's secrets are not in the item.
             * @enum {string}
             */
            secretsWithheld?: "no_key" | "other_key";
        };
        /** @description Other fields are ignored, here and in each result. */
        AgentResults: {
            results: components["schemas"]["AgentResult"][];
        };
        AgentResult: {
            monitorId: string;
            ok: boolean;
            /** @description Null when all is well. `unsupported_by_agent` is no vote. Cut to 64 characters. */
            cause?: string | null;
            /** @description The cause in a sentence for people. Cut to 500 characters. */
            reason?: string | null;
            latencyMs?: number | null;
            /** @description From 100 to 999; 0 is as good as null. */
            httpStatus?: number | null;
            /** @description Works, but not well. Only with `ok`. */
            degraded?: boolean | null;
            /** @description The start of the probe, Unix seconds with decimals: the identity of the result. */
            ts: number;
            /** @description Of it `notAfter` is used, the end of the certificate that was seen, or `daysRemaining`; `timing` (`dnsMs`, `connectMs`, `tlsMs`, `firstByteMs` or
             *     `waitMs`, `downloadMs`) and `answer` are kept with failures, and left out where they are of another form. There may be more.
             *      */
            detail?: {
                /** @description Unix seconds or an ISO date; empty is as good as null. */
                notAfter?: number | string | null;
            } | null;
        };
        AgentResultsTaken: {
            accepted: number;
            dropped: number;
            droppedBecause: {
                /** @description Monitors that the agent is no source of, that are paused or gone. */
                notAssigned: number;
                /** @description More than 60 seconds ahead. */
                future: number;
                /** @description More than 24 hours old. */
                tooOld: number;
                /** @description More than the interval of their monitor, its rechecks and requested checks account for. */
                tooMany: number;
            };
            /** @description Monitors that are worth another look before their next tick. A hint that may be ignored. */
            recheck: {
                monitorId: string;
                /** @description Milliseconds after the start of the failing probe. */
                afterMs: number;
            }[];
        };
        MonitorList: {
            monitors: components["schemas"]["Monitor"][];
        };
        Overview: {
            /** @description All monitors. */
            total: number;
            /** @description Those with status `up`. */
            up: number;
            /** @description Those with status `down`. */
            down: number;
            monitors: components["schemas"]["Monitor"][];
        };
        /** @description Blanks around it are dropped. */
        MonitorName: string;
        /** @description http: a URL with http or https. tcp and udp: `host:port`. icmp: a host. dns: a name or an address, or
         *     `dns://server[:port]/name` to ask that server. domain: a domain, or a name in one, but no public suffix such as `co.uk`. vendor: a vendor's id, such as `github`, or
         *     the URL of its status page; a page outside the catalogue must be a Statuspage that can be read. Not used by heartbeats. Omitted or `""`: a draft that is not checked yet.
         *      */
        MonitorTarget: string;
        /** @description Seconds from check to check, not below the plan's minimum (Free 60, Solo 30, Pro 1). When omitted at creation: 60; domain 3600, dns 300, vendor 120.
         *      */
        IntervalSeconds: number;
        /** @description Milliseconds, less than `interval_seconds` x 1000. When omitted at creation 10000 or half the interval, whichever is less. */
        TimeoutMs: number;
        /** @description GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS, in any case. When omitted at creation GET for http monitors. Null is as good as omitted. */
        MethodInput: string | null;
        /** @description Codes that are good, `200`, `2xx` or a list like `200,301`. When omitted at creation `2xx` for http monitors. Null is as good as omitted. */
        ExpectedStatus: string | null;
        /** @description Text that the first 1 MiB of the body must contain, case-sensitive. Empty or null clears it. */
        BodyMatch: string | null;
        /** @description Whether redirects are followed; http monitors do unless told otherwise. Stored as 1 or 0, any other number as 1. */
        FollowRedirects: boolean | number;
        Streak: number;
        /** @description From 1 to the number of the monitor's agents; only 1 for vendor, domain, dns and heartbeat monitors. Omitted or null, at creation and in a
         *     PATCH: 2, or 1 with fewer than two agents.
         *      */
        DownMinSources: number | null;
        /** @description Percent, more than 0 and at most 100. Null clears it. */
        SlaTarget: number | null;
        /** @description Heartbeat only. Seconds that a ping may be late; when omitted at creation 60 or a fifth of the interval, whichever is more. */
        GraceSeconds: number;
        /** @description Ids of the agents that probe (http, tcp, icmp and udp only). Omitted or `[]`, at creation: up to three shared agents; in a PATCH: those that are
         *     stored stay.
         *      */
        AgentSources: string[];
        /** @description Domain: days of warning before the domain expires, 1 to 3650, 30 when omitted at creation. Http: 1 or more turns on the warning about domain and
         *     certificate, 0 turns it off. Not for other types.
         *      */
        WarnDays: number;
        /** @description Vendor only: which components count, by the names or ids of the status page; case does not matter. `[]` or omitted watches the whole vendor. AWS
         *     needs at least one `service:region`, such as `ec2:us-east-1` (`cloudfront:global` for services without a region); Azure has none. A component that
         *     the page does not have is a 400 that lists near matches. Where the page of a known vendor cannot be read just then, they are stored as sent.
         *      */
        Components: string[];
        /** @description Ids of your vendor monitors that this monitor depends on; other ids are ignored. Not allowed on vendor monitors. `[]` clears the list. */
        Dependencies: string[];
        MonitorCreate: {
            /** @description http when omitted. It cannot be changed later. */
            type?: components["schemas"]["MonitorType"];
            name: components["schemas"]["MonitorName"];
            target?: components["schemas"]["MonitorTarget"];
            interval_seconds?: components["schemas"]["IntervalSeconds"];
            timeout_ms?: components["schemas"]["TimeoutMs"];
            method?: components["schemas"]["MethodInput"];
            expected_status?: components["schemas"]["ExpectedStatus"];
            body_match?: components["schemas"]["BodyMatch"];
            follow_redirects?: components["schemas"]["FollowRedirects"];
            /** @description Failures in a row before a place counts as bad; 2 when omitted at creation. */
            down_after_failures?: components["schemas"]["Streak"];
            /** @description Successes in a row before a bad place counts as good again; 1 when omitted at creation. */
            up_after_successes?: components["schemas"]["Streak"];
            down_min_sources?: components["schemas"]["DownMinSources"];
            sla_target?: components["schemas"]["SlaTarget"];
            grace_seconds?: components["schemas"]["GraceSeconds"];
            agent_sources?: components["schemas"]["AgentSources"];
            check_spec?: components["schemas"]["CheckSpecInput"];
            warn_days?: components["schemas"]["WarnDays"];
            components?: components["schemas"]["Components"];
            dependencies?: components["schemas"]["Dependencies"];
        };
        /** @description The fields of a creation. Those that only reads have (`id`, `status`, `enabled`, `state_since`, `created_at`, `updated_at`, `heartbeat_grace_seconds`,
         *     `agent_sources_unable`) are a 400 `... is read-only`; all other fields of a read can be sent back as they are, those inside `check_spec` included.
         *      */
        MonitorPatch: {
            /** @description Accepted only when it is the monitor's type. */
            type?: components["schemas"]["MonitorType"];
            name?: components["schemas"]["MonitorName"];
            target?: components["schemas"]["MonitorTarget"];
            interval_seconds?: components["schemas"]["IntervalSeconds"];
            timeout_ms?: components["schemas"]["TimeoutMs"];
            method?: components["schemas"]["MethodInput"];
            expected_status?: components["schemas"]["ExpectedStatus"];
            body_match?: components["schemas"]["BodyMatch"];
            follow_redirects?: components["schemas"]["FollowRedirects"];
            /** @description Failures in a row before a place counts as bad; 2 when omitted at creation. */
            down_after_failures?: components["schemas"]["Streak"];
            /** @description Successes in a row before a bad place counts as good again; 1 when omitted at creation. */
            up_after_successes?: components["schemas"]["Streak"];
            down_min_sources?: components["schemas"]["DownMinSources"];
            sla_target?: components["schemas"]["SlaTarget"];
            grace_seconds?: components["schemas"]["GraceSeconds"];
            agent_sources?: components["schemas"]["AgentSources"];
            check_spec?: components["schemas"]["CheckSpecInput"];
            warn_days?: components["schemas"]["WarnDays"];
            components?: components["schemas"]["Components"];
            dependencies?: components["schemas"]["Dependencies"];
        };
        /** @description Settings of the monitor's type, at most 128 KiB: `request` and `assertions` for http, `transport` for udp and tcp, `ping` for icmp, and so on. A key of
         *     another type is a 400. Read-only parts of a read (`secretHeaderNames`, `token`, `vendor`, `dependencies`) may be sent back and are ignored.
         *      */
        CheckSpecInput: {
            request?: components["schemas"]["RequestInput"];
            assertions?: components["schemas"]["AssertionInput"][];
            transport?: components["schemas"]["TransportInput"];
            domain?: components["schemas"]["DomainSpec"];
            ping?: components["schemas"]["PingSpec"];
            heartbeat?: components["schemas"]["HeartbeatSpec"];
            dns?: components["schemas"]["DnsSpec"];
            vendor?: components["schemas"]["VendorSpec"];
            /** @description Read-only here; write `dependencies` of the monitor. */
            dependencies?: string[];
        };
        /** @description Settings of the monitor's type, without secret values. */
        CheckSpec: {
            request?: components["schemas"]["Request"];
            assertions?: components["schemas"]["Assertion"][];
            transport?: components["schemas"]["Transport"];
            domain?: components["schemas"]["DomainSpec"];
            ping?: components["schemas"]["PingSpec"];
            heartbeat?: components["schemas"]["HeartbeatSpec"];
            dns?: components["schemas"]["DnsSpec"];
            vendor?: components["schemas"]["VendorSpec"];
            /** @description The vendor monitors that this monitor depends on. */
            dependencies?: string[];
        };
        /** @description Names and values of request headers; at most 50, plain and secret together. */
        HeaderMap: {
            [key: string]: string;
        };
        RequestInput: {
            headers?: components["schemas"]["HeaderMap"];
            /** @description Headers whose values are stored encrypted. `{}` clears them. */
            secretHeaders?: components["schemas"]["HeaderMap"];
            /** @description Keeps the stored secret headers while scheme, host and port of the target stay; those in `secretHeaders` are added or replaced. */
            preserveSecretHeaders?: boolean;
            /** @description An extension. With `preserveSecretHeaders`, names of stored ones that are not kept, in any case; others are ignored. */
            removeSecretHeaders?: string[];
            /** @description Read-only; ignored. */
            secretHeaderNames?: string[];
            auth?: components["schemas"]["AuthInput"];
            /** @description The request body. */
            body?: string;
            /** @description Stores `body` encrypted; without `body`, the stored secret body is kept, as with `preserveBody`. */
            bodySecret?: boolean;
            /** @description With `bodySecret` true keeps the stored secret body while scheme, host and port of the target stay. */
            preserveBody?: boolean;
            /** @description Sent with a body, unless a `Content-Type` is among the headers. */
            contentType?: string;
        };
        Request: {
            headers?: {
                [key: string]: string;
            };
            /** @description Names of the secret headers, sorted. */
            secretHeaderNames?: string[];
            auth?: {
                type: components["schemas"]["AuthType"];
            };
            body?: string;
            /** @description True when a secret body is set. */
            bodySecret?: boolean;
            contentType?: string;
        };
        /** @enum {string} */
        AuthType: "bearer" | "basic";
        /** @description Credentials: `token` for bearer, `username` and `password` for basic. `type` alone keeps what is stored
         *     while scheme, host and port of the target stay.
         *      */
        AuthInput: {
            type: components["schemas"]["AuthType"];
            token?: string;
            /** @description Without a colon (RFC 7617). */
            username?: string;
            password?: string;
        };
        /**
         * @description `response_time` is in milliseconds, `cert_expiry` in days; these two degrade, the others take down.
         * @enum {string}
         */
        AssertionSource: "text_body" | "json_body" | "header" | "response_time" | "cert_expiry";
        /** @description `value` for every op except `exists`; `path` for json_body (`$.items[0].id`), `name` for header. `matches` is an RE2 search; a pattern of
         *     more than 10,000 characters with its repetitions (`{30}`), Unicode classes (`\pL`, 40) and wide ranges under `(?i)` written out is a 400, and so are patterns of more than 20,000 together. Values compare as
         *     numbers, without loss, when both sides are decimal numbers (of numbers in JSON also with an exponent), otherwise as exact text.
         *      */
        AssertionInput: {
            source: components["schemas"]["AssertionSource"];
            /** @enum {string} */
            op: "contains" | "not_contains" | "matches" | "exists" | "equals" | "not_equals" | "gt" | "lt";
            value?: string;
            path?: string;
            name?: string;
        } & (unknown & unknown & unknown & unknown & unknown);
        Assertion: {
            source: components["schemas"]["AssertionSource"];
            op: string;
            value?: string;
            path?: string;
            name?: string;
        };
        /**
         * @description utf8 when left out: text in which \r \n \t \\ and \xHH stand for one byte each, and any other backslash is a 400. hex: pairs of hexadecimal digits.
         * @enum {string}
         */
        PayloadEncoding: "utf8" | "hex";
        /**
         * @description contains when left out: a case-sensitive substring. regex: an unanchored search in RE2 syntax; a pattern of more than 10,000 characters with its repetitions, Unicode classes and wide ranges written out is a 400.
         * @enum {string}
         */
        ExpectMode: "contains" | "regex";
        /** @description udp: the datagram that is sent and what the reply must look like. tcp: what is sent after connecting, and what must arrive. */
        TransportInput: {
            /** @description At most 65,507 bytes. Without one tcp sends nothing and udp an empty datagram. */
            payload?: string;
            payloadEncoding?: components["schemas"]["PayloadEncoding"];
            /** @description What the answer must contain or match, read as UTF-8 text; of tcp its first 4096 bytes. Beside `payloadEncoding` hex and without `expectMode` regex, pairs of hexadecimal digits, compared with the bytes of the answer. Empty or left out, any udp reply and a tcp connection alone will do. */
            expect?: string;
            expectMode?: components["schemas"]["ExpectMode"];
            /** @description Stores `payload` encrypted; without `payload`, the stored secret payload is kept, as with `preservePayload`. */
            payloadSecret?: boolean;
            /** @description With `payloadSecret` true keeps the stored secret payload while host and port of the target stay. */
            preservePayload?: boolean;
        };
        Transport: {
            payload?: string;
            payloadEncoding?: components["schemas"]["PayloadEncoding"];
            expect?: string;
            expectMode?: components["schemas"]["ExpectMode"];
            /** @description True when a secret payload is set. */
            payloadSecret?: boolean;
        };
        DomainSpec: {
            /** @description Days of warning before a domain or certificate expires; of domain monitors at most 3650. */
            warnDays?: number;
        };
        PingSpec: {
            /** @description Echo requests per check; 4 when omitted. */
            count?: number;
            /** @description Loss above this percentage degrades. */
            lossDegradedPct?: number;
            /** @description A mean round trip above this degrades. */
            rttDegradedMs?: number;
        };
        HeartbeatSpec: {
            /** @description Made by the server and kept; ignored when sent, and shown only to tokens with the `write` scope. */
            token?: string;
            /** @description Whether `/fail` and exit statuses other than 0 are taken; true when omitted. Where they are not they are answered with 400. */
            failEnabled?: boolean;
            /** @description How long a started job may take; as long as it likes when omitted. */
            maxDurationSeconds?: number;
        };
        DnsSpec: {
            /** @description What is looked for; none = an address of either family, or a PTR record for a reverse name. */
            records?: components["schemas"]["DnsRecord"][];
            /** @description Ask at least three independent resolvers; a disagreement degrades. */
            crossCheck?: boolean;
        };
        DnsRecord: {
            /** @enum {string} */
            type: "A" | "AAAA" | "CNAME" | "MX" | "NS" | "TXT" | "SOA" | "SRV" | "CAA" | "PTR";
            /**
             * @description `equals` the same set, `contains` every expected value, `any` at least one, `exists` some record, `absent` none.
             * @enum {string}
             */
            mode: "equals" | "contains" | "any" | "exists" | "absent";
            /** @description Needed for equals, contains and any, dropped for the others. Names without regard to case and final dot; MX `10 mail.example.com`, SRV
             *     `10 5 5060 sip.example.com`, CAA `0 issue "letsencrypt.org"`, SOA its first fields, at least the primary. A value that no record of the type can have
             *     is a 400.
             *      */
            expected?: string[];
        };
        /** @description Read-only; set by the server from `target` and `components`. */
        VendorSpec: {
            /** @description The id in the catalogue, or the host of a page that is not in it. */
            vendorId?: string;
            /** @description The status page for people. */
            pageUrl?: string;
            /** @description The data behind it that is read. */
            probeUrl?: string;
            components?: string[];
        };
        /** @enum {string} */
        ChannelType: "telegram" | "slack" | "webhook";
        Channel: {
            /** @description `nch_...` */
            id: string;
            type: components["schemas"]["ChannelType"];
            name: string;
            enabled: boolean;
            created_at: components["schemas"]["UnixSeconds"];
            /** @enum {string} */
            status: "connected" | "pending";
            /** @description True = alerts of every monitor; false = only of `monitor_ids`. */
            all_monitors: boolean;
            /** @description Sorted. */
            monitor_ids: string[];
            /** @description Webhooks only; the full address is never returned. */
            url_host?: string | null;
            /** @description Slack only. */
            team_name?: string | null;
            /** @description Slack only. */
            channel_name?: string | null;
            /** @description An extension, there only of telegram and slack: whether the chat is told when a report is made. */
            reports?: boolean;
            /** @description An extension: why the newest delivery came to nothing, or why the chat was lost or ended. There until a delivery has arrived or the chat is connected anew; enabling the channel does not take it away. */
            last_error?: string;
            /** @description An extension, there only with `last_error`. */
            last_error_at?: components["schemas"]["UnixSeconds"];
        };
        ChannelList: {
            channels: components["schemas"]["Channel"][];
        };
        /** @description Blanks around it are dropped; where nothing is left, it is the default one, `Telegram`, `Slack` or `Webhook`. */
        ChannelName: string;
        /** @description Your monitors; used when `all_monitors` is false. Other ids are left out, and reads show which are stored. */
        MonitorIds: string[];
        ChannelCreate: {
            /** @description telegram when omitted. */
            type?: components["schemas"]["ChannelType"];
            /** @description The type's name when omitted. */
            name?: components["schemas"]["ChannelName"];
            /** @description Webhook only, and required there; https. */
            url?: string;
            /** @description True when omitted. */
            all_monitors?: boolean;
            monitor_ids?: components["schemas"]["MonitorIds"];
            /** @description An extension, for telegram and slack: tell the chat when a report is made. False when omitted. */
            reports?: boolean;
        };
        ChannelPatch: {
            /** @description Accepted only when it is the channel's type. */
            type?: components["schemas"]["ChannelType"];
            /** @description Refused: delete the channel and create another. */
            url?: string;
            name?: components["schemas"]["ChannelName"];
            enabled?: boolean;
            all_monitors?: boolean;
            monitor_ids?: components["schemas"]["MonitorIds"];
            /** @description An extension, for telegram and slack. */
            reports?: boolean;
        };
        ChannelCreateResult: {
            /** @description `nch_...` */
            id: string;
            /** @description Webhook only: `whsec_...`, returned now and never again. */
            signing_secret?: string;
            /** @description Telegram only: open it to finish connecting. */
            deep_link?: string;
            /** @description Telegram only: open it to connect a group. */
            group_deep_link?: string;
            /** @description Slack only: open it to finish connecting. */
            authorize_url?: string;
        };
        /**
         * @description `superseded`: a retry to a chat that newer news of the same monitor made pointless.
         * @enum {string}
         */
        DeliveryOutcome: "pending" | "delivered" | "failed" | "superseded";
        /**
         * @description The kinds of event; of chats also `channel.failing` (another channel of yours takes no deliveries any more), `channel.disconnected` (another chat of yours was lost, or somebody ended its alerts from inside), `summary` (of many monitors that changed at once) and `report` (one was made).
         * @enum {string}
         */
        DeliveryEvent: "monitor.down" | "monitor.degraded" | "monitor.up" | "monitor.unknown" | "agent.offline" | "agent.online" | "advisory.domain_expiry" | "channel.failing" | "channel.disconnected" | "summary" | "report";
        /** @description An extension. */
        Delivery: {
            /** @description `dlv_...`, the `delivery_id` of what is sent. */
            id: string;
            channel_id: string;
            /** @description Null where the event is no monitor's. */
            monitor_id: string | null;
            event: components["schemas"]["DeliveryEvent"];
            outcome: components["schemas"]["DeliveryOutcome"];
            attempt_count: number;
            /** @description How many other changes of the monitor this delivery stands for: those that came while it waited, because the monitor or the account changes faster than it is
             *     told of. The newest is sent. Absent where there were none.
             *      */
            merged?: number;
            /** @description What went wrong last; null where nothing did. */
            last_error: string | null;
            created_at: components["schemas"]["UnixSeconds"];
            /** @description Null unless pending. */
            next_attempt_at: components["schemas"]["NullableUnixSeconds"];
            /** @description Null while pending. */
            finished_at: components["schemas"]["NullableUnixSeconds"];
        };
        DeliveryList: {
            deliveries: components["schemas"]["Delivery"][];
        };
        /** @description An extension. */
        DeliveryDetail: {
            /** @description `dlv_...`, the `delivery_id` of what is sent. */
            id: string;
            channel_id: string;
            /** @description Null where the event is no monitor's. */
            monitor_id: string | null;
            event: components["schemas"]["DeliveryEvent"];
            outcome: components["schemas"]["DeliveryOutcome"];
            attempt_count: number;
            /** @description How many other changes of the monitor this delivery stands for: those that came while it waited, because the monitor or the account changes faster than it is
             *     told of. The newest is sent. Absent where there were none.
             *      */
            merged?: number;
            /** @description What went wrong last; null where nothing did. */
            last_error: string | null;
            created_at: components["schemas"]["UnixSeconds"];
            /** @description Null unless pending. */
            next_attempt_at: components["schemas"]["NullableUnixSeconds"];
            /** @description Null while pending. */
            finished_at: components["schemas"]["NullableUnixSeconds"];
            /** @description What is sent, without `delivery_id` and `sent_at`; what a chat says is made from it. */
            message: {
                [key: string]: unknown;
            };
            attempts: components["schemas"]["DeliveryAttempt"][];
        };
        DeliveryAttempt: {
            attempt: number;
            started_at: components["schemas"]["UnixSeconds"];
            /** @description Null while it is under way, and where the service did not live to see its end. */
            duration_ms: number | null;
            /**
             * @description Null as `duration_ms` is; `retry`: another attempt follows, or would have.
             * @enum {string|null}
             */
            outcome: "delivered" | "retry" | "failed" | null;
            /** @description Null where no answer came. */
            status_code: number | null;
            /** @description A sentence for people; null when delivered. */
            error: string | null;
            /** @description The start of the answer, 1 kB at most. */
            response: string | null;
        };
        ReplayRequest: {
            /** @description Unix seconds; deliveries that were made then or later. */
            since: number;
            /** @description Unix seconds; deliveries that were made then or earlier. Until now when omitted. */
            until?: number;
        };
        ReplayResult: {
            replayed: number;
        };
        RedeliveryResult: {
            id: string;
            /** @constant */
            outcome: "pending";
        };
        TestResult: {
            /** @constant */
            ok: true;
            status_code: number | null;
            duration_ms: number;
        };
        RotatedSecret: {
            /** @description `whsec_...`, returned now and never again. */
            signing_secret: string;
        };
        /**
         * @description A viewer reads, an editor changes what is watched and who is told, an owner also sees to members, tokens and the account.
         * @enum {string}
         */
        Role: "owner" | "editor" | "viewer";
        SessionUser: {
            /** @description `usr_...` */
            id: string;
            email: string;
            /** @description Empty until the person gives one. */
            name: string;
            role: components["schemas"]["Role"];
            /** @description Whether the person runs the installation and may see its queues. */
            is_operator: boolean;
            theme: components["schemas"]["Theme"];
            /** @description Whether signing in takes a second factor. */
            totp_enabled: boolean;
            recovery_codes_left: number;
            password_changed_at: components["schemas"]["NullableUnixSeconds"];
            last_signed_in_at: components["schemas"]["NullableUnixSeconds"];
            created_at: components["schemas"]["UnixSeconds"];
        };
        SessionTenant: {
            /** @description `ten_...` */
            id: string;
            name: string;
            /** @enum {string} */
            plan: "free" | "solo" | "pro";
        };
        SignedIn: {
            user: components["schemas"]["SessionUser"];
            tenant: components["schemas"]["SessionTenant"];
            /** @description `ses_...` */
            session_id: string;
            /** @description For `X-CSRF-Token`; the same for as long as the session lasts. */
            csrf_token: string;
            /** @description Which chats channels can be connected to here. Where the operator has set up no bot or app, a channel of the type stays `pending`. */
            chats: {
                telegram: boolean;
                slack: boolean;
            };
        };
        SignIn: {
            /** @description In any case. */
            email: string;
            password: components["schemas"]["Password"];
            code?: components["schemas"]["SecondFactorCode"];
        };
        SignInRefusal: {
            /** @description A sentence for people. */
            error: string;
            /** @description The request's id, `req_...`. */
            request_id?: string;
            /**
             * @description Only where the password is right and a code is missing.
             * @constant
             */
            code_required?: true;
        };
        Password: string;
        NewPassword: string;
        /** @description Six digits of the app, or a recovery code; spaces and hyphens do not count. */
        SecondFactorCode: string;
        Session: {
            /** @description `ses_...` */
            id: string;
            created_at: components["schemas"]["UnixSeconds"];
            last_seen_at: components["schemas"]["UnixSeconds"];
            expires_at: components["schemas"]["UnixSeconds"];
            /** @description Where it was signed in from. */
            address: string | null;
            /** @description What the browser called itself. */
            user_agent: string | null;
            /** @description Whether it is the session of this request. */
            is_current: boolean;
        };
        SessionList: {
            sessions: components["schemas"]["Session"][];
        };
        EndedSessions: {
            /** @description How many other sessions of the person were ended. */
            ended_sessions: number;
        };
        /** @enum {string} */
        Theme: "system" | "light" | "dark";
        UserPatch: {
            name?: string;
            theme?: components["schemas"]["Theme"];
        };
        PasswordChange: {
            current: components["schemas"]["Password"];
            new: components["schemas"]["NewPassword"];
        };
        TotpStart: {
            password: components["schemas"]["Password"];
        };
        TotpDraft: {
            /** @description Base32, for typing in. */
            secret: string;
            /** @description `otpauth://totp/...`, for the app. */
            otpauth_url: string;
            /** @description The same address as a picture. */
            qr_svg: string;
        };
        TotpConfirmation: {
            code: components["schemas"]["SecondFactorCode"];
        };
        TotpRemoval: {
            password: components["schemas"]["Password"];
            code: components["schemas"]["SecondFactorCode"];
        };
        RecoveryCodes: {
            /** @description Ten, shown now and never again. */
            recovery_codes: string[];
        };
        Member: {
            /** @description `usr_...` */
            id: string;
            email: string;
            /** @description Empty until the person gives one. */
            name: string;
            role: components["schemas"]["Role"];
            /** @description Whether signing in takes a second factor. */
            totp_enabled: boolean;
            last_signed_in_at: components["schemas"]["NullableUnixSeconds"];
            created_at: components["schemas"]["UnixSeconds"];
            /** @description Whether it is the person of this session. */
            is_you: boolean;
        };
        MemberList: {
            members: components["schemas"]["Member"][];
        };
        MemberPatch: {
            role: components["schemas"]["Role"];
        };
        Invitation: {
            /** @description `inv_...` */
            id: string;
            email: string;
            role: components["schemas"]["Role"];
            /** @description The name of the member who made it, or their address; null once they have gone. */
            invited_by: string | null;
            created_at: components["schemas"]["UnixSeconds"];
            expires_at: components["schemas"]["UnixSeconds"];
        };
        InvitationList: {
            invitations: components["schemas"]["Invitation"][];
        };
        InvitationCreate: {
            email: string;
            role: components["schemas"]["Role"];
        };
        CreatedInvitation: {
            /** @description `inv_...` */
            id: string;
            email: string;
            role: components["schemas"]["Role"];
            /** @description The name of the member who made it, or their address; null once they have gone. */
            invited_by: string | null;
            created_at: components["schemas"]["UnixSeconds"];
            expires_at: components["schemas"]["UnixSeconds"];
            /** @description The link, shown now and never again. */
            url: string;
        };
        OpenInvitation: {
            email: string;
            role: components["schemas"]["Role"];
            tenant: {
                name: string;
            };
            expires_at: components["schemas"]["UnixSeconds"];
        };
        InvitationAcceptance: {
            /** @description What the link of the invitation ends with. */
            token: string;
            name: components["schemas"]["PlainName"];
            password: components["schemas"]["NewPassword"];
        };
        /** @enum {string} */
        TokenScope: "read" | "write";
        ApiToken: {
            /** @description `tok_...` */
            id: string;
            name: string;
            scopes: components["schemas"]["TokenScope"][];
            created_at: components["schemas"]["UnixSeconds"];
            expires_at: components["schemas"]["NullableUnixSeconds"];
            revoked_at: components["schemas"]["NullableUnixSeconds"];
            last_used_at: components["schemas"]["NullableUnixSeconds"];
        };
        TokenList: {
            tokens: components["schemas"]["ApiToken"][];
        };
        TokenCreate: {
            name: components["schemas"]["PlainName"];
            /** @description `read`, or `read` and `write`. */
            scopes: components["schemas"]["TokenScope"][];
            /** @description Unix seconds, to come; null, or left out, for a token that is good until it is revoked. */
            expires_at?: number | null;
        };
        CreatedToken: {
            /** @description `tok_...` */
            id: string;
            name: string;
            scopes: components["schemas"]["TokenScope"][];
            created_at: components["schemas"]["UnixSeconds"];
            expires_at: components["schemas"]["NullableUnixSeconds"];
            revoked_at: components["schemas"]["NullableUnixSeconds"];
            last_used_at: components["schemas"]["NullableUnixSeconds"];
            /** @description `spk_...`, shown now and never again. */
            token: string;
        };
        /** @description Not blanks alone, and without control characters. */
        PlainName: string;
        Count: number;
        /** @description Null where the installation does not count. */
        CountLimit: number | null;
        Usage: {
            /** @enum {string} */
            plan: "free" | "solo" | "pro";
            limits: {
                monitors: components["schemas"]["CountLimit"];
                own_agents: components["schemas"]["CountLimit"];
                /** @description That are good at a time. */
                tokens: number;
                /** @description Of each token. */
                requests_per_minute: number;
                /** @description The shortest interval of a monitor. */
                min_interval_seconds: number;
                /** @description How long single results are kept. */
                result_days: number;
            };
            used: {
                monitors: components["schemas"]["Count"];
                own_agents: components["schemas"]["Count"];
                tokens: components["schemas"]["Count"];
                channels: components["schemas"]["Count"];
                members: components["schemas"]["Count"];
            };
        };
        /**
         * @description What was done. The list grows with what can be done.
         * @enum {string}
         */
        AuditAction: "monitor.created" | "monitor.changed" | "monitor.paused" | "monitor.resumed" | "monitor.deleted" | "monitor.check_requested" | "incident.acknowledged" | "incident.unacknowledged" | "incident.note_added" | "incident.note_deleted" | "channel.created" | "channel.changed" | "channel.deleted" | "channel.secret_rotated" | "channel.redelivered" | "channel.replayed" | "channel.connected" | "channel.disconnected" | "channel.disabled" | "agent.created" | "agent.token_rotated" | "agent.revoked" | "agent.deleted" | "token.created" | "token.revoked" | "member.created" | "member.changed" | "member.role_changed" | "member.removed" | "member.reset" | "member.signed_in" | "member.signed_out" | "member.session_ended" | "member.other_sessions_ended" | "member.sign_in_throttled" | "member.password_changed" | "member.second_factor_begun" | "member.second_factor_started" | "member.second_factor_stopped" | "member.recovery_codes_renewed" | "invitation.created" | "invitation.accepted" | "invitation.deleted" | "account.created" | "account.keys_rotated" | "queue.changed";
        /**
         * @description What it was done to.
         * @enum {string}
         */
        AuditObjectKind: "monitor" | "incident" | "channel" | "agent" | "token" | "member" | "invitation" | "account" | "queue";
        AuditActor: {
            /**
             * @description A person, an API token, the operator at the command line, or what nobody in the account did: the service itself, or a chat of Slack or Telegram.
             * @enum {string}
             */
            kind: "user" | "token" | "operator" | "system";
            /** @description `usr_...` or `tok_...`; null of `operator` and `system`. */
            id: string | null;
            /** @description As it was then: of people their name and address. */
            name: string;
        };
        AuditEntry: {
            /** @description `aud_...` */
            id: string;
            at: components["schemas"]["UnixSeconds"];
            actor: components["schemas"]["AuditActor"];
            action: components["schemas"]["AuditAction"];
            object: {
                kind: components["schemas"]["AuditObjectKind"];
                id: string;
                /** @description As it was then. */
                name: string;
            };
            /** @description By field, `check_spec.ping.count` being one: `[before, after]`, null where there was nothing; of a secret only `changed`. What is longer than 1000
             *     characters is cut. Empty where there is nothing to compare.
             *      */
            changes: {
                [key: string]: unknown[] | "changed";
            };
            /** @description Where the request came from; null where there was none. */
            address: string | null;
        };
        AuditLog: {
            entries: components["schemas"]["AuditEntry"][];
        };
        /**
         * @description `first_party` agents are run by the service and shared.
         * @enum {string}
         */
        AgentKind: "tenant" | "first_party";
        Agent: {
            /** @description `agt_...` */
            id: string;
            /** @description Null for shared agents. */
            tenant_id: string | null;
            kind: components["schemas"]["AgentKind"];
            name: string;
            region: string | null;
            /** @description What the agent says of itself. */
            capabilities?: unknown;
            version: string | null;
            arch: string | null;
            last_seen_at: components["schemas"]["NullableUnixSeconds"];
            created_at: components["schemas"]["UnixSeconds"];
        };
        AgentCreate: {
            name: components["schemas"]["PlainName"];
            /** @description Where it stands, in one's own words. */
            region?: string | null;
        };
        AgentToken: {
            /** @description `spa_...`, shown now and never again. */
            token: string;
            /** @description What starts the agent, in a copy of Spotcheck (`npm ci` once before). The token is in it. */
            install_command: string;
        };
        CreatedAgent: {
            /** @description `agt_...` */
            id: string;
            name: string;
            region: string | null;
            /** @description `spa_...`, shown now and never again. */
            token: string;
            /** @description What starts the agent, in a copy of Spotcheck (`npm ci` once before). The token is in it. */
            install_command: string;
        };
        AgentList: {
            agents: components["schemas"]["Agent"][];
        };
        /** @description One incident spans the whole time that a monitor is not up. */
        Incident: {
            /** @description `inc_...` */
            id: string;
            monitor_id: string;
            /** @description As it was when the incident began. */
            monitor_name: string;
            /** @enum {string} */
            status: "open" | "resolved";
            /**
             * @description The worst state that it reached.
             * @enum {string}
             */
            state: "down" | "degraded";
            reason: string;
            /** @description Names of the places that saw the failure. */
            sources_down: string[];
            /** @description The first failing result of the streak that decided. */
            started_at: components["schemas"]["UnixSeconds"];
            /** @description When it was decided. */
            detected_at: components["schemas"]["UnixSeconds"];
            resolved_at: components["schemas"]["NullableUnixSeconds"];
            /** @description Until now while it is open. */
            duration_seconds: number;
            /** @enum {string|null} */
            resolution: "recovered" | "paused" | "deleted" | null;
            /** @description An extension: when somebody said that it is being looked after; null where nobody has. */
            acknowledged_at: components["schemas"]["NullableUnixSeconds"];
            /** @description An extension: who did, by the name of the person or of the token. */
            acknowledged_by: string | null;
        };
        /** @description An extension. */
        IncidentDetail: {
            /** @description `inc_...` */
            id: string;
            monitor_id: string;
            /** @description As it was when the incident began. */
            monitor_name: string;
            /** @enum {string} */
            status: "open" | "resolved";
            /**
             * @description The worst state that it reached.
             * @enum {string}
             */
            state: "down" | "degraded";
            reason: string;
            /** @description Names of the places that saw the failure. */
            sources_down: string[];
            /** @description The first failing result of the streak that decided. */
            started_at: components["schemas"]["UnixSeconds"];
            /** @description When it was decided. */
            detected_at: components["schemas"]["UnixSeconds"];
            resolved_at: components["schemas"]["NullableUnixSeconds"];
            /** @description Until now while it is open. */
            duration_seconds: number;
            /** @enum {string|null} */
            resolution: "recovered" | "paused" | "deleted" | null;
            /** @description An extension: when somebody said that it is being looked after; null where nobody has. */
            acknowledged_at: components["schemas"]["NullableUnixSeconds"];
            /** @description An extension: who did, by the name of the person or of the token. */
            acknowledged_by: string | null;
            /** @description The oldest first. */
            notes: components["schemas"]["IncidentNote"][];
            /** @description The monitor's changes of state, from the one that opened the incident to the one that ended it. */
            timeline: components["schemas"]["IncidentTransition"][];
            /** @description What each place saw at its first failure, the earliest first. */
            evidence: components["schemas"]["IncidentEvidence"][];
            /** @description What was sent because of it, the oldest first; kept for 30 days. */
            deliveries: components["schemas"]["IncidentDelivery"][];
            /** @description Which of the lists above have more than the 500 entries that are shown; mostly empty. */
            truncated: ("timeline" | "evidence" | "deliveries")[];
        };
        IncidentTransition: {
            /** @description Of the monitor; as in `detail.sequence` of its events. */
            sequence: number;
            /** @description When it became true. */
            at: components["schemas"]["UnixSeconds"];
            /** @description When it was decided. */
            detected_at: components["schemas"]["UnixSeconds"];
            from: components["schemas"]["TransitionState"];
            to: components["schemas"]["TransitionState"];
            cause: string | null;
            reason: string | null;
            /** @description What each place said at that moment; empty where nobody was asked, as at a pause. */
            sources: components["schemas"]["SourceStatement"][];
        };
        /**
         * @description A state as changes know it; a monitor's `status` shows `unknown` as `pending`.
         * @enum {string}
         */
        TransitionState: "up" | "degraded" | "down" | "unknown" | "paused" | "pending";
        SourceStatement: {
            name: string;
            /**
             * @description What it said; null where it had not decided.
             * @enum {string|null}
             */
            verdict: "up" | "degraded" | "down" | null;
            /**
             * @description Whether that counted (`votes`), and why it did not.
             * @enum {string}
             */
            standing: "votes" | "offline" | "silent" | "undecided" | "unable";
            /** @description When the results began that made it say so. */
            since: components["schemas"]["NullableUnixSeconds"];
            /** @description Of the newest of those results. */
            cause: string | null;
            reason: string | null;
        };
        IncidentEvidence: {
            source: {
                /** @description `agt_...`; it may be gone. */
                id: string;
                name: string;
            };
            /** @description When the check was due. */
            at: components["schemas"]["UnixSeconds"];
            /** @enum {string} */
            verdict: "degraded" | "down";
            cause: string | null;
            reason: string | null;
            http_status: number | null;
            latency_ms: number | null;
            phases: components["schemas"]["PhasesMs"] | null;
            answer: components["schemas"]["SeenAnswer"] | null;
        };
        /** @description What the target answered, as far as it may be kept; never a header that carries credentials. */
        SeenAnswer: {
            /** @description Null for tcp and udp. */
            status: number | null;
            headers: {
                [key: string]: string;
            };
            /** @description The first kilobyte as text; null where it was not read, or is withheld. */
            body: string | null;
            /**
             * @description Why it is not shown: the check carries secrets, which servers echo, or it is no text.
             * @enum {string|null}
             */
            body_withheld: "secrets" | "not_text" | null;
        };
        IncidentDelivery: {
            id: string;
            channel_id: string;
            channel_name: string;
            channel_type: components["schemas"]["ChannelType"];
            event: components["schemas"]["DeliveryEvent"];
            outcome: components["schemas"]["DeliveryOutcome"];
            attempt_count: number;
            created_at: components["schemas"]["UnixSeconds"];
            /** @description Null while pending. */
            finished_at: components["schemas"]["NullableUnixSeconds"];
        };
        IncidentNote: {
            /** @description `note_...` */
            id: string;
            /** @description Who wrote it, by the name of the person or of the token. */
            author: string;
            text: string;
            created_at: components["schemas"]["UnixSeconds"];
        };
        IncidentNoteCreate: {
            /** @description Blanks around it are dropped; one of blanks alone, or of characters that nobody can see, is a 400. */
            text: string;
        };
        Acknowledgement: {
            /** @description Blanks around it are dropped; one of blanks alone, or of characters that nobody can see, is a 400. */
            note?: string;
        };
        RecordedGap: {
            /** @enum {string} */
            kind: "clock" | "checks" | "evaluation" | "overload";
            started_at: components["schemas"]["UnixSeconds"];
            /** @description Null while it lasts. */
            ended_at: components["schemas"]["NullableUnixSeconds"];
            /** @description Until now while it lasts. */
            duration_seconds: number;
        };
        RecordedGapList: {
            gaps: components["schemas"]["RecordedGap"][];
        };
        IncidentList: {
            incidents: components["schemas"]["Incident"][];
        };
        /**
         * @description What a result says of its target; `none`: nothing, for it could not be measured.
         * @enum {string}
         */
        Vote: "up" | "degraded" | "down" | "none";
        /** @description How long each step of an exchange took, in milliseconds; null where it did not happen. */
        PhasesMs: {
            dns_ms: components["schemas"]["NullableNumber"];
            connect_ms: components["schemas"]["NullableNumber"];
            tls_ms: components["schemas"]["NullableNumber"];
            first_byte_ms: components["schemas"]["NullableNumber"];
            download_ms: components["schemas"]["NullableNumber"];
        };
        /** @description The agent that measured; both are null once it is deleted. */
        StatsSource: {
            id: string | null;
            name: string | null;
        };
        /** @description An extension. */
        Check: {
            /** @description When it was due (of a ping: when it came), in Unix seconds with three decimals. */
            at: number;
            source: components["schemas"]["StatsSource"];
            verdict: components["schemas"]["Vote"];
            /** @description A word of a fixed list; null where it was up. */
            cause: string | null;
            /** @description A sentence for people. */
            reason: string | null;
            http_status: number | null;
            /** @description Of a ping: how long the run took. */
            latency_ms: number | null;
            /** @description Null where they were not kept. Of failures they are, of successes now and then. */
            phases: components["schemas"]["PhasesMs"] | null;
            /**
             * @description Heartbeats only: what was said; null of a deadline that passed without a ping.
             * @enum {string|null}
             */
            ping?: "success" | "start" | "fail" | "exit" | null;
            /** @description Heartbeats only. */
            exit_status?: number | null;
            /** @description Dns monitors only, where they were kept, as phases are. */
            dns_answers?: {
                /** @description Of the records that were asked for. */
                type: string;
                /** @description The first 20; none where the name has none. */
                records: string[];
                /** @description `nxdomain`: the name does not exist; `timeout`, `servfail`, `refused`, `unreachable` and `invalid`: the question failed. */
                failure: string | null;
            }[];
        };
        CheckList: {
            checks: components["schemas"]["Check"][];
        };
        /** @description How many whole seconds each state had. What lies before the monitor's creation is in none; stretches in which the service itself stood still are unknown. */
        SecondsByState: {
            up: number;
            degraded: number;
            down: number;
            unknown: number;
            paused: number;
            pending: number;
        };
        /** @description (up + degraded) / (up + degraded + down) by seconds, floored to three decimals; null when no time counts. */
        UptimePercent: number | null;
        /** @description How many checks had each verdict. */
        CheckCounts: {
            up: number;
            degraded: number;
            down: number;
            none: number;
        };
        /** @description Percentiles of the response times of checks that were up or degraded, in milliseconds, with an error of 2 % at the most; null where nothing was measured. */
        ResponseMs: {
            p50: components["schemas"]["NullableNumber"];
            p95: components["schemas"]["NullableNumber"];
            p99: components["schemas"]["NullableNumber"];
        };
        /** @description What the window says of the monitor's `sla_target`. It is compared exactly; percentages are floored for show only. */
        Sla: {
            target: components["schemas"]["NullableNumber"];
            /** @description Null without a target and when no time counts. */
            met: boolean | null;
            /** @description How long the monitor may be down in the counted time of the window; null as `met` is. */
            budget: {
                total_seconds: number;
                used_seconds: number;
                /** @description Negative where the target is missed. */
                left_seconds: number;
            } | null;
            /** @description How many times faster than the target allows the last hour and the last 24 hours before `to` used the budget up; null without a target, with one of 100, and when no time counts. */
            burn_rate: {
                hour: components["schemas"]["NullableNumber"];
                day: components["schemas"]["NullableNumber"];
            };
        };
        SourceStats: {
            /** @description The agent; null once it is deleted. */
            id: string | null;
            name: string | null;
            checks: components["schemas"]["CheckCounts"];
            response_ms: components["schemas"]["ResponseMs"];
            /** @description Only with `by_phase`. */
            phases?: components["schemas"]["PhasesMs"];
        };
        StatsPoint: {
            /** @description The first second of the step, a multiple of its length; the first and the last step end where the window does. */
            at: components["schemas"]["UnixSeconds"];
            checks: components["schemas"]["CheckCounts"];
            uptime_percent: components["schemas"]["UptimePercent"];
            response_ms: components["schemas"]["ResponseMs"];
            /** @description Only with `by_phase`. */
            phases?: components["schemas"]["PhasesMs"];
            /** @description Only with `by_source`. */
            sources?: components["schemas"]["SourceStats"][];
        };
        ServiceGap: {
            /**
             * @description What of the service stood still.
             * @enum {string}
             */
            kind: "clock" | "checks" | "evaluation" | "overload";
            from: components["schemas"]["UnixSeconds"];
            to: components["schemas"]["UnixSeconds"];
        };
        /** @description An extension. */
        MonitorStats: {
            monitor_id: string;
            from: components["schemas"]["UnixSeconds"];
            to: components["schemas"]["UnixSeconds"];
            /** @enum {string} */
            resolution: "minute" | "five_minutes" | "hour" | "day";
            totals: {
                uptime_percent: components["schemas"]["UptimePercent"];
                sla: components["schemas"]["Sla"];
                seconds: components["schemas"]["SecondsByState"];
                checks: components["schemas"]["CheckCounts"];
                response_ms: components["schemas"]["ResponseMs"];
                /** @description Means of the checks whose phases were kept. */
                phases: components["schemas"]["PhasesMs"];
            };
            sources: components["schemas"]["SourceStats"][];
            series: components["schemas"]["StatsPoint"][];
            /** @description Stretches of the window in which the service itself stood still; they count as unknown. */
            service_gaps: components["schemas"]["ServiceGap"][];
        };
        UptimeDay: {
            /** @description The UTC day, `YYYY-MM-DD`. */
            date: string;
            uptime_percent: components["schemas"]["UptimePercent"];
            seconds: components["schemas"]["SecondsByState"];
            /** @description How many incidents were open at some time of the day. */
            incidents: number;
            /**
             * @description The first of this list that the day had any second of; null before the monitor's creation.
             * @enum {string|null}
             */
            worst_state: "down" | "degraded" | "unknown" | "up" | "pending" | "paused" | null;
        };
        /** @description An extension. */
        UptimeDays: {
            monitor_id: string;
            days: components["schemas"]["UptimeDay"][];
        };
        /** @description An extension. */
        MonitorFacts: {
            /** @description Null where none is watched, or the registry was not asked yet. */
            domain: {
                name: string;
                /** @description Null where nobody could say so far. */
                registered: boolean | null;
                /** @description Unix seconds; null where the registry publishes none. */
                expires_at: number | null;
                registrar: string | null;
                /** @description When the registry last answered. */
                asked_at: number | null;
                /** @description Why the last look-up brought no answer; null where it did. */
                failure: string | null;
            } | null;
            /** @description Null where none was seen. */
            certificate: {
                name: string;
                expires_at: components["schemas"]["UnixSeconds"];
            } | null;
            advisories: {
                /** @enum {string} */
                subject: "domain" | "certificate";
                name: string;
                expires_at: components["schemas"]["UnixSeconds"];
                /** @description The days left at which it was sent. */
                threshold_days: number;
                sent_at: components["schemas"]["UnixSeconds"];
            }[];
        };
        /** @description An extension. */
        OverviewHistory: {
            id: string;
            /** @description When the first of `daily_uptime` began. */
            first_day: components["schemas"]["UnixSeconds"];
            /** @description Of all these days together, floored to three decimals. */
            uptime_percent: components["schemas"]["NullableNumber"];
            /** @description Percent of each day, floored to three decimals, the oldest first; null where no time counts, as before the monitor's creation. */
            daily_uptime: components["schemas"]["NullableNumber"][];
            /** @description Median response time of each of the last 24 hours, the current one last; null where nothing was measured. */
            hourly_latency_ms: components["schemas"]["NullableNumber"][];
        };
        /** @description An extension. */
        OverviewHistories: {
            histories: components["schemas"]["OverviewHistory"][];
        };
        NullableNumber: number | null;
        /** @description The account in one line of numbers. All but the first three are extensions. */
        ReportSummary: {
            monitors: number;
            incidents: number;
            /** @description Of the time of all monitors together. */
            uptime_percent: components["schemas"]["NullableNumber"];
            /** @description Of all monitors together. */
            down_seconds?: number;
            /** @description Monitors that met their target. */
            sla_met?: number;
            /** @description Monitors that missed it. */
            sla_missed?: number;
            /** @description Those that were down or had incidents, the lowest uptime first. */
            worst_monitors?: {
                id: string;
                name: string;
                uptime_percent: components["schemas"]["NullableNumber"];
                down_seconds: number;
                incidents: number;
            }[];
        };
        ReportMonitor: {
            id: string;
            name: string;
            type: components["schemas"]["MonitorType"];
            /** @description (up + degraded) / (up + degraded + down), floored to three decimals; null when no time counts. */
            uptime_percent: components["schemas"]["NullableNumber"];
            sla_target: components["schemas"]["NullableNumber"];
            sla_met: boolean | null;
            /** @description Down time left before the target is missed; negative where it was. */
            error_budget_seconds: components["schemas"]["NullableNumber"];
            down_seconds: number;
            degraded_seconds: number;
            unknown_seconds: number;
            paused_seconds: number;
            /** @description Those of which some time lies in the period. */
            incidents: number;
            /** @description As far as it lies in the period. */
            longest_incident_seconds: number;
            /** @description Mean time to recovery, of the incidents that were resolved in the period, over their whole length. */
            mttr_seconds: components["schemas"]["NullableNumber"];
            /** @description Those that came to a verdict. */
            checks: number;
            response_ms: components["schemas"]["ResponseMs"];
            /** @description An extension of the single read. The days of the period in order. */
            days?: components["schemas"]["ReportDay"][];
        };
        ReportDay: {
            /** @description UTC, `2026-03-16`. */
            date: string;
            uptime_percent: components["schemas"]["NullableNumber"];
            /**
             * @description The first of this list that the day had any second of; null before the monitor's creation.
             * @enum {string|null}
             */
            worst_state: "down" | "degraded" | "unknown" | "up" | "pending" | "paused" | null;
            response_ms: components["schemas"]["ResponseMs"];
        };
        ReportIncident: {
            /** @description `inc_...` */
            id: string;
            monitor_id: string;
            monitor_name: string;
            /** @enum {string} */
            state: "down" | "degraded";
            reason: string;
            started_at: components["schemas"]["UnixSeconds"];
            /** @description Unix seconds. Null, as is the rest of its end, where it was not over when the period ended. */
            resolved_at: number | null;
            duration_seconds: number | null;
            /** @enum {string|null} */
            resolution: "recovered" | "paused" | "deleted" | null;
        };
        /** @enum {string} */
        ReportPeriod: "week" | "month";
        Report: {
            /** @description `rep_...` */
            id: string;
            period: components["schemas"]["ReportPeriod"];
            period_start: components["schemas"]["UnixSeconds"];
            period_end: components["schemas"]["UnixSeconds"];
            created_at: components["schemas"]["UnixSeconds"];
            summary: components["schemas"]["ReportSummary"];
            monitors: components["schemas"]["ReportMonitor"][];
            /** @description An extension of the single read. In the order in which they began; of more than 1,000 the longest. */
            incidents?: components["schemas"]["ReportIncident"][];
            /** @description An extension of the single read. Stretches of the period in which the service itself stood still; they count as unknown. */
            service_gaps?: components["schemas"]["ServiceGap"][];
        };
        ReportList: {
            reports: components["schemas"]["Report"][];
        };
        /** @enum {string} */
        EventKind: "monitor.down" | "monitor.degraded" | "monitor.up" | "monitor.unknown" | "agent.offline" | "agent.online" | "advisory.domain_expiry";
        /** @description The monitor that the event is about. */
        EventMonitor: {
            id: string;
            name: string;
            type: components["schemas"]["MonitorType"];
            target: string;
        };
        MonitorEvent: {
            /** @constant */
            version: "1";
            event: components["schemas"]["EventKind"];
            /** @description The same in every retry. */
            delivery_id: string;
            /** @description When it happened. */
            event_at: components["schemas"]["UnixSeconds"];
            /** @description When this attempt was sent. */
            sent_at: components["schemas"]["UnixSeconds"];
            /** @description A sentence for people. */
            reason: string;
            /** @description The place in the console. */
            url: string;
            monitor: components["schemas"]["EventMonitor"];
            /** @enum {string} */
            state: "down" | "degraded" | "up" | "unknown";
            /**
             * @description Present in test deliveries only.
             * @constant
             */
            test?: true;
            detail: {
                /** @description Names of the places that see the failure. */
                sources_down: string[];
                /** @description Names of the places whose vote did not count, sorted: their agent is offline, or nothing came from them lately, or they could not decide. Absent where all counted. */
                sources_silent?: string[];
                /** @description `inc_...`, or null when there is no incident. */
                incident_id: string | null;
                /** @description One of a fixed list, such as `timeout` or `status_503`. */
                cause?: string | null;
                previous_state?: string;
                /** @description Grows with every change of this monitor: drop what is older than what you have. */
                sequence?: number;
                sources_total?: number;
                /** @description How many places had to agree. */
                quorum?: number;
                detected_at?: components["schemas"]["UnixSeconds"];
                /** @description On recovery: how long it lasted. */
                duration_seconds?: number;
                latency_ms?: number | null;
                /** @description Of `monitor.down`, where there are any: the vendors that this monitor depends on and that are not well themselves. */
                dependencies?: {
                    /** @description Of the vendor monitor. */
                    id: string;
                    name: string;
                    /** @enum {string} */
                    state: "down" | "degraded";
                }[];
            };
        };
        AgentEvent: {
            /** @constant */
            version: "1";
            event: components["schemas"]["EventKind"];
            /** @description The same in every retry. */
            delivery_id: string;
            /** @description When it happened. */
            event_at: components["schemas"]["UnixSeconds"];
            /** @description When this attempt was sent. */
            sent_at: components["schemas"]["UnixSeconds"];
            /** @description A sentence for people. */
            reason: string;
            /** @description The place in the console. */
            url: string;
            monitor: null;
            agent: {
                id: string;
                name: string;
                region: string | null;
            };
            /** @enum {string} */
            state: "offline" | "online";
            detail: {
                /** @description Empty; an agent is no monitor. */
                sources_down: string[];
                incident_id: null;
                /** @description The agent's newest check-in. */
                last_seen_at: components["schemas"]["UnixSeconds"];
            };
        };
        AdvisoryEvent: {
            /** @constant */
            version: "1";
            event: components["schemas"]["EventKind"];
            /** @description The same in every retry. */
            delivery_id: string;
            /** @description When it happened. */
            event_at: components["schemas"]["UnixSeconds"];
            /** @description When this attempt was sent. */
            sent_at: components["schemas"]["UnixSeconds"];
            /** @description A sentence for people. */
            reason: string;
            /** @description The place in the console. */
            url: string;
            monitor: components["schemas"]["EventMonitor"];
            /** @constant */
            state: "expiring";
            detail: {
                /** @description Empty; an advisory is no failure. */
                sources_down: string[];
                incident_id: null;
                /** @enum {string} */
                subject: "domain" | "certificate";
                /** @description The domain in its ASCII form; or whom the certificate is for. */
                name: string;
                expires_at: components["schemas"]["UnixSeconds"];
                /** @description A day that has begun counts as a whole one; 0 from the expiry on. */
                days_remaining: number;
            };
        };
    };
    responses: {
        /** @description The monitor. */
        MonitorDetail: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "RateLimit-Reset": components["headers"]["RateLimitReset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["MonitorDetail"];
            };
        };
        /** @description The incident, as lists show it. */
        Incident: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "RateLimit-Reset": components["headers"]["RateLimitReset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Incident"];
            };
        };
        /** @description The incidents. */
        IncidentList: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "RateLimit-Reset": components["headers"]["RateLimitReset"];
                Link: components["headers"]["Link"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["IncidentList"];
            };
        };
        /** @description Done. */
        Done: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "RateLimit-Reset": components["headers"]["RateLimitReset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Done"];
            };
        };
        /** @description Deleted; there is no body. */
        NoContent: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "RateLimit-Reset": components["headers"]["RateLimitReset"];
                [name: string]: unknown;
            };
            content?: never;
        };
        /** @description Taken. */
        Pong: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "text/plain": "OK";
            };
        };
        /** @description The heartbeat takes no reports of failure, or the body is shorter than announced. */
        FailureRefused: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The token is missing, unknown or revoked, or its agent was deleted. An API token is none of an agent. */
        UnknownAgent: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "WWW-Authenticate": components["headers"]["WwwAuthenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body has more than 1 MiB. */
        AgentBodyTooLarge: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The address or the password is wrong, or a code is needed. */
        SignInRefused: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "RateLimit-Reset": components["headers"]["RateLimitReset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["SignInRefusal"];
            };
        };
        /** @description Too many requests within a minute, or too many wrong passwords and codes within 15 minutes. */
        Throttled: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "RateLimit-Reset": components["headers"]["RateLimitReset"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description No monitor has this token, or the path is none of those above. */
        UnknownHeartbeat: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The heartbeat reports more changes than are kept, so that the ping counts as a sign of life alone; or too many pings with tokens that no heartbeat has came
         *     from this address.
         *      */
        TooManyPings: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The request is not valid; the text names each wrong field, what was expected and what came. Nothing was changed. */
        BadRequest: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "RateLimit-Reset": components["headers"]["RateLimitReset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The token is missing, unknown, expired or revoked; or the session has ended. */
        Unauthorized: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "RateLimit-Reset": components["headers"]["RateLimitReset"];
                "WWW-Authenticate": components["headers"]["WwwAuthenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The token lacks the `write` scope, or the agent is a shared one; the person's role does not allow it, or `X-CSRF-Token` is missing or wrong; or it is for people and a token asked. */
        Forbidden: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "RateLimit-Reset": components["headers"]["RateLimitReset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description There is no such thing in this account. */
        NotFound: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "RateLimit-Reset": components["headers"]["RateLimitReset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description It is in no state for that; the text says what would help. Nothing was changed. */
        Conflict: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "RateLimit-Reset": components["headers"]["RateLimitReset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The path exists, the method does not. Any operation on a known path can answer this. */
        MethodNotAllowed: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                Allow: components["headers"]["Allow"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The request line and the headers have more than 16 KiB together. The connection is closed. */
        HeadersTooLong: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body is larger than 256 KiB. */
        TooLarge: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body is not `application/json`. */
        UnsupportedMediaType: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Too many requests within a minute. */
        RateLimited: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                "RateLimit-Reset": components["headers"]["RateLimitReset"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A fault of ours. The text shows no details; the id finds them in our logs. */
        InternalError: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The database cannot be reached at the moment; try again. */
        Unavailable: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: {
        /** @description At most this many entries; the next page is in the `Link` header. */
        Limit: number;
        /** @description Where the page starts, taken from the `Link` header of the page before. Opaque. */
        Cursor: string;
        /** @description Only incidents that are still open, or only resolved ones. */
        IncidentStatusFilter: "open" | "resolved";
        /** @description Only incidents that started at this Unix second or later. */
        Since: number;
        /** @description Only incidents that started at this Unix second or earlier. */
        Until: number;
        /** @description An extension. Only incidents that were acknowledged (`true`), or only those that were not. */
        IncidentAcknowledged: "true" | "false";
        /** @description The incident's id, `inc_...`. */
        IncidentId: string;
        /** @description The monitor's id, `mon_...`. */
        MonitorId: string;
        /** @description The channel's id, `nch_...`. */
        ChannelId: string;
        /** @description The delivery's id, `dlv_...`. */
        DeliveryId: string;
        /** @description The agent's id, `agt_...`. */
        AgentId: string;
        /** @description The report's id, `rep_...`. */
        ReportId: string;
        /** @description The session's id, `ses_...`. */
        SessionId: string;
        /** @description The member's id, `usr_...`. */
        MemberId: string;
        /** @description The invitation's id, `inv_...`. */
        InvitationId: string;
        /** @description What the link of the invitation ends with. */
        InvitationSecret: string;
        /** @description The token's id, `tok_...`. */
        TokenId: string;
        /** @description The monitor's `check_spec.heartbeat.token`. */
        HeartbeatToken: string;
    };
    requestBodies: {
        /** @description What the job has to say; the first 10 kB are kept. */
        PingOutput: {
            content: {
                "application/octet-stream": string;
            };
        };
    };
    headers: {
        /** @description The id of this request; also `request_id` of an error. */
        RequestId: string;
        /** @description Requests allowed per minute. */
        RateLimitLimit: number;
        /** @description Requests left in the current minute. */
        RateLimitRemaining: number;
        /** @description Seconds until the count starts anew. */
        RateLimitReset: number;
        /** @description Whole seconds, 1 or more, until a request will be accepted. */
        RetryAfter: number;
        /** @description The next page, when there is one. */
        Link: string;
        /** @description The session, for the browser to keep; scripts cannot read it. */
        SessionCookie: string;
        /** @description The methods that this path knows. */
        Allow: string;
        /** @description How to authenticate (RFC 6750). */
        WwwAuthenticate: string;
    };
    pathItems: never;
};
export type $defs = Record<string, never>;
export interface operations {
    listMonitors: {
        parameters: {
            query?: {
                /** @description At most this many entries; the next page is in the `Link` header. */
                limit?: components["parameters"]["Limit"];
                /** @description Where the page starts, taken from the `Link` header of the page before. Opaque. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only monitors of this type. */
                type?: components["schemas"]["MonitorType"];
                /** @description Only monitors with this status. */
                status?: components["schemas"]["MonitorStatus"];
                /** @description Only monitors that are checked (`1` or `true`), or only paused ones (`0` or `false`). */
                enabled?: "1" | "0" | "true" | "false";
                /** @description Only monitors whose name or target contains this text, in any case. */
                q?: components["schemas"]["QueryText"];
                /** @description An extension. Only monitors that this agent is to watch; none where there is no such agent. */
                agent_id?: components["schemas"]["QueryText"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The monitors. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MonitorList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createMonitor: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MonitorCreate"];
            };
        };
        responses: {
            /** @description Created. The first result follows shortly. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MonitorState"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getMonitor: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["MonitorDetail"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteMonitor: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: components["responses"]["NoContent"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateMonitor: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MonitorPatch"];
            };
        };
        responses: {
            /** @description Changed. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MonitorState"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    pauseMonitor: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["MonitorDetail"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    requestCheck: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sources are asked. */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckRequested"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    resumeMonitor: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["MonitorDetail"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listMonitorIncidents: {
        parameters: {
            query?: {
                /** @description At most this many entries; the next page is in the `Link` header. */
                limit?: components["parameters"]["Limit"];
                /** @description Where the page starts, taken from the `Link` header of the page before. Opaque. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only incidents that are still open, or only resolved ones. */
                status?: components["parameters"]["IncidentStatusFilter"];
                /** @description An extension. Only incidents that were acknowledged (`true`), or only those that were not. */
                acknowledged?: components["parameters"]["IncidentAcknowledged"];
                /** @description Only incidents that started at this Unix second or later. */
                since?: components["parameters"]["Since"];
                /** @description Only incidents that started at this Unix second or earlier. */
                until?: components["parameters"]["Until"];
            };
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["IncidentList"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listChecks: {
        parameters: {
            query?: {
                /** @description At most this many entries, 100 unless told; the next page is in the `Link` header. */
                limit?: number;
                /** @description Where the page starts, taken from the `Link` header of the page before. Opaque. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only results of the agent with this id. */
                source?: components["schemas"]["QueryText"];
                /** @description Only results with this verdict. */
                verdict?: components["schemas"]["Vote"];
                /** @description Only results due at this Unix second or later. */
                since?: number;
                /** @description Only results due at this Unix second or earlier. */
                until?: number;
            };
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The results. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getMonitorStats: {
        parameters: {
            query?: {
                /** @description The window's first Unix second; a day before `to` unless told. */
                from?: number;
                /** @description The Unix second after the window's last; now unless told, and where it lies in the future. */
                to?: number;
                /** @description How long a step of `series` is; `auto` (unless told) takes one that suits the window. Steps below an hour need single results, which the plan keeps for a time. */
                resolution?: "auto" | "minute" | "five_minutes" | "hour" | "day";
                /** @description Whether each step says what each source measured (`1` or `true`). */
                by_source?: "1" | "0" | "true" | "false";
                /** @description Whether each step, and each source, says the means of its phases (`1` or `true`). Good results keep theirs once in ten minutes; roll-ups keep the means for as long as they last. */
                by_phase?: "1" | "0" | "true" | "false";
            };
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The statistics. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MonitorStats"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getMonitorUptime: {
        parameters: {
            query?: {
                /** @description How many days, today included; 90 unless told. */
                days?: number;
            };
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The days. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UptimeDays"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getMonitorFacts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's id, `mon_...`. */
                id: components["parameters"]["MonitorId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The facts. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MonitorFacts"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getOverview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The overview. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Overview"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getOverviewHistory: {
        parameters: {
            query: {
                /** @description Ids of monitors, separated by commas. */
                ids: components["schemas"]["IdList"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Their pasts, in no order. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OverviewHistories"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getFleet: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The fleet. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Fleet"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    retireRegion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RetirementCreate"];
            };
        };
        responses: {
            /** @description What it does, or would do. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Retirement"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    tryMonitor: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TrialCreate"];
            };
        };
        responses: {
            /** @description What was seen. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trial"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listVendors: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The vendors. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VendorList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listVendorComponents: {
        parameters: {
            query: {
                /** @description A vendor's id, or the URL of a status page, as in a monitor. */
                target: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What the page says. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VendorPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    watchLive: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listIncidents: {
        parameters: {
            query?: {
                /** @description At most this many entries; the next page is in the `Link` header. */
                limit?: components["parameters"]["Limit"];
                /** @description Where the page starts, taken from the `Link` header of the page before. Opaque. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only incidents of this monitor. */
                monitor_id?: components["schemas"]["QueryText"];
                /** @description Only incidents that are still open, or only resolved ones. */
                status?: components["parameters"]["IncidentStatusFilter"];
                /** @description An extension. Only incidents that were acknowledged (`true`), or only those that were not. */
                acknowledged?: components["parameters"]["IncidentAcknowledged"];
                /** @description Only incidents that started at this Unix second or later. */
                since?: components["parameters"]["Since"];
                /** @description Only incidents that started at this Unix second or earlier. */
                until?: components["parameters"]["Until"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["IncidentList"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getIncident: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The incident's id, `inc_...`. */
                id: components["parameters"]["IncidentId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The incident. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IncidentDetail"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    acknowledgeIncident: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The incident's id, `inc_...`. */
                id: components["parameters"]["IncidentId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Acknowledgement"];
            };
        };
        responses: {
            200: components["responses"]["Incident"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    unacknowledgeIncident: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The incident's id, `inc_...`. */
                id: components["parameters"]["IncidentId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Incident"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    addIncidentNote: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The incident's id, `inc_...`. */
                id: components["parameters"]["IncidentId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["IncidentNoteCreate"];
            };
        };
        responses: {
            /** @description The note. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IncidentNote"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteIncidentNote: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The incident's id, `inc_...`. */
                id: components["parameters"]["IncidentId"];
                /** @description The note's id, `note_...`. */
                note_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: components["responses"]["NoContent"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listServiceGaps: {
        parameters: {
            query?: {
                /** @description At most this many entries; the next page is in the `Link` header. */
                limit?: components["parameters"]["Limit"];
                /** @description Where the page starts, taken from the `Link` header of the page before. Opaque. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only gaps that lasted beyond this Unix second; 90 days before `to` unless told. */
                from?: number;
                /** @description Only gaps that began before this Unix second; now unless told. */
                to?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The gaps. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordedGapList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listChannels: {
        parameters: {
            query?: {
                /** @description At most this many entries; the next page is in the `Link` header. */
                limit?: components["parameters"]["Limit"];
                /** @description Where the page starts, taken from the `Link` header of the page before. Opaque. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only channels of this type. */
                type?: components["schemas"]["ChannelType"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The channels. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createChannel: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChannelCreate"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelCreateResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The channel's id, `nch_...`. */
                id: components["parameters"]["ChannelId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The channel. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Channel"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The channel's id, `nch_...`. */
                id: components["parameters"]["ChannelId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Done"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The channel's id, `nch_...`. */
                id: components["parameters"]["ChannelId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChannelPatch"];
            };
        };
        responses: {
            200: components["responses"]["Done"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                /** @description At most this many entries; the next page is in the `Link` header. */
                limit?: components["parameters"]["Limit"];
                /** @description Where the page starts, taken from the `Link` header of the page before. Opaque. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only deliveries of which this became. */
                outcome?: components["schemas"]["DeliveryOutcome"];
                /** @description Only deliveries of this event. */
                event?: components["schemas"]["DeliveryEvent"];
            };
            header?: never;
            path: {
                /** @description The channel's id, `nch_...`. */
                id: components["parameters"]["ChannelId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The deliveries. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    replayDeliveries: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The channel's id, `nch_...`. */
                id: components["parameters"]["ChannelId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReplayRequest"];
            };
        };
        responses: {
            /** @description How many are sent again. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplayResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    testChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The channel's id, `nch_...`. */
                id: components["parameters"]["ChannelId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was taken. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    rotateSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The channel's id, `nch_...`. */
                id: components["parameters"]["ChannelId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The new secret. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RotatedSecret"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The delivery's id, `dlv_...`. */
                id: components["parameters"]["DeliveryId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryDetail"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    redeliver: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The delivery's id, `dlv_...`. */
                id: components["parameters"]["DeliveryId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It will be sent. */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RedeliveryResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listAgents: {
        parameters: {
            query?: {
                /** @description At most this many entries; the next page is in the `Link` header. */
                limit?: components["parameters"]["Limit"];
                /** @description Where the page starts, taken from the `Link` header of the page before. Opaque. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only the account's own agents (`tenant`), or only shared ones (`first_party`). */
                kind?: components["schemas"]["AgentKind"];
                /** @description Only agents of this region. */
                region?: components["schemas"]["QueryText"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agents. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createAgent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentCreate"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedAgent"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's id, `agt_...`. */
                id: components["parameters"]["AgentId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agent. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's id, `agt_...`. */
                id: components["parameters"]["AgentId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: components["responses"]["NoContent"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    rotateAgentToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's id, `agt_...`. */
                id: components["parameters"]["AgentId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The new token. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentToken"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listReports: {
        parameters: {
            query?: {
                /** @description At most this many entries; the next page is in the `Link` header. */
                limit?: components["parameters"]["Limit"];
                /** @description Where the page starts, taken from the `Link` header of the page before. Opaque. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only weekly or only monthly reports. */
                period?: components["schemas"]["ReportPeriod"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The reports. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getReport: {
        parameters: {
            query?: {
                /** @description An extension. json when omitted. */
                format?: "json" | "csv" | "html";
            };
            header?: never;
            path: {
                /** @description The report's id, `rep_...`. */
                id: components["parameters"]["ReportId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The report. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Report"];
                    "text/csv": string;
                    "text/html": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The person of this session. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedIn"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    signIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignIn"];
            };
        };
        responses: {
            /** @description Signed in. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    "Set-Cookie": components["headers"]["SessionCookie"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedIn"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["SignInRefused"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["Throttled"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    signOut: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: components["responses"]["NoContent"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listSessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sessions. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    endSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id, `ses_...`. */
                id: components["parameters"]["SessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: components["responses"]["NoContent"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    endOtherSessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ended. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndedSessions"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateUser: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserPatch"];
            };
        };
        responses: {
            /** @description Changed. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionUser"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changePassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasswordChange"];
            };
        };
        responses: {
            /** @description Changed. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndedSessions"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["Throttled"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    startTotp: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TotpStart"];
            };
        };
        responses: {
            /** @description Show it to the app. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TotpDraft"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["Throttled"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    removeTotp: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TotpRemoval"];
            };
        };
        responses: {
            /** @description It is off. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndedSessions"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["Throttled"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    confirmTotp: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TotpConfirmation"];
            };
        };
        responses: {
            /** @description It is on. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCodes"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["Throttled"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    renewRecoveryCodes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TotpRemoval"];
            };
        };
        responses: {
            /** @description The new codes. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCodes"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["Throttled"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listMembers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The members. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    removeMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The member's id, `usr_...`. */
                id: components["parameters"]["MemberId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: components["responses"]["NoContent"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The member's id, `usr_...`. */
                id: components["parameters"]["MemberId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MemberPatch"];
            };
        };
        responses: {
            /** @description The member as it is now. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listInvitations: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The invitations. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvitationList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InvitationCreate"];
            };
        };
        responses: {
            /** @description Invited. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedInvitation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    findInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description What the link of the invitation ends with. */
                id: components["parameters"]["InvitationSecret"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What it is for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenInvitation"];
                };
            };
            400: components["responses"]["BadRequest"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The invitation's id, `inv_...`. */
                id: components["parameters"]["InvitationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: components["responses"]["NoContent"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    acceptInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InvitationAcceptance"];
            };
        };
        responses: {
            /** @description Signed in. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    "Set-Cookie": components["headers"]["SessionCookie"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedIn"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listTokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tokens. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TokenCreate"];
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedToken"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    revokeToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The token's id, `tok_...`. */
                id: components["parameters"]["TokenId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: components["responses"]["NoContent"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getUsage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The plan. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Usage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listAuditLog: {
        parameters: {
            query?: {
                /** @description At most this many entries; the next page is in the `Link` header. */
                limit?: components["parameters"]["Limit"];
                /** @description Where the page starts, taken from the `Link` header of the page before. Opaque. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Only what this person (`usr_...`) or this API token (`tok_...`) did. */
                actor_id?: components["schemas"]["QueryText"];
                /** @description Only entries of this action. */
                action?: components["schemas"]["AuditAction"];
                /** @description Only what was done to things of this kind. */
                object_kind?: components["schemas"]["AuditObjectKind"];
                /** @description Only what was done to the thing of this id; found fastest with its `object_kind`. */
                object_id?: components["schemas"]["QueryText"];
                /** @description Only entries of this Unix second or later. */
                from?: number;
                /** @description Only entries of this Unix second or earlier. */
                to?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditLog"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getDescription: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An OpenAPI 3.1 document. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        openapi: "3.1.0";
                    };
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
        };
    };
    pingHeartbeat: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's `check_spec.heartbeat.token`. */
                token: components["parameters"]["HeartbeatToken"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Pong"];
            404: components["responses"]["UnknownHeartbeat"];
            405: components["responses"]["MethodNotAllowed"];
            429: components["responses"]["TooManyPings"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    pingHeartbeatWithBody: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's `check_spec.heartbeat.token`. */
                token: components["parameters"]["HeartbeatToken"];
            };
            cookie?: never;
        };
        requestBody?: components["requestBodies"]["PingOutput"];
        responses: {
            200: components["responses"]["Pong"];
            404: components["responses"]["UnknownHeartbeat"];
            405: components["responses"]["MethodNotAllowed"];
            429: components["responses"]["TooManyPings"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    pingHeartbeatByHead: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's `check_spec.heartbeat.token`. */
                token: components["parameters"]["HeartbeatToken"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Pong"];
            404: components["responses"]["UnknownHeartbeat"];
            405: components["responses"]["MethodNotAllowed"];
            429: components["responses"]["TooManyPings"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    pingHeartbeatStartByGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's `check_spec.heartbeat.token`. */
                token: components["parameters"]["HeartbeatToken"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Pong"];
            404: components["responses"]["UnknownHeartbeat"];
            405: components["responses"]["MethodNotAllowed"];
            429: components["responses"]["TooManyPings"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    pingHeartbeatStart: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's `check_spec.heartbeat.token`. */
                token: components["parameters"]["HeartbeatToken"];
            };
            cookie?: never;
        };
        requestBody?: components["requestBodies"]["PingOutput"];
        responses: {
            200: components["responses"]["Pong"];
            404: components["responses"]["UnknownHeartbeat"];
            405: components["responses"]["MethodNotAllowed"];
            429: components["responses"]["TooManyPings"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    pingHeartbeatStartByHead: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's `check_spec.heartbeat.token`. */
                token: components["parameters"]["HeartbeatToken"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Pong"];
            404: components["responses"]["UnknownHeartbeat"];
            405: components["responses"]["MethodNotAllowed"];
            429: components["responses"]["TooManyPings"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    pingHeartbeatFailByGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's `check_spec.heartbeat.token`. */
                token: components["parameters"]["HeartbeatToken"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Pong"];
            400: components["responses"]["FailureRefused"];
            404: components["responses"]["UnknownHeartbeat"];
            405: components["responses"]["MethodNotAllowed"];
            429: components["responses"]["TooManyPings"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    pingHeartbeatFail: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's `check_spec.heartbeat.token`. */
                token: components["parameters"]["HeartbeatToken"];
            };
            cookie?: never;
        };
        requestBody?: components["requestBodies"]["PingOutput"];
        responses: {
            200: components["responses"]["Pong"];
            400: components["responses"]["FailureRefused"];
            404: components["responses"]["UnknownHeartbeat"];
            405: components["responses"]["MethodNotAllowed"];
            429: components["responses"]["TooManyPings"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    pingHeartbeatFailByHead: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's `check_spec.heartbeat.token`. */
                token: components["parameters"]["HeartbeatToken"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Pong"];
            400: components["responses"]["FailureRefused"];
            404: components["responses"]["UnknownHeartbeat"];
            405: components["responses"]["MethodNotAllowed"];
            429: components["responses"]["TooManyPings"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    pingHeartbeatExitStatusByGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's `check_spec.heartbeat.token`. */
                token: components["parameters"]["HeartbeatToken"];
                /** @description The job's exit status; 0 is a success. Another number is a 404. */
                exit_status: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Pong"];
            400: components["responses"]["FailureRefused"];
            404: components["responses"]["UnknownHeartbeat"];
            405: components["responses"]["MethodNotAllowed"];
            429: components["responses"]["TooManyPings"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    pingHeartbeatExitStatus: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's `check_spec.heartbeat.token`. */
                token: components["parameters"]["HeartbeatToken"];
                /** @description The job's exit status; 0 is a success. Another number is a 404. */
                exit_status: number;
            };
            cookie?: never;
        };
        requestBody?: components["requestBodies"]["PingOutput"];
        responses: {
            200: components["responses"]["Pong"];
            400: components["responses"]["FailureRefused"];
            404: components["responses"]["UnknownHeartbeat"];
            405: components["responses"]["MethodNotAllowed"];
            429: components["responses"]["TooManyPings"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    pingHeartbeatExitStatusByHead: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The monitor's `check_spec.heartbeat.token`. */
                token: components["parameters"]["HeartbeatToken"];
                /** @description The job's exit status; 0 is a success. Another number is a 404. */
                exit_status: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Pong"];
            400: components["responses"]["FailureRefused"];
            404: components["responses"]["UnknownHeartbeat"];
            405: components["responses"]["MethodNotAllowed"];
            429: components["responses"]["TooManyPings"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    agentPull: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of the answer that the agent has; a list, weak tags and `*` are understood. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentPull"];
            };
        };
        responses: {
            /** @description The agent's work. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    /** @description Stands for this work. Absent where some of it could not be given out. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentWork"];
                };
            };
            /** @description The agent has all of its work already. The check-in counts. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["UnknownAgent"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["AgentBodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    agentIngest: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentResults"];
            };
        };
        responses: {
            /** @description What became of them. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                    "RateLimit-Remaining": components["headers"]["RateLimitRemaining"];
                    "RateLimit-Reset": components["headers"]["RateLimitReset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentResultsTaken"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["UnknownAgent"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["AgentBodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    agentDiscoveries: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, unknown>;
            };
        };
        responses: {
            204: components["responses"]["NoContent"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["UnknownAgent"];
            405: components["responses"]["MethodNotAllowed"];
            413: components["responses"]["AgentBodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLong"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    onMonitorDown: {
        parameters: {
            query?: never;
            header: {
                /** @description `sha256=` and the lowercase hex HMAC-SHA256 of the raw body; the key is the whole signing secret, `whsec_` included. Compare in constant time. */
                "X-Service-Signature": string;
                /** @description An extension, there only within 24 hours after a change of the secret. The same as `X-Service-Signature`, with the secret before. */
                "X-Service-Signature-Previous"?: string;
                /** @description The kind of event. */
                "X-Service-Event": components["schemas"]["EventKind"];
                /** @description The envelope's `delivery_id`; the same in every retry. */
                "X-Service-Delivery": string;
                /** @description When this attempt was sent, in Unix seconds. Not part of the signature. */
                "X-Service-Timestamp": string;
                /** @description The same as `X-Service-Delivery`, for libraries of the Standard Webhooks specification. */
                "webhook-id": string;
                /** @description When this attempt was sent, in Unix seconds. Part of the signature in `webhook-signature`. */
                "webhook-timestamp": string;
                /** @description `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`; the key is what follows `whsec_`, decoded from base64. Within 24 hours after a change of the secret a second such value follows after a blank, with the secret before. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MonitorEvent"];
            };
        };
        responses: {
            /** @description Accepted. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Refused for good; it is not sent again. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Failed; it is tried again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onMonitorDegraded: {
        parameters: {
            query?: never;
            header: {
                /** @description `sha256=` and the lowercase hex HMAC-SHA256 of the raw body; the key is the whole signing secret, `whsec_` included. Compare in constant time. */
                "X-Service-Signature": string;
                /** @description An extension, there only within 24 hours after a change of the secret. The same as `X-Service-Signature`, with the secret before. */
                "X-Service-Signature-Previous"?: string;
                /** @description The kind of event. */
                "X-Service-Event": components["schemas"]["EventKind"];
                /** @description The envelope's `delivery_id`; the same in every retry. */
                "X-Service-Delivery": string;
                /** @description When this attempt was sent, in Unix seconds. Not part of the signature. */
                "X-Service-Timestamp": string;
                /** @description The same as `X-Service-Delivery`, for libraries of the Standard Webhooks specification. */
                "webhook-id": string;
                /** @description When this attempt was sent, in Unix seconds. Part of the signature in `webhook-signature`. */
                "webhook-timestamp": string;
                /** @description `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`; the key is what follows `whsec_`, decoded from base64. Within 24 hours after a change of the secret a second such value follows after a blank, with the secret before. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MonitorEvent"];
            };
        };
        responses: {
            /** @description Accepted. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Refused for good; it is not sent again. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Failed; it is tried again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onMonitorUp: {
        parameters: {
            query?: never;
            header: {
                /** @description `sha256=` and the lowercase hex HMAC-SHA256 of the raw body; the key is the whole signing secret, `whsec_` included. Compare in constant time. */
                "X-Service-Signature": string;
                /** @description An extension, there only within 24 hours after a change of the secret. The same as `X-Service-Signature`, with the secret before. */
                "X-Service-Signature-Previous"?: string;
                /** @description The kind of event. */
                "X-Service-Event": components["schemas"]["EventKind"];
                /** @description The envelope's `delivery_id`; the same in every retry. */
                "X-Service-Delivery": string;
                /** @description When this attempt was sent, in Unix seconds. Not part of the signature. */
                "X-Service-Timestamp": string;
                /** @description The same as `X-Service-Delivery`, for libraries of the Standard Webhooks specification. */
                "webhook-id": string;
                /** @description When this attempt was sent, in Unix seconds. Part of the signature in `webhook-signature`. */
                "webhook-timestamp": string;
                /** @description `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`; the key is what follows `whsec_`, decoded from base64. Within 24 hours after a change of the secret a second such value follows after a blank, with the secret before. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MonitorEvent"];
            };
        };
        responses: {
            /** @description Accepted. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Refused for good; it is not sent again. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Failed; it is tried again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onMonitorUnknown: {
        parameters: {
            query?: never;
            header: {
                /** @description `sha256=` and the lowercase hex HMAC-SHA256 of the raw body; the key is the whole signing secret, `whsec_` included. Compare in constant time. */
                "X-Service-Signature": string;
                /** @description An extension, there only within 24 hours after a change of the secret. The same as `X-Service-Signature`, with the secret before. */
                "X-Service-Signature-Previous"?: string;
                /** @description The kind of event. */
                "X-Service-Event": components["schemas"]["EventKind"];
                /** @description The envelope's `delivery_id`; the same in every retry. */
                "X-Service-Delivery": string;
                /** @description When this attempt was sent, in Unix seconds. Not part of the signature. */
                "X-Service-Timestamp": string;
                /** @description The same as `X-Service-Delivery`, for libraries of the Standard Webhooks specification. */
                "webhook-id": string;
                /** @description When this attempt was sent, in Unix seconds. Part of the signature in `webhook-signature`. */
                "webhook-timestamp": string;
                /** @description `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`; the key is what follows `whsec_`, decoded from base64. Within 24 hours after a change of the secret a second such value follows after a blank, with the secret before. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MonitorEvent"];
            };
        };
        responses: {
            /** @description Accepted. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Refused for good; it is not sent again. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Failed; it is tried again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onAgentOffline: {
        parameters: {
            query?: never;
            header: {
                /** @description `sha256=` and the lowercase hex HMAC-SHA256 of the raw body; the key is the whole signing secret, `whsec_` included. Compare in constant time. */
                "X-Service-Signature": string;
                /** @description An extension, there only within 24 hours after a change of the secret. The same as `X-Service-Signature`, with the secret before. */
                "X-Service-Signature-Previous"?: string;
                /** @description The kind of event. */
                "X-Service-Event": components["schemas"]["EventKind"];
                /** @description The envelope's `delivery_id`; the same in every retry. */
                "X-Service-Delivery": string;
                /** @description When this attempt was sent, in Unix seconds. Not part of the signature. */
                "X-Service-Timestamp": string;
                /** @description The same as `X-Service-Delivery`, for libraries of the Standard Webhooks specification. */
                "webhook-id": string;
                /** @description When this attempt was sent, in Unix seconds. Part of the signature in `webhook-signature`. */
                "webhook-timestamp": string;
                /** @description `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`; the key is what follows `whsec_`, decoded from base64. Within 24 hours after a change of the secret a second such value follows after a blank, with the secret before. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentEvent"];
            };
        };
        responses: {
            /** @description Accepted. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Refused for good; it is not sent again. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Failed; it is tried again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onAgentOnline: {
        parameters: {
            query?: never;
            header: {
                /** @description `sha256=` and the lowercase hex HMAC-SHA256 of the raw body; the key is the whole signing secret, `whsec_` included. Compare in constant time. */
                "X-Service-Signature": string;
                /** @description An extension, there only within 24 hours after a change of the secret. The same as `X-Service-Signature`, with the secret before. */
                "X-Service-Signature-Previous"?: string;
                /** @description The kind of event. */
                "X-Service-Event": components["schemas"]["EventKind"];
                /** @description The envelope's `delivery_id`; the same in every retry. */
                "X-Service-Delivery": string;
                /** @description When this attempt was sent, in Unix seconds. Not part of the signature. */
                "X-Service-Timestamp": string;
                /** @description The same as `X-Service-Delivery`, for libraries of the Standard Webhooks specification. */
                "webhook-id": string;
                /** @description When this attempt was sent, in Unix seconds. Part of the signature in `webhook-signature`. */
                "webhook-timestamp": string;
                /** @description `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`; the key is what follows `whsec_`, decoded from base64. Within 24 hours after a change of the secret a second such value follows after a blank, with the secret before. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentEvent"];
            };
        };
        responses: {
            /** @description Accepted. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Refused for good; it is not sent again. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Failed; it is tried again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onDomainExpiry: {
        parameters: {
            query?: never;
            header: {
                /** @description `sha256=` and the lowercase hex HMAC-SHA256 of the raw body; the key is the whole signing secret, `whsec_` included. Compare in constant time. */
                "X-Service-Signature": string;
                /** @description An extension, there only within 24 hours after a change of the secret. The same as `X-Service-Signature`, with the secret before. */
                "X-Service-Signature-Previous"?: string;
                /** @description The kind of event. */
                "X-Service-Event": components["schemas"]["EventKind"];
                /** @description The envelope's `delivery_id`; the same in every retry. */
                "X-Service-Delivery": string;
                /** @description When this attempt was sent, in Unix seconds. Not part of the signature. */
                "X-Service-Timestamp": string;
                /** @description The same as `X-Service-Delivery`, for libraries of the Standard Webhooks specification. */
                "webhook-id": string;
                /** @description When this attempt was sent, in Unix seconds. Part of the signature in `webhook-signature`. */
                "webhook-timestamp": string;
                /** @description `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`; the key is what follows `whsec_`, decoded from base64. Within 24 hours after a change of the secret a second such value follows after a blank, with the secret before. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AdvisoryEvent"];
            };
        };
        responses: {
            /** @description Accepted. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Refused for good; it is not sent again. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Failed; it is tried again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
