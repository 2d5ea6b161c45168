import { componentAt, sortComponents, type Component, type Contents } from '../component.ts'
import type { Found } from '../reader.ts'
import { candidatesAgain } from './candidates.ts'
import type { JarEvidence, JavaNames } from './coordinates.ts'
import { foundBy, maven } from './identify.ts'

function lookUp(evidence: JarEvidence, names: JavaNames): Found[] {
  const releases = evidence.sha1 === undefined ? [] : names.releasesOf(evidence.sha1)
  if (releases.length === 0)
    return foundBy(candidatesAgain(evidence, names), { ...evidence, manifest: new Map(evidence.manifest) })
  return releases.map(one => ({
    ...maven(one),
    version: one.version,
    presence: 'shipped',
    rule: 'sha1',
    confidence: 'certain',
  }))
}

/**
 * Names jars that do not say for certain what they are with the data that are loaded now: by their SHA-1, else by
 * artifactIds that have advisories. What is kept of a package is the same whatever is loaded.
 */
export function nameJars(contents: Contents, names: JavaNames): Contents {
  const components = contents.components.flatMap(({ jar, ...component }): Component[] => {
    if (jar === undefined) return [component]
    const found = lookUp(jar, names)
    return found.length === 0 ? [component] : found.map(one => componentAt(one, component.path))
  })
  return { ...contents, components: sortComponents(components) }
}

/** Whether something in it depends on the data. */
export const hasUnnamedJars = ({ components }: Contents): boolean => components.some(({ jar }) => jar !== undefined)
