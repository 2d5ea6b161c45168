import { parsePurl } from '../core/purl.ts'
import type { EmbeddedPackage } from '../scanners/scanner.ts'
import type { Component } from './component.ts'

/** The ecosystem of advisories for each type of package URL, and how advisories spell names in it. */
const ECOSYSTEMS: Readonly<
  Record<string, { readonly ecosystem: string; readonly joined: string; readonly version?: (text: string) => string }>
> = {
  npm: { ecosystem: 'npm', joined: '/' },
  pypi: { ecosystem: 'pypi', joined: '/' },
  maven: { ecosystem: 'maven', joined: ':' },
  golang: { ecosystem: 'go', joined: '/', version: text => text.replace(/^v/, '').replace(/\+incompatible$/, '') },
  cargo: { ecosystem: 'crates', joined: '/' },
}

/**
 * The libraries that advisories can be asked about. Leaves out what the distribution packaged itself: its own
 * advisories cover that, with versions that have its fixes in them.
 */
export function embeddedOf(components: readonly Component[]): EmbeddedPackage[] {
  return components.flatMap(component => {
    const purl = parsePurl(component.purl)
    const known = ECOSYSTEMS[purl?.type ?? '']
    if (component.packaged === true || purl === undefined || known === undefined) return []
    const { ecosystem, joined, version = text => text } = known
    return [
      {
        ecosystem,
        name: purl.namespace === undefined ? purl.name : `${purl.namespace}${joined}${purl.name}`,
        version: version(component.version),
      },
    ]
  })
}

/** Whether a finding was matched with this component. */
export function isMatchedBy(component: Component, matched: EmbeddedPackage): boolean {
  return embeddedOf([component]).some(
    ({ ecosystem, name, version }) =>
      ecosystem === matched.ecosystem && name === matched.name && version === matched.version,
  )
}
