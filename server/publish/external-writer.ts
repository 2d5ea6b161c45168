import type { Distribution, Repositories } from '../core/repository.ts'
import type { Layout } from '../files/layout.ts'
import { getFormat } from '../formats/index.ts'
import { runTool } from '../lib/exec.ts'
import { createRepreproIndexes, type ForeignIndexes } from './reprepro.ts'

/** The external writer of APT indexes: reprepro if APT_PUBLISHER says so, else none. */
export function chooseExternalWriter(
  aptPublisher: 'native' | 'reprepro',
  { layout, repositories }: { readonly layout: Layout; readonly repositories: Pick<Repositories, 'all'> },
): { readonly foreign?: (distribution: Distribution) => ForeignIndexes | undefined } {
  if (aptPublisher !== 'reprepro') return {}
  const made = new Map<Distribution['format'], ForeignIndexes>()
  const foreign = ({ format }: Distribution): ForeignIndexes | undefined => {
    const { tree, site, compareVersions } = getFormat(format)
    // reprepro's pool lies in this folder
    if (site?.folder !== 'apt' || tree === undefined) return undefined
    const known =
      made.get(format) ?? createRepreproIndexes({ layout, repositories, exec: runTool, compareVersions, writer: tree })
    made.set(format, known)
    return known
  }
  return { foreign }
}
