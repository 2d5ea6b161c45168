import type { Queryable } from '../db/db.ts'
import { parsePurl } from '../core/purl.ts'
import type { PackageRef } from '../core/identity.ts'
import type { EmbeddedPackage } from '../scanners/scanner.ts'
import type { Component } from './component.ts'
import { CANDIDATE_LINES } from './lockfiles.ts'

/** Ecosystems of advisories, by the type of a package URL, with the names that advisories use in them. */
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
 * What advisories can be asked about. What the distribution packaged itself is left out: its own advisories speak of
 * that, with versions that have its fixes in them.
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

/** Whether a component is what a finding was matched with. */
export function isMatchedBy(component: Component, matched: EmbeddedPackage): boolean {
  return embeddedOf([component]).some(
    ({ ecosystem, name, version }) =>
      ecosystem === matched.ecosystem && name === matched.name && version === matched.version,
  )
}

/** Whether any path of a package may name components. */
export async function mayCarry(db: Queryable, { format, codename, name, version, arch }: PackageRef): Promise<boolean> {
  const row = await db.first<{ carries: boolean }>(
    `
    select paths ~ $6 as carries from package where format = $1 and codename = $2 and name = $3 and version = $4 and arch = $5`,
    [format, codename, name, version, arch, CANDIDATE_LINES],
  )
  return row?.carries ?? false
}
