import { readlink } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Codename } from '../core/identity.ts'
import type { Layout } from '../files/layout.ts'
import type { HalfOfPair } from '../formats/site.ts'

/** One of the two files that only together say anything, and who asks for it. */
export interface Half extends Pick<HalfOfPair, 'codename' | 'pair' | 'part'> {
  /** The client's address. */
  readonly client: string
  /** The User-Agent of the client. */
  readonly agent: string
}

/** Keeps both halves of a signed index together for a client that fetches them while a publication goes live. */
export interface Pairs {
  /**
   * Which generation answers: the live one for the half that a client fetches first, and the same one for the other
   * half if it follows within ten seconds. @returns undefined where nothing is published
   */
  generation(half: Half): Promise<number | undefined>
}

const TOGETHER_MS = 10_000
/** About 1 MB. The oldest entries are dropped first; their clients get the live generation. */
const REMEMBERED = 10_000

/**
 * libzypp fetches the signature before the index, and checks for changes with the index only. All others begin with the
 * index.
 */
const beginsWithSignature = (agent: string): boolean => agent.startsWith('ZYpp')

/** Makes the memory. Each process has its own, since generations lie on its disk. @param now  in ms, never goes back */
export function createPairs({
  layout,
  now,
}: {
  readonly layout: Pick<Layout, 'live'>
  readonly now: () => number
}): Pairs {
  const begun = new Map<string, { readonly n: number; readonly at: number }>()

  async function live(codename: Codename): Promise<number | undefined> {
    const target = await readlink(layout.live(codename)).catch(() => undefined) // nothing is published
    return target === undefined ? undefined : Number(basename(target))
  }

  return {
    async generation({ codename, pair, part, client, agent }) {
      const key = `${codename}/${pair} ${client} ${agent.slice(0, 100)}`
      const isFirst = beginsWithSignature(agent) === (part === 'signature')
      if (!isFirst) {
        const first = begun.get(key)
        begun.delete(key)
        if (first !== undefined && now() - first.at < TOGETHER_MS) return first.n
        return live(codename)
      }
      const n = await live(codename)
      begun.delete(key)
      if (n !== undefined) begun.set(key, { n, at: now() })
      if (begun.size > REMEMBERED) begun.delete(begun.keys().next().value ?? '')
      return n
    },
  }
}
