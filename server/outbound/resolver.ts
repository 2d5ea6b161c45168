import { lookup as ask } from 'node:dns/promises'
import { cached } from '../lib/cached.ts'
import type { Clock } from '../lib/clock.ts'
import type { HostGuardDeps } from './guard.ts'

type Lookup = HostGuardDeps['lookup']

/** As long as a name server may take over its next question. */
const KEPT_MS = 10_000
const MOST_NAMES = 1_000

/**
 * Addresses of names, each asked for once by all who need it at the same time, and kept for ten seconds. A client that
 * resolves packages makes fifty requests at once: a name server that limits its clients drops such a burst, and whoever
 * asks waits five seconds for each answer that is lost.
 */
export function createResolver(clock: Clock, lookup: Lookup = host => ask(host, { all: true })): Lookup {
  const names = new Map<string, () => ReturnType<Lookup>>()
  return host => {
    const known = names.get(host) ?? cached({ clock, ms: KEPT_MS, read: () => lookup(host) })
    names.delete(host)
    names.set(host, known)
    const [oldest] = names.keys()
    if (names.size > MOST_NAMES && oldest !== undefined) names.delete(oldest)
    return known()
  }
}
