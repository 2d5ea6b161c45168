import type { Format } from '../../server/formats/format.ts'

/** The order of two versions as a sign: by the comparison, and by the keys that the database sorts by. */
export interface VersionOrder {
  sign(a: string, b: string): number
  byKey(a: string, b: string): number
}

export function orderOf({ compareVersions, versionKey }: Pick<Format, 'compareVersions' | 'versionKey'>): VersionOrder {
  return {
    sign: (a, b) => Math.sign(compareVersions(a, b)),
    // byte order, as PostgreSQL has it under `collate "C"`
    byKey: (a, b) => Math.sign(Buffer.compare(Buffer.from(versionKey(a)), Buffer.from(versionKey(b)))),
  }
}

/**
 * The pairs that comparison and key order differently: a hundred for each version.
 * @param endings  single characters; a third of the pairs differ in the last one only
 */
export function wrongPairs(versions: readonly string[], endings: string, { sign, byKey }: VersionOrder): string[] {
  const wrong: string[] = []
  for (let i = 0; i < versions.length; i++) {
    for (let j = i; j < i + 100; j++) {
      const a = versions[i] ?? ''
      const b = j % 3 === 0 ? `${a.slice(0, -1)}${endings[j % 6] ?? ''}` : (versions[j % versions.length] ?? '')
      if (sign(a, b) !== byKey(a, b)) wrong.push(`${a} ${b}`)
    }
  }
  return wrong
}

/** The rows of a table of pairs and their order that comparison or key order differently. */
export const wrongRows = (rows: readonly (readonly string[])[], { sign, byKey }: VersionOrder): readonly unknown[] =>
  rows.filter(([a = '', b = '', expected]) => sign(a, b) !== Number(expected) || byKey(a, b) !== Number(expected))
