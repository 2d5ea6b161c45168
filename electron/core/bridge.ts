import { Type, type Static, type TSchema } from '@sinclair/typebox'
import type { Channel, EventName } from './channels.ts'
import { WORDS, type Word } from './words.ts'

const Text = Type.String({ maxLength: 2000 })
const Short = Type.String({ maxLength: 120 })
const OrNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
const Id = Type.String({ pattern: '^a[0-9a-f]{12}$' })
const Time = Type.String({ maxLength: 40 })
const Empty = Type.Object({}, { additionalProperties: false })
const strict = <T extends Record<string, TSchema>>(members: T) => Type.Object(members, { additionalProperties: false })

/** The colours of the design, so that production is never mistaken. */
export const COLOURS = ['ochre', 'brick', 'plum', 'cobalt', 'pine', 'slate'] as const
export type Colour = (typeof COLOURS)[number]
const ColourName = Type.Union(COLOURS.map(colour => Type.Literal(colour)))

/**
 * `changed`: another identity answers, and nothing is sent. `expired` and `wrong_name`: the certificate is of the
 * trusted authority and still not good. `unknown`: not asked yet.
 */
export const STATES = [
  'unknown',
  'healthy',
  'degraded',
  'unhealthy',
  'starting',
  'unreachable',
  'changed',
  'expired',
  'wrong_name',
] as const
export type ConnectionState = (typeof STATES)[number]

export const ConnectionSchema = strict({
  id: Id,
  name: Short,
  colour: ColourName,
  /** `Production`, `Staging`: a word of the person's own. */
  environment: Short,
  /** `https://gatehouse-01.nordwerk.lan`, with a port that is not 443. */
  origin: Text,
  version: OrNull(Short),
  state: Type.Union(STATES.map(state => Type.Literal(state))),
  /** The reason of a state that is not well, in a sentence. */
  said: OrNull(Text),
  reached_at: OrNull(Time),
  /** Seconds that its clock is ahead of this computer's; null while that is not known. */
  clock_ahead_s: OrNull(Type.Integer()),
  is_signed_in: Type.Boolean(),
  /** Packages that wait for review; null while that is not known. */
  waiting: OrNull(Type.Integer()),
  trust: Type.Union([Type.Literal('pinned'), Type.Literal('system')]),
  /** SHA-256 of the pinned certificate in 16 groups of four; null where the system's store is asked. */
  fingerprint: OrNull(Type.Array(Type.String({ pattern: '^[0-9A-F]{4}$' }), { minItems: 16, maxItems: 16 })),
  trusted_at: Time,
})
export type Connection = Static<typeof ConnectionSchema>

/** One side of a comparison: who somebody says to be. */
const Identity = strict({
  fingerprint: Type.Array(Type.String({ pattern: '^[0-9A-F]{4}$' })),
  issued_at: Time,
  valid_until: Time,
  subject: Text,
  host_names: Type.Array(Text),
})
export type IdentityView = Static<typeof Identity>

const Look = strict({
  look: Type.String({ maxLength: 40 }),
  origin: Text,
  identity: Identity,
  /** What would be pinned. A leaf alone is renewed under another fingerprint. */
  kind: Type.Union([Type.Literal('authority'), Type.Literal('own_certificate'), Type.Literal('leaf_only')]),
  /** Whether the certificates of this computer vouch for it, for this name. */
  is_vouched_for: Type.Boolean(),
  /** How the fingerprint of a pasted address compares. */
  compared: Type.Union([Type.Literal('same'), Type.Literal('different'), Type.Literal('not_given')]),
  /** The appliance that has this address already. */
  known_as: OrNull(Short),
})
export type LookView = Static<typeof Look>

const Changed = strict({
  id: Id,
  name: Short,
  origin: Text,
  trusted_at: Time,
  before: OrNull(Identity),
  now: Look,
})
export type ChangedView = Static<typeof Changed>

const Found = strict({
  name: Short,
  /** `10.20.0.31` or `10.20.0.31:8443`. */
  address: Text,
  version: OrNull(Short),
  is_set_up: OrNull(Type.Boolean()),
})
export type FoundAppliance = Static<typeof Found>

export const NOTICE_KINDS = ['held', 'deadline', 'backup', 'sync'] as const
export type NoticeKind = (typeof NOTICE_KINDS)[number]
export const PreferencesSchema = strict({
  notices: strict({
    held: Type.Boolean(),
    deadline: Type.Boolean(),
    backup: Type.Boolean(),
    sync: Type.Boolean(),
  }),
  /** Whether sessions outlive the program, in the keychain. */
  stay_signed_in: Type.Boolean(),
})
export type Preferences = Static<typeof PreferencesSchema>

