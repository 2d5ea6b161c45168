import { randomUUID } from 'node:crypto'
import { connect } from 'node:tls'
import { parseAddress, type Address } from './address.ts'
import type { ChangedView, IdentityView, LookView } from './bridge.ts'
import { fetchChain, type Chain, type Pin } from './chain.ts'
import type { Entry } from './connections.ts'
import { groupsOf, isSame } from './fingerprint.ts'
import { Refusal } from './refusal.ts'

/** A server that was looked at, exactly as a person compares it. */
export interface Look {
  readonly address: Address
  readonly chain: Chain
  readonly isVouchedFor: boolean
  readonly compared: LookView['compared']
}

/** Looks at servers before they are trusted. What is trusted later is what was looked at, never what answers then. */
export interface Looks {
  look(text: string, known: (origin: string) => string | undefined): Promise<LookView>
  /** Looks at the one that answers in place of a trusted one. */
  lookAgain(entry: Entry): Promise<ChangedView>
  /** @throws Refusal `look_is_gone` */
  get(look: string): Look
}

const KEPT = 20
const TIMEOUT_MS = 10_000

/** Whether the certificates of this computer vouch for a server, for this name, now. Nothing is sent. */
function isVouchedFor({ host, port }: Address, ca: string[]): Promise<boolean> {
  if (ca.length === 0) return Promise.resolve(false)
  return new Promise(resolve => {
    const name = /^[\d.]+$|:/.test(host) ? {} : { servername: host }
    const socket = connect({ host, port, ...name, ca, rejectUnauthorized: true })
    const end = (answer: boolean): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(TIMEOUT_MS, () => end(false))
    socket.once('secureConnect', () => end(socket.authorized))
    socket.once('error', () => end(false))
  })
}

export function identityView(pin: Pin): IdentityView {
  return {
    fingerprint: groupsOf(pin.fingerprint),
    issued_at: pin.issuedAt,
    valid_until: pin.validUntil,
    subject: pin.subject,
    host_names: [...pin.hostNames],
  }
}

/** Screens show the authority's fingerprint; an older one may show that of the server's own certificate. */
function compare({ fingerprint }: Address, { pin }: Chain): LookView['compared'] {
  if (fingerprint === undefined) return 'not_given'
  return isSame(fingerprint, pin.fingerprint) || isSame(fingerprint, pin.leafFingerprint) ? 'same' : 'different'
}

async function fetchLook(address: Address, system: () => string[]): Promise<Look> {
  let chain: Chain
  try {
    chain = await fetchChain(address.host, address.port)
  } catch (error) {
    throw new Refusal(
      'no_answer',
      `${address.origin} does not answer with TLS: ${(error as Error).message}. Check the address, and that this computer reaches it.`,
      error,
    )
  }
  return { address, chain, isVouchedFor: await isVouchedFor(address, system()), compared: compare(address, chain) }
}

export function createLooks(system: () => string[]): Looks {
  const kept = new Map<string, Look>()

  function keep(look: Look, knownAs: string | undefined): LookView {
    const id = randomUUID()
    kept.set(id, look)
    for (const old of [...kept.keys()].slice(0, -KEPT)) kept.delete(old)
    return {
      look: id,
      origin: look.address.origin,
      identity: identityView(look.chain.pin),
      kind: look.chain.pin.kind,
      is_vouched_for: look.isVouchedFor,
      compared: look.compared,
      known_as: knownAs ?? null,
    }
  }
  return {
    look: async (text, known) => {
      const address = parseAddress(text)
      return keep(await fetchLook(address, system), known(address.origin))
    },
    lookAgain: async entry => {
      const now = keep(await fetchLook(parseAddress(entry.origin), system), undefined)
      const before = entry.trust.by === 'pin' ? identityView(entry.trust.pin) : null
      return { id: entry.id, name: entry.name, origin: entry.origin, trusted_at: entry.trustedAt, before, now }
    },
    get: look => {
      const found = kept.get(look)
      if (found === undefined)
        throw new Refusal(
          'look_is_gone',
          'It was too long ago that this appliance was looked at. Look again, and compare once more.',
        )
      return found
    },
  }
}
