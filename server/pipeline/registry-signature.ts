import type { Report } from '../core/report.ts'
import type { Subject } from './subject.ts'

/** What files beside a package are, by the ends of their names. */
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/\.asc$/, 'an OpenPGP signature'],
  [/\.sig$/, 'a signature'],
  // npm's provenance, Maven Central's and PyPI's attestations: https://docs.sigstore.dev/about/bundle/
  [/\.sigstore(?:\.json)?$/, 'a sigstore bundle'],
  [/\.(?:provenance|attestation)$/, 'an attestation'],
]

const kindOf = (filename: string): string | undefined => KINDS.find(([pattern]) => pattern.test(filename))?.[1]

/**
 * The signature step for a package of a registry: its clients trust digests over a protected connection, and nothing is
 * signed here. What its maker sent along is told, and not verified: this repository knows none of those keys.
 */
export function registrySignature({ file }: Pick<Subject, 'file'>): Report {
  const kinds = (file.beside ?? []).flatMap(({ filename }) => kindOf(filename) ?? [])
  const counted = [...Map.groupBy(kinds, kind => kind)].map(([kind, { length }]) =>
    length === 1 ? kind : `${length} times ${kind}`,
  )
  const base = { step: 'signature', outcome: 'ok' } as const
  if (counted.length === 0)
    return { ...base, verdict: 'not_signed', said: 'It came without a signature; clients of registries need none.' }
  return {
    ...base,
    verdict: 'not_verified',
    said: `It came with ${counted.join(' and ')}, kept for clients and not verified here.`,
  }
}
