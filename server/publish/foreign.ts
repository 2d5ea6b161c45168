import type { Distribution } from '../core/distributions.ts'
import type { Layout } from '../files/layout.ts'
import { getFormat } from '../formats/index.ts'
import { runTool } from '../lib/exec.ts'
import { createRepreproIndexes, type ForeignIndexes } from './reprepro.ts'

/** Who writes the indexes of APT distributions: reprepro where APT_PUBLISHER says so, otherwise nobody but us. */
export function chooseForeign(
  aptPublisher: 'native' | 'reprepro',
  layout: Layout,
): ((distribution: Distribution) => ForeignIndexes | undefined) | undefined {
  if (aptPublisher !== 'reprepro') return undefined
  const made = new Map<Distribution['format'], ForeignIndexes>()
  return ({ family, format }) => {
    const { tree, compareVersions } = getFormat(format)
    if (family !== 'apt' || tree === undefined) return undefined
    const known = made.get(format) ?? createRepreproIndexes({ layout, exec: runTool, compareVersions, writer: tree })
    made.set(format, known)
    return known
  }
}
