import { Type, type Static, type TObject, type TSchema } from '@sinclair/typebox'

/**
 * What the daemon may ask of the machine that it runs on, and what it hears. The daemon has no rights over the machine:
 * a program of root (`appliance/machine/`) listens on a unix socket that only the daemon's user may open, and does
 * these things and nothing else. Each call is one connection: a line of JSON `{"ask", "with"}`, then lines
 * `{"step": text}` while it works, then one line `{"answer"}` or `{"error": {"code", "message"}}`.
 */
export const SOCKET = '/run/gatehouse-machine/socket'

const Text = Type.String()
const OrNull = <T extends TSchema>(of: T) => Type.Union([of, Type.Null()])
const Address = Type.String({ pattern: '^[0-9a-fA-F.:]{2,45}$', rule: 'an IP address' })
/** An address with its prefix length: `10.20.1.10/24`. */
const Subnet = Type.String({
  pattern: '^[0-9a-fA-F.:]{2,45}/[0-9]{1,3}$',
  rule: 'an address with its prefix length, such as 10.20.1.10/24',
})
const HostName = Type.String({
  pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$',
  maxLength: 253,
  rule: 'a host name in lower case',
})
/** Of one part of the machine. `unknown`: it could not be looked at, which is never `good`. */
export const Mark = Type.Union((['good', 'warning', 'bad', 'unknown'] as const).map(one => Type.Literal(one)))

export const NetworkView = Type.Object({
  interface: OrNull(Text),
  /** Megabits a second; null where the driver does not say. */
  speed: OrNull(Type.Number()),
  host_name: Text,
  method: Type.Union([Type.Literal('dhcp'), Type.Literal('static'), Type.Literal('other')]),
  addresses: Type.Array(Subnet),
  gateway: OrNull(Address),
  dns: Type.Array(Type.Object({ address: Address, mark: Mark, said: Text })),
  /** A change that goes back at this moment unless it is kept. */
  goes_back_at: OrNull(Text),
})
export const CertificateView = Type.Object({
  kind: Type.Union([Type.Literal('own'), Type.Literal('company'), Type.Literal('acme')]),
  names: Type.Array(Text),
  issuer: Text,
  ends_at: Text,
  /** SHA-256 of the authority's certificate, or of the company's own top one, in upper-case hexadecimal. */
  fingerprint: Text,
  mark: Mark,
  said: Text,
})
export const TimeView = Type.Object({
  zone: Text,
  /** Of the clock from what the servers say, in ms; null: no server answers. */
  drift_ms: OrNull(Type.Number()),
  servers: Type.Array(Type.Object({ name: Text, is_used: Type.Boolean(), mark: Mark, said: Text })),
  mark: Mark,
  said: Text,
})
export const ServiceView = Type.Object({
  unit: Text,
  word: Text,
  does: Text,
  mark: Mark,
  said: Text,
  since: OrNull(Text),
  /** Bytes. */
  memory: OrNull(Type.Number()),
  restarts: Type.Number(),
  may_restart: Type.Boolean(),
})
export const DiskView = Type.Object({
  name: Type.Union([Type.Literal('packages'), Type.Literal('system')]),
  path: Text,
  device: Text,
  /** Bytes. */
  size: Type.Number(),
  used: Type.Number(),
  mark: Mark,
  said: Text,
})
/** What was looked at on a stick: it is mounted read-only, and nothing of it is done by itself. */
export const MediumFile = Type.Object({
  path: Text,
  kind: Type.Union(
    (['backup', 'bundle', 'update', 'advisories', 'signatures', 'seed'] as const).map(one => Type.Literal(one)),
  ),
  size: Type.Number(),
  modified_at: Text,
})
export const MediumView = Type.Object({
  id: Text,
  label: Text,
  device: Text,
  file_system: Text,
  /** Bytes. */
  size: Type.Number(),
  /** Where it is mounted; the daemon may read there. */
  path: Text,
  files: Type.Array(MediumFile),
  said: Text,
})
export const ReleaseView = Type.Object({ name: Text, version: Text, installed_at: Text, is_current: Type.Boolean() })
/** A signed update that was looked at: an altered one has no view, but an error. */
export const UpdateView = Type.Object({
  file: Text,
  version: Text,
  made_at: Text,
  size: Type.Number(),
  signed_by: Text,
  /** One line a change, as `fix: …` or `new: …`. */
  changes: Type.Array(Text),
  /** Older than what runs: only taken when that is said. */
  is_older: Type.Boolean(),
  migrates: Type.Boolean(),
  checks: Type.Array(Type.Object({ what: Text, mark: Mark, said: Text })),
})
export const UpdateState = Type.Object({
  releases: Type.Array(ReleaseView),
  /** The one that waits for the window, or is at work, or was the last. */
  last: OrNull(
    Type.Object({
      version: Text,
      file: Text,
      state: Type.Union((['waiting', 'running', 'done', 'went_back', 'failed'] as const).map(one => Type.Literal(one))),
      step: Text,
      said: Text,
      at: Text,
    }),
  ),
  debian: Type.Object({ waiting: OrNull(Type.Number()), looked_at: OrNull(Text), said: Text }),
  reboot_required: Type.Boolean(),
  reboot_for: Type.Array(Text),
})
const Hour = Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', rule: 'a time such as 02:00' })
/** When the machine may restart for updates: days from 0 (Sunday), times as `02:00` in the zone of the machine. */
export const Window = Type.Object({
  days: Type.Array(Type.Integer({ minimum: 0, maximum: 6 }), { uniqueItems: true }),
  from: Hour,
  to: Hour,
  debian: Type.Boolean(),
  restart: Type.Boolean(),
})
export const MachineView = Type.Object({
  looked_at: Text,
  hardware: Type.Object({
    model: Text,
    cores: Type.Integer(),
    /** Bytes. */
    memory: Type.Number(),
    memory_used: Type.Number(),
    up_since: Text,
  }),
  network: NetworkView,
  certificate: CertificateView,
  time: TimeView,
  services: Type.Array(ServiceView),
  disks: Type.Array(DiskView),
  media: Type.Array(MediumView),
  updates: UpdateState,
  window: OrNull(Window),
  remote_log: OrNull(Type.Object({ host: Text, port: Type.Integer(), protocol: Text, mark: Mark, said: Text })),
  /** What `gatehouse-check` found that is not as it should be. */
  findings: Type.Array(Type.Object({ what: Text, mark: Mark, said: Text, way_out: Text })),
})