const Host = strict({
  version: Short,
  platform: Short,
  /** The appliance of this page; null on the page with all of them. */
  appliance: OrNull(ConnectionSchema),
  secrets: Type.Union([Type.Literal('keychain'), Type.Literal('encrypted_file'), Type.Literal('memory')]),
  /** Why secrets are not in the keychain, in a sentence. */
  secrets_said: OrNull(Text),
  notices_supported: Type.Boolean(),
  preferences: PreferencesSchema,
  /** Files that were damaged at the start and set aside, one sentence each. */
  warnings: Type.Array(Text),
})
export type HostView = Static<typeof Host>

const Problem = strict({
  status: Type.Integer(),
  code: Short,
  message: Text,
  limit: OrNull(Type.Number()),
})
export const UPLOAD_PHASES = ['waiting', 'sending', 'at_server', 'done', 'failed', 'unsent'] as const
export const UploadForm = strict({ distribution: Short, component: Short })
const Upload = strict({
  id: Type.Integer({ minimum: 1 }),
  name: Text,
  size: Type.Integer({ minimum: 0 }),
  /** Empty while the page has not said it: the file was dropped on the program's symbol. */
  format: Short,
  form: UploadForm,
  phase: Type.Union(UPLOAD_PHASES.map(phase => Type.Literal(phase))),
  sent: Type.Integer({ minimum: 0 }),
  /** Events of the gate so far, as the server sent them. */
  told: Type.Array(Type.Record(Type.String(), Type.Unknown())),
  result: Type.Unknown(),
  problem: OrNull(Problem),
  finished_at: OrNull(Time),
})
export type UploadView = Static<typeof Upload>
const Uploads = strict({
  items: Type.Array(Upload),
  is_paused: Type.Boolean(),
  /** No file is sent before this moment: the limit of uploads a minute was met. */
  paused_until: OrNull(Time),
  limit_per_minute: OrNull(Type.Integer()),
})
export type UploadsView = Static<typeof Uploads>
const Ids = Type.Array(Type.Integer({ minimum: 1 }), { maxItems: 10_000 })

const Release = strict({ version: Short, notes: Text, file: Text, size: Type.Integer(), is_newer: Type.Boolean() })
export type ReleaseView = Static<typeof Release>

const Hash = Type.String({ maxLength: 2000, pattern: '^(#/[a-z-]*(\\?[^\\s]*)?)?$' })

const Random = Type.String({ pattern: '^[\\w-]{43}$' })
const BrowserCode = strict({ code: Random, verifier: Random })
/** The word of the server, or `stopped` and `late` of the program. */
const BrowserRefusal = strict({ word: Type.String({ pattern: '^[a-z_]{1,40}$' }) })

const shownWord = Type.String({ minLength: 1, maxLength: 120, pattern: '^[^\\u0000-\\u001f\\u007f]+$' })
/** Each word that the program shows outside of its pages. */
export const WordsSchema = strict(
  Object.fromEntries(Object.keys(WORDS).map(word => [word, shownWord])) as Record<Word, typeof shownWord>,
)

/** Which pages may ask for it: the one with all appliances (`home`), or an appliance's own. */
type From = 'home' | 'appliance' | 'any'
interface Row {
  readonly from: From
  readonly ask: TSchema
  readonly reply: TSchema
}

