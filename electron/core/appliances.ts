import type { IncomingMessage } from 'node:http'
import type { Connection, ConnectionState } from './bridge.ts'
import type { Connections, Entry } from './connections.ts'
import { groupsOf } from './fingerprint.ts'
import { createPinnedClient, Untrusted, type Ask, type PinnedClient } from './pinned-client.ts'
import type { Mistrust } from './trust.ts'

/** What is known of an appliance since the program started. */
export interface Standing {
  readonly state: ConnectionState
  readonly said: string | null
  readonly clockAheadS: number | null
  readonly isSignedIn: boolean
  readonly waiting: number | null
}
const UNKNOWN: Standing = { state: 'unknown', said: null, clockAheadS: null, isSignedIn: false, waiting: null }

const MISTRUST: Readonly<Record<Mistrust, string>> = {
  changed: 'Another identity answers at this address. Nothing was sent to it.',
  expired:
    'Its certificate is not valid at this time. If this computer shows the right date, renew the certificate on the appliance.',
  wrong_name:
    'Its certificate is of the trusted authority, and is not made out to this address. Connect by a name that it carries.',
}

/** Every appliance with its client and its standing: the one place that decides whether something is sent. */
export interface Appliances {
  views(): Connection[]
  view(id: string): Connection
  /** Sends a request. @throws Untrusted, or Error when nobody answers; both are remembered as the standing */
  request(id: string, ask: Ask): Promise<IncomingMessage>
  /** Changes the standing, and tells who listens. */
  note(id: string, change: Partial<Standing>): void
  /** Forgets the client after its address or trust changed, or after it was removed. */
  renew(id: string): void
  /** Tells who listens: a name or an order changed. */
  tell(): void
  onMoved(listener: () => void): void
  /** Called once when another identity begins to answer. */
  onChanged(listener: (id: string) => void): void
  close(): void
}

export function createAppliances(connections: Connections, system: () => string[]): Appliances {
  const clients = new Map<string, PinnedClient>()
  const standings = new Map<string, Standing>()
  const moved = new Set<() => void>()
  const changed = new Set<(id: string) => void>()

  function clientOf(entry: Entry): PinnedClient {
    const known = clients.get(entry.id) ?? createPinnedClient(entry.origin, entry.trust, system)
    clients.set(entry.id, known)
    return known
  }
  function viewOf(entry: Entry): Connection {
    const { state, said, clockAheadS, isSignedIn, waiting } = standings.get(entry.id) ?? UNKNOWN
    const { id, name, colour, environment, origin, version, trust, trustedAt } = entry
    return {
      ...{ id, name, colour, environment, origin, version, state, said, waiting },
      reached_at: entry.reachedAt,
      clock_ahead_s: clockAheadS,
      is_signed_in: isSignedIn,
      trust: trust.by === 'pin' ? 'pinned' : 'system',
      fingerprint: trust.by === 'pin' ? groupsOf(trust.pin.fingerprint) : null,
      trusted_at: trustedAt,
    }
  }
  function tell(): void {
    for (const listener of moved) listener()
  }
  function note(id: string, change: Partial<Standing>): void {
    const before = standings.get(id) ?? UNKNOWN
    const after = { ...before, ...change }
    if ((Object.keys(after) as (keyof Standing)[]).every(key => after[key] === before[key])) return
    standings.set(id, after)
    tell()
    if (after.state === 'changed' && before.state !== 'changed') for (const listener of changed) listener(id)
  }

  return {
    views: () => connections.list().map(viewOf),
    view: id => viewOf(connections.get(id)),
    note,
    tell,
    request: async (id, ask) => {
      try {
        return await clientOf(connections.get(id)).request(ask)
      } catch (error) {
        if (error instanceof Untrusted) note(id, { state: error.why, said: MISTRUST[error.why] })
        throw error
      }
    },
    renew: id => {
      clients.get(id)?.close()
      clients.delete(id)
      if (connections.find(id) === undefined) standings.delete(id)
      else standings.set(id, { ...UNKNOWN, isSignedIn: standings.get(id)?.isSignedIn ?? false })
      tell()
    },
    onMoved: listener => {
      moved.add(listener)
    },
    onChanged: listener => {
      changed.add(listener)
    },
    close: () => {
      for (const client of clients.values()) client.close()
    },
  }
}
