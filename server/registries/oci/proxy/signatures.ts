import { HOLDS_SIGNATURES } from '../../../core/signature-types.ts'
import { owedForVersion } from '../../../core/signed-debt.ts'
import type { OciDocument } from '../../../formats/oci/document.ts'
import { hasNoFiles, tagsAbout } from '../../../formats/oci/signing.ts'
import type { ProxyDeps } from './deps.ts'
import { keyOf } from './tags.ts'
import { isMissing, type FarRepository } from './upstream.ts'

/** What an upstream has that may be a signature of an image. */
export interface FarSignature {
  readonly digest: string
  /** By which it was found. */
  readonly tag?: string
}

/** Signatures of images at upstreams, for registries whose rule asks for them. */
export interface FarSignatures {
  mustLook(at: FarRepository, document: OciDocument): boolean
  /** Whether an image that is held may have got a signature since it was last looked at. */
  mayAskAgain(at: FarRepository, version: string): boolean
  /** What the upstream has now. @throws outbound_failed, outbound_refused, upstream_refused where it does not say */
  find(at: FarRepository, version: string, signal: AbortSignal): Promise<readonly FarSignature[]>
  /** Judges an image anew by what came in. */
  judge(at: FarRepository, version: string): Promise<void>
}

const MOST = 100
const JUDGED_MS = 10_000
/** Of those that cosign gives without the type of their layers. */
const COSIGN = 'application/vnd.dev.cosign.artifact.sig.v1+json'

export function createFarSignatures({
  db,
  outbox,
  far,
  tags,
  lacking,
}: Pick<ProxyDeps, 'db' | 'outbox' | 'far' | 'tags' | 'lacking'>): FarSignatures {
  const asks = ({ registry }: FarRepository): boolean => registry.registry?.requireSignature !== undefined
  const lookedKey = (at: FarRepository, version: string): string => keyOf(at, `signatures ${version}`)

  /** @returns what is about it by its own word */
  async function referrers(at: FarRepository, version: string, signal: AbortSignal): Promise<readonly FarSignature[]> {
    const all = await far.referrers(at, version, signal)
    return all
      .filter(({ artifactType: type }) => type === undefined || type === COSIGN || HOLDS_SIGNATURES.includes(type))
      .slice(0, MOST)
      .map(({ digest }) => ({ digest }))
  }

  async function tagged(at: FarRepository, tag: string): Promise<readonly FarSignature[]> {
    const known = await tags.current(at, tag)
    return isMissing(known) || known.digest === null ? [] : [{ digest: known.digest, tag }]
  }

  return {
    mustLook: (at, document) => asks(at) && document.kind !== 'artifact' && !hasNoFiles(document),
    mayAskAgain: (at, version) => asks(at) && lacking.find(lookedKey(at, version)) === undefined,
    async find(at, version, signal) {
      const found = [...(await referrers(at, version, signal))]
      for (const tag of tagsAbout(version)) found.push(...(await tagged(at, tag)))
      // asked again when that is forgotten
      lacking.add(lookedKey(at, version), { missing: 'absent', host: '', why: 'it was asked for signatures' })
      return found
    },
    async judge(at, version) {
      const key = owedForVersion({ codename: at.registry.codename, name: at.name }, version)
      const ask = await outbox.owe(db, key)
      outbox.nudge()
      await outbox.settled(key, ask, JUDGED_MS)
    },
  }
}