/** Every channel with who may use it, what goes and what comes. Checked in the program, in both directions. */
export const BRIDGE = {
  'host.describe': { from: 'any', ask: Empty, reply: Host },
  // in the language of the page
  'host.words': { from: 'any', ask: WordsSchema, reply: Empty },
  'preferences.change': {
    from: 'any',
    ask: strict({
      notices: Type.Optional(Type.Partial(PreferencesSchema.properties.notices, { additionalProperties: false })),
      stay_signed_in: Type.Optional(Type.Boolean()),
    }),
    reply: PreferencesSchema,
  },
  'clipboard.write': {
    from: 'any',
    // a secret leaves the clipboard after half a minute
    ask: strict({ text: Type.String({ maxLength: 1_000_000 }), is_secret: Type.Boolean() }),
    reply: Empty,
  },
  'connections.list': { from: 'any', ask: Empty, reply: Type.Array(ConnectionSchema) },
  'connections.open': { from: 'any', ask: strict({ id: Id }), reply: Empty },
  'connections.home': { from: 'any', ask: Empty, reply: Empty },
  'connections.look': { from: 'home', ask: strict({ address: Text }), reply: Look },
  'connections.trust': {
    from: 'home',
    ask: strict({
      look: Type.String({ maxLength: 40 }),
      name: Short,
      colour: ColourName,
      environment: Short,
      by: Type.Union([Type.Literal('fingerprint'), Type.Literal('system')]),
    }),
    reply: ConnectionSchema,
  },
  'connections.change': {
    from: 'home',
    ask: strict({
      id: Id,
      name: Type.Optional(Short),
      colour: Type.Optional(ColourName),
      environment: Type.Optional(Short),
      address: Type.Optional(Text),
      /** Its place in the list, from 0. */
      place: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000 })),
    }),
    reply: ConnectionSchema,
  },
  'connections.remove': { from: 'home', ask: strict({ id: Id }), reply: Empty },
  'connections.changed': { from: 'home', ask: strict({ id: Id }), reply: Changed },
  'connections.accept': {
    from: 'home',
    ask: strict({ id: Id, look: Type.String({ maxLength: 40 }), digits: Type.String({ maxLength: 20 }) }),
    reply: ConnectionSchema,
  },
  'connections.save_details': { from: 'home', ask: strict({ id: Id }), reply: strict({ saved: Type.Boolean() }) },
  'connections.sign_out_all': {
    from: 'home',
    ask: Empty,
    reply: strict({ signed_out: Type.Integer(), not_told: Type.Array(Short) }),
  },
  'discovery.list': { from: 'home', ask: Empty, reply: Type.Array(Found) },
  'session.read': { from: 'appliance', ask: Empty, reply: strict({ token: OrNull(Type.String()) }) },
  'session.keep': {
    from: 'appliance',
    ask: strict({ token: OrNull(Type.String({ maxLength: 8192, pattern: '^[\\w.~+/=-]+$' })) }),
    reply: Empty,
  },
  // signs in by single sign-on in the system's browser; the page exchanges what comes back
  'session.browser': { from: 'appliance', ask: Empty, reply: Type.Union([BrowserCode, BrowserRefusal]) },
  'session.browser_end': { from: 'appliance', ask: Empty, reply: Empty },
  'place.keep': { from: 'appliance', ask: strict({ hash: Hash }), reply: Empty },
  'uploads.list': { from: 'appliance', ask: Empty, reply: Uploads },
  'uploads.aim': { from: 'appliance', ask: strict({ ids: Ids, format: Short, form: UploadForm }), reply: Empty },
  'uploads.retry': { from: 'appliance', ask: strict({ ids: Ids }), reply: Empty },
  'uploads.remove': { from: 'appliance', ask: strict({ ids: Ids }), reply: Empty },
  'uploads.clear': { from: 'appliance', ask: strict({ ids: Ids }), reply: Empty },
  'uploads.pause': { from: 'appliance', ask: strict({ is_paused: Type.Boolean() }), reply: Empty },
  'releases.look': { from: 'appliance', ask: Empty, reply: OrNull(Release) },
  'releases.fetch': { from: 'appliance', ask: strict({ version: Short }), reply: strict({ path: Text }) },
} as const satisfies Record<Channel, Row>

export type Ask<C extends Channel> = Static<(typeof BRIDGE)[C]['ask']>
export type Reply<C extends Channel> = Static<(typeof BRIDGE)[C]['reply']>

/** What the preload script sends for files that a person chose. */
export const ADD_FILES_ASK = strict({
  files: Type.Array(strict({ path: Type.String({ minLength: 1, maxLength: 4096 }), format: Short, form: UploadForm }), {
    minItems: 1,
    maxItems: 10_000,
  }),
})
export type AddFiles = Static<typeof ADD_FILES_ASK>

/** What comes with each event. */
export interface EventValues extends Record<EventName, unknown> {
  readonly 'connections.moved': readonly Connection[]
  readonly 'discovery.moved': readonly FoundAppliance[]
  readonly 'uploads.moved': UploadsView
  readonly 'page.go': { readonly hash: string }
}

/** An answer as it crosses: refusals are values, so that the page gets the sentence and no stack. */
export type Envelope<Value = unknown> =
  { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly code: string; readonly message: string }

/** A file in the page's hands, and where it is to go. */
export interface FileToSend {
  readonly file: File
  readonly format: string
  readonly form: Static<typeof UploadForm>
}

/** `window.gatehouse`, as the preload script defines it. */
export interface DesktopBridge {
  invoke<C extends Channel>(channel: C, ask: Ask<C>): Promise<Envelope<Reply<C>>>
  /** @returns what stops it */
  on<E extends EventName>(event: E, listener: (value: EventValues[E]) => void): () => void
  /** Files with no path of their own come back: the page sends those itself. */
  addFiles(files: readonly FileToSend[]): Promise<Envelope<{ readonly left: readonly number[] }>>
}