/** A file of a stick, in a request: `path` is below the stick. */
export const OnMedium = {
  medium: Type.String({ minLength: 1, maxLength: 64, description: 'The id of the stick.' }),
  path: Type.String({ minLength: 1, maxLength: 4_096, description: 'Below the stick, as it is listed.' }),
}
/** What can be wrong with it. */
export const MEDIUM_FAILS = [
  'medium_not_found',
  'medium_file_not_found',
  'medium_unreadable',
  'medium_forbidden',
] as const

const Nothing = Type.Object({}, { additionalProperties: false })
const Done = Type.Object({ said: Text })
const closed = <T extends Parameters<typeof Type.Object>[0]>(of: T): TObject<T> =>
  Type.Object(of, { additionalProperties: false })

/** Every verb: what it is asked with, and what it answers. Whatever changes the machine is not in the first two. */
export const VERBS = {
  'machine.read': { with: Nothing, answer: MachineView },
  'update.look': { with: closed({ file: Text }), answer: UpdateView },
  /** Holds for 90 seconds unless `network.keep` comes: a wrong address locks nobody out. */
  'network.set': {
    with: closed({
      host_name: Type.Optional(HostName),
      method: Type.Union([Type.Literal('dhcp'), Type.Literal('static')]),
      address: Type.Optional(Subnet),
      gateway: Type.Optional(Address),
      dns: Type.Optional(Type.Array(Address, { maxItems: 4 })),
    }),
    answer: Type.Object({ said: Text, goes_back_at: Text }),
  },
  'network.keep': { with: Nothing, answer: Done },
  'time.set': {
    with: closed({
      zone: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_+/-]{1,64}$', rule: 'a zone such as Europe/Berlin' })),
      servers: Type.Optional(Type.Array(Type.Union([Address, HostName]), { maxItems: 8 })),
      /** Only while no time server answers. */
      now: Type.Optional(Type.String({ format: 'date-time' })),
    }),
    answer: Done,
  },
  /** PEM: the certificate with those between it and its authority, and its key without a passphrase. */
  'certificate.put': {
    with: closed({ certificate: Type.String({ maxLength: 65_536 }), key: Type.String({ maxLength: 65_536 }) }),
    answer: CertificateView,
  },
  'certificate.own': { with: Nothing, answer: CertificateView },
  /** An authority of the company that speaks RFC 8555; `authority` is its PEM where the machine does not know it. */
  'certificate.acme': {
    with: closed({
      directory: Type.String({ pattern: '^https://', rule: 'an address that begins with https://' }),
      names: Type.Array(HostName, { minItems: 1 }),
      authority: Type.Optional(Text),
      email: Type.Optional(Text),
    }),
    answer: CertificateView,
  },
  'service.restart': { with: closed({ unit: Text }), answer: Done },
  'update.install': {
    with: closed({
      file: Text,
      when: Type.Union([Type.Literal('now'), Type.Literal('window')]),
      older: Type.Optional(Type.Boolean()),
    }),
    answer: UpdateState,
  },
  /** The one that waits for the window. */
  'update.cancel': { with: Nothing, answer: UpdateState },
  'update.back': { with: Nothing, answer: UpdateState },
  'window.set': { with: closed({ window: OrNull(Window) }), answer: Done },
  'remote_log.set': {
    with: closed({
      target: OrNull(
        closed({
          host: Type.Union([Address, HostName]),
          port: Type.Integer({ minimum: 1, maximum: 65_535 }),
          protocol: Type.Union([Type.Literal('udp'), Type.Literal('tcp'), Type.Literal('tls')]),
          authority: Type.Optional(Text),
        }),
      ),
    }),
    answer: Done,
  },
  'power.restart': { with: Nothing, answer: Done },
  'power.off': { with: Nothing, answer: Done },
} as const

/** Only at the screen of the machine, where somebody stands: never through the socket. */
export const SCREEN_VERBS = ['token.new', 'admin.reset', 'backup.restore', 'support.write', 'factory.reset'] as const

export type Verb = keyof typeof VERBS
export type AskedWith<V extends Verb> = Static<(typeof VERBS)[V]['with']>
export type Answered<V extends Verb> = Static<(typeof VERBS)[V]['answer']>
export type MachineView = Static<typeof MachineView>
/** The machine as the health report judges it, or why it could not be looked at; undefined: this is no appliance. */
export type SeenMachine = { readonly view: MachineView } | { readonly why: string } | undefined
export type NetworkView = Static<typeof NetworkView>
export type CertificateView = Static<typeof CertificateView>
export type TimeView = Static<typeof TimeView>
export type ServiceView = Static<typeof ServiceView>
export type DiskView = Static<typeof DiskView>
export type MediumView = Static<typeof MediumView>
export type MediumFile = Static<typeof MediumFile>
export type ReleaseView = Static<typeof ReleaseView>
export type UpdateView = Static<typeof UpdateView>
export type UpdateState = Static<typeof UpdateState>
export type Window = Static<typeof Window>
export type Mark = Static<typeof Mark>
