import { parsePurl } from '../../core/purl.ts'
import type { Found } from '../reader.ts'

/** One entry of a bill of materials. Empty texts where it does not say them. */
export interface Named {
  readonly purl: string
  readonly group: string
  readonly name: string
  readonly version: string
  /** The bill says that it was needed for building or testing, and is not in the thing. */
  readonly isExcluded: boolean
}

// where it came from, not what it is
const ORIGINS: ReadonlySet<string> = new Set(['download_url', 'vcs_url', 'file_name', 'checksum'])

const NOT_SHIPPED = 'The bill of materials says that it is not shipped.'

/**
 * A bill is believed for what it names, not for being complete. A package URL of a local file is the project itself;
 * without one, name and version are listed as generic.
 * @param rule  which kind of bill it is
 */
export function namedFound({ purl, group, name, version, isExcluded }: Named, rule: string): Found[] {
  const parsed = parsePurl(purl)
  if (parsed?.qualifiers?.download_url?.startsWith('file://') === true) return []
  const one = parsed ?? { type: 'generic', name, ...(group === '' ? {} : { namespace: group }) }
  if (one.name === '') return []
  const qualifiers = Object.entries(parsed?.qualifiers ?? {}).filter(([key]) => !ORIGINS.has(key))
  return [
    {
      type: one.type,
      ...(one.namespace === undefined ? {} : { namespace: one.namespace }),
      name: one.name,
      version: parsed?.version ?? (version === '' ? undefined : version),
      ...(qualifiers.length === 0 ? {} : { qualifiers: Object.fromEntries(qualifiers) }),
      presence: isExcluded ? 'declared' : 'shipped',
      rule,
      confidence: 'certain',
      ...(isExcluded ? { unasked: NOT_SHIPPED } : {}),
    },
  ]
}
