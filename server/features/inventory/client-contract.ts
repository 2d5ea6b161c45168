import { Type } from '@sinclair/typebox'
import { pageSchema, pagingQuery, Term } from '../../catalog/schemas.ts'
import { contract } from '../../core/contract.ts'
import { SEVERITIES } from '../../core/findings.ts'
import { DistributionFilter, Done, listed, OrNull, Text } from '../../core/schemas.ts'
import { ABSENT, ADMIN, AUDITED, ClientId } from './row-parts.ts'
import { CHECK_STATUSES, Client, CONNECTIONS, KnownHost, REBOOTS, SCAN_STATUSES, type ClientView } from './views.ts'

const HostName = Type.String({
  maxLength: 253,
  pattern: '^(?!-)[A-Za-z0-9_-]{1,63}(\\.[A-Za-z0-9_-]{1,63})*$',
  rule: 'a host name such as plc-gw-07 or db.example.lan',
})
const Address = Type.String({
  maxLength: 253,
  pattern: '^[A-Za-z0-9_:][A-Za-z0-9_.:-]*$',
  rule: 'an IPv4 or IPv6 address, or a host name',
})
const SshUser = Type.String({
  pattern: '^[A-Za-z_][A-Za-z0-9_.-]{0,31}$',
  rule: '1 to 32 letters, digits, ., _ or -, and first a letter or _',
})
const Port = Type.Integer({ minimum: 1, maximum: 65_535 })
const Label = Type.String({ maxLength: 80, pattern: '^[^\\u0000-\\u001f\\u007f]*$', rule: 'one line' })
const Password = Type.String({ maxLength: 500, description: 'Kept encrypted and never shown; empty: none.' })
const PackageType = listed(['auto', 'deb', 'rpm', 'apk'])
const Codename = Type.String({ maxLength: 80 })

const AgentToken = {
  agent_token: OrNull(Type.String({ description: 'Shown this once; only its hash is kept.' })),
  install_command: OrNull(Text),
}
const CLIENT_FILTERS = {
  q: Type.Optional(Term),
  system: Type.Optional(Type.String({ maxLength: 80 })),
  distribution: DistributionFilter,
  label: Type.Optional(Type.String({ maxLength: 80 })),
  connection_type: Type.Optional(listed(CONNECTIONS)),
  status: Type.Optional(listed([...SCAN_STATUSES, 'key_changed'])),
  reboot: Type.Optional(listed(REBOOTS)),
  severity: Type.Optional(listed(SEVERITIES)),
  behind: Type.Optional(Type.Boolean()),
  not_seen_days: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_650 })),
  compliance: Type.Optional(listed(CHECK_STATUSES)),
}

/** What somebody may say of a machine. */
const OPTIONAL = {
  ip: Type.Optional(Address),
  ssh_user: Type.Optional(SshUser),
  ssh_port: Type.Optional(Port),
  ssh_password: Type.Optional(Password),
  pkg_type: Type.Optional(PackageType),
  label: Type.Optional(Label),
  enabled: Type.Optional(Type.Boolean()),
  distribution: Type.Optional(OrNull(Codename)),
}

/** Machines: who is asked, and how. */
export const clients = contract({
  'GET /inventory/clients': {
    ...AUDITED,
    summary:
      'Lists machines. `q` searches name, address, label and system, and finds the exact name of an installed package.',
    query: Type.Object({
      ...pagingQuery(500),
      ...CLIENT_FILTERS,
      sort: Type.Optional(
        listed(['hostname', '-hostname', 'last_seen', '-last_seen', 'behind', '-behind', 'findings', '-findings']),
      ),
    }),
    reply: pageSchema<ClientView>(Client),
  },
  'POST /inventory/clients': {
    ...ADMIN,
    summary: 'Registers a machine that is asked over SSH, or one that reports itself; the answer has its token then.',
    body: Type.Object(
      {
        hostname: HostName,
        connection_type: listed(CONNECTIONS),
        ...OPTIONAL,
      },
      { additionalProperties: false },
    ),
    status: 201,
    reply: Type.Intersect([Client, Type.Object(AgentToken)]),
    fails: ['inventory_client_exists', 'unknown_distribution'],
  },
  'GET /inventory/clients/{id}': {
    ...AUDITED,
    summary: 'Shows a machine, with the host key it is trusted by.',
    params: ClientId,
    reply: Type.Intersect([Client, Type.Object({ known_host: OrNull(KnownHost) })]),
    fails: ABSENT,
  },
  'PATCH /inventory/clients/{id}': {
    ...ADMIN,
    summary: 'Changes a machine. `distribution` null: found by its system again.',
    params: ClientId,
    body: Type.Object(
      {
        hostname: Type.Optional(HostName),
        ...OPTIONAL,
      },
      { additionalProperties: false },
    ),
    reply: Client,
    fails: [...ABSENT, 'inventory_client_exists', 'unknown_distribution'],
  },
  'DELETE /inventory/clients/{id}': {
    ...ADMIN,
    summary: 'Removes a machine with all that is known of it. Its token stops working.',
    params: ClientId,
    reply: Done,
    fails: ABSENT,
  },
  'POST /inventory/clients/{id}/agent-token': {
    ...ADMIN,
    summary: 'Gives a machine that reports itself a fresh token; the one before stops working.',
    params: ClientId,
    reply: Type.Object({ agent_token: Text, install_command: Text, message: Text }),
    fails: [...ABSENT, 'inventory_not_by_agent'],
  },
  'POST /inventory/clients/{id}/host-key/reset': {
    ...ADMIN,
    summary: 'Trusts the host key that a machine shows now, or forgets the stored one so that the next one is trusted.',
    details:
      'With `fingerprint`, exactly that key is trusted; it must be the one that was offered. Without it the stored key is forgotten, and the next one seen is trusted.',
    params: ClientId,
    body: Type.Object(
      {
        fingerprint: Type.Optional(
          Type.String({
            pattern: '^SHA256:[A-Za-z0-9+/]{43}$',
            rule: 'a fingerprint as ssh-keygen -lf prints it: SHA256: and 43 characters',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    reply: Type.Object({ known_host: OrNull(KnownHost), message: Text }),
    fails: [...ABSENT, 'inventory_not_offered'],
  },
})
