import { randomBytes } from 'node:crypto'
import { Type, type Static } from '@sinclair/typebox'
import { COLOURS, type Colour } from './bridge.ts'
import { openKept } from './kept.ts'
import type { Clock } from './ports.ts'
import { Refusal } from './refusal.ts'
import type { Trust } from './trust.ts'

const Pin = Type.Object({
  kind: Type.Union([Type.Literal('authority'), Type.Literal('own_certificate'), Type.Literal('leaf_only')]),
  pem: Type.String(),
  fingerprint: Type.String({ pattern: '^[0-9A-F]{64}$' }),
  issuedAt: Type.String(),
  validUntil: Type.String(),
  subject: Type.String(),
  hostNames: Type.Array(Type.String()),
  leafFingerprint: Type.String(),
})
const Entry = Type.Object({
  id: Type.String({ pattern: '^a[0-9a-f]{12}$' }),
  name: Type.String(),
  colour: Type.Union(COLOURS.map(colour => Type.Literal(colour))),
  environment: Type.String(),
  origin: Type.String({ pattern: '^https://' }),
  trust: Type.Union([Type.Object({ by: Type.Literal('pin'), pin: Pin }), Type.Object({ by: Type.Literal('system') })]),
  trustedAt: Type.String(),
  /** Last time that it answered, and the version it told then. */
  reachedAt: Type.Union([Type.String(), Type.Null()]),
  version: Type.Union([Type.String(), Type.Null()]),
  /** Where a person was in its console. */
  place: Type.String(),
})
const File = Type.Object({ format: Type.Literal(1), connections: Type.Array(Entry) })
/** An appliance that is trusted, as it is kept on disk. No secret is in it. */
export type Entry = Static<typeof Entry>

export interface NewEntry {
  readonly name: string
  readonly colour: Colour
  readonly environment: string
  readonly origin: string
  readonly trust: Trust
}

/** The appliances that this person trusts, in the order they chose. */
export interface Connections {
  list(): readonly Entry[]
  find(id: string): Entry | undefined
  /** @throws Refusal `unknown_appliance` */
  get(id: string): Entry
  /** @throws Refusal `known_address` */
  add(entry: NewEntry): Promise<Entry>
  /** @throws Refusal `unknown_appliance`, `known_address`, `no_name` */
  change(id: string, change: Partial<Omit<Entry, 'id'>>): Promise<Entry>
  move(id: string, place: number): Promise<void>
  remove(id: string): Promise<void>
  readonly warning: string | undefined
}

function checkedName(name: string): string {
  const trimmed = name.trim()
  if (trimmed === '') throw new Refusal('no_name', 'An appliance needs a name. Type what you call it.')
  return trimmed
}

/** Opens the list in a file. */
export async function openConnections(path: string, clock: Clock): Promise<Connections> {
  const kept = await openKept(path, File, { format: 1, connections: [] })
  const list = (): readonly Entry[] => kept.value.connections
  const find = (id: string): Entry | undefined => list().find(one => one.id === id)
  const write = (connections: readonly Entry[]): Promise<void> => kept.set({ format: 1, connections: [...connections] })

  function get(id: string): Entry {
    const found = find(id)
    if (found === undefined)
      throw new Refusal(
        'unknown_appliance',
        'This appliance is not in the list any more. Go back to the list and add it again.',
      )
    return found
  }
  function refuseKnown(origin: string, except?: string): void {
    const known = list().find(one => one.origin === origin && one.id !== except)
    if (known !== undefined)
      throw new Refusal(
        'known_address',
        `${known.name} has this address already. Open it, or change its address first.`,
      )
  }

  return {
    list,
    find,
    get,
    warning: kept.warning,
    add: async entry => {
      refuseKnown(entry.origin)
      const added: Entry = {
        ...entry,
        name: checkedName(entry.name),
        environment: entry.environment.trim(),
        trust:
          entry.trust.by === 'pin'
            ? { by: 'pin', pin: { ...entry.trust.pin, hostNames: [...entry.trust.pin.hostNames] } }
            : { by: 'system' },
        id: `a${randomBytes(6).toString('hex')}`,
        trustedAt: clock.now().toISOString(),
        reachedAt: null,
        version: null,
        place: '',
      }
      await write([...list(), added])
      return added
    },
    change: async (id, change) => {
      const before = get(id)
      if (change.origin !== undefined) refuseKnown(change.origin, id)
      const after = { ...before, ...change, name: checkedName(change.name ?? before.name) }
      await write(list().map(one => (one.id === id ? after : one)))
      return after
    },
    move: async (id, place) => {
      const moved = get(id)
      const others = list().filter(one => one.id !== id)
      await write([...others.slice(0, place), moved, ...others.slice(place)])
    },
    remove: async id => {
      get(id)
      await write(list().filter(one => one.id !== id))
    },
  }
}
