import { fail } from '../../core/errors.ts'
import type { Format } from '../../formats/format.ts'
import { isActive } from '../../imports/source-rules.ts'
import type { Source } from '../../imports/source.ts'

/** What a synchronisation is of, beside the key of one source. */
export const WIDE_TARGETS = ['all', 'security', 'daily'] as const

export interface TargetDeps {
  /** Formats by the words that stand for them: `apt`. */
  readonly formats: readonly Pick<Format, 'id' | 'word'>[]
}

/** What a target knows of the installation, for what the clock asks for. */
export interface InUse {
  /** Ids of sources that the catalogue holds. */
  readonly held: ReadonlySet<number>
  /** Distributions in which something is published. */
  readonly codenames: ReadonlySet<string>
}

/** The word for a format in these routes: `apt` for .deb. */
export const wordOf = (formats: TargetDeps['formats'], id: string): string =>
  formats.find(format => format.id === id)?.word ?? id

/** @throws bad_sync_target for a word that is none, and for a source that there is not */
export function mustBeTarget(target: string, sources: readonly Source[], { formats }: TargetDeps): void {
  const known = [...WIDE_TARGETS.slice(0, 2), ...formats.map(({ word }) => word)]
  if (!known.includes(target) && !sources.some(({ key }) => key === target))
    fail('bad_sync_target', { target, known: known.join(', ') })
}

/**
 * The sources of a target. One that is named is synchronised although it is switched off. `daily`: those that are in
 * the catalogue, and security updates of distributions in which something is published; nobody else is asked at night.
 */
export function sourcesOf(
  target: string,
  sources: readonly Source[],
  { formats }: TargetDeps,
  { held, codenames }: InUse,
): readonly Source[] {
  const active = sources.filter(isActive)
  if (target === 'all') return active
  if (target === 'security') return active.filter(({ security }) => security)
  if (target === 'daily')
    return active.filter(
      source => held.has(source.id) || (source.security && source.codenames.some(codename => codenames.has(codename))),
    )
  const format = formats.find(({ word }) => word === target)
  if (format !== undefined) return active.filter(source => source.format === format.id)
  return sources.filter(({ key }) => key === target)
}
