import { parsePurl } from '../../core/purl.ts'
import type { EmbeddedPackage } from '../../scanners/scanner.ts'
import type { Component } from '../component.ts'
import { isPackagedPlace } from '../places.ts'
import { inLayer, OS_RELEASE } from './readers.ts'

/** Where a system's packages put what they bring. */
const SYSTEM = /^(?:usr\/)?(?:lib(?:32|64|exec)?|s?bin|share)\//

const isOfSystem = ({ rule }: Component): boolean => rule === 'dpkg-status' || rule === 'apk-installed'

/** The ecosystem of an image's system: `debian-12`, `alpine-3.20`; `unknown system` where no file says it. */
function ecosystemIn(components: readonly Component[]): string {
  const os = components.find(({ rule }) => rule === OS_RELEASE)
  if (os?.version === undefined) return 'unknown system'
  const version = os.name === 'alpine' ? os.version.replace(/^(\d+\.\d+).*$/, '$1') : os.version
  return `${os.name}-${version}`
}

/**
 * The packages of an image's system as advisories are asked about them; undefined for a component that is none. They
 * come by their sources, as those of distributions.
 */
export function systemPackages(
  components: readonly Component[],
): (component: Component) => EmbeddedPackage | undefined {
  const ecosystem = components.some(isOfSystem) ? ecosystemIn(components) : ''
  return component => {
    if (!isOfSystem(component) || component.version === undefined) return undefined
    const { arch, upstream = '' } = parsePurl(component.purl)?.qualifiers ?? {}
    const [, name, version] = /^(.+)@([^@]+)$/.exec(upstream) ?? []
    return {
      ecosystem,
      name: component.name,
      version: component.version,
      ...(arch === undefined ? {} : { arch }),
      ...(name === undefined || version === undefined ? {} : { source: { name, version } }),
    }
  }
}

/**
 * Whether a component in a layer came with a package of the system, whose advisories speak of it with versions that
 * have its fixes in them: native code in its folders, and what Debian puts where only its packages do.
 */
export function isSystems(components: readonly Component[]): (component: Component) => boolean {
  const isDebian = components.some(({ rule }) => rule === 'dpkg-status')
  const hasSystem = components.some(isOfSystem)
  return ({ path, purl }) => {
    const place = inLayer(path)
    if (place === undefined || !hasSystem) return false
    if (purl.startsWith('pkg:generic/')) return SYSTEM.test(place)
    return isDebian && isPackagedPlace(place) && !place.includes('/site-packages/')
  }
}
