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

/** Rules that only read names: what the data say for certain takes their place. */
const BY_NAMES: ReadonlySet<string> = new Set(['module-name', 'bundle-name', 'manifest-title', 'file-name'])

/**
 * Names jars without a pom of their own with the data that are loaded now: by their SHA-1, else by artifactIds that
 * have advisories. What is kept of a package is the same whatever is loaded.
 */
export function nameJars(contents: Contents, names: JavaNames): Contents {
  const again = new Map<string, Component[]>()
  for (const { jar, path, cleared } of contents.components) {
    const found = jar === undefined ? [] : lookUp(jar, names)
    const about = cleared === undefined ? {} : { cleared }
    if (found.length > 0)
      again.set(
        path,
        found.map(one => ({ ...componentAt(one, path), ...about })),
      )
  }
  const others = contents.components
    .filter(({ path, rule }) => !again.has(path) || !BY_NAMES.has(rule))
    .map(({ jar: _, ...component }) => component)
  return { ...contents, components: sortComponents([...others, ...[...again.values()].flat()]) }
}

/** Whether something in it depends on the data. */
export const hasUnnamedJars = ({ components }: Contents): boolean => components.some(({ jar }) => jar !== undefined)
