import { relPath } from '../../core/identity.ts'
import { compareSemver, semverKey } from '../../core/versions/semver.ts'
import type { Format } from '../format.ts'
import { npmClient } from './client.ts'
import { marking, type NpmFacts } from './facts.ts'
import { npmFetches } from './fetches.ts'
import { inner } from './inner.ts'
import { inspect } from './inspect.ts'
import { complain, complainNew, splitName, tarballName } from './name.ts'
import { satisfies } from './relation.ts'
import { complainTag } from './tag.ts'
import { isGzip } from './tarball.ts'

/** Packages of npm, as `npm pack` writes them. */
export const npm: Format<NpmFacts> = {
  id: 'npm',
  label: 'npm package (.tgz)',
  word: 'npm',
  endings: ['.tgz'],
  recognises: isGzip,
  inspect,
  inner,
  compareVersions: compareSemver,
  versionKey: semverKey,
  satisfies,
  isPreRelease: version => version.includes('-'),
  poolName: (identity, _source, component) => relPath(`${component}/${identity.name}/-/${tarballName(identity)}`),
  archs: { usual: [], neutral: ['any'], known: [] },
  declaresLicence: () => true,
  hasComponents: false,
  // Source: package-url/purl-spec, npm-definition
  purl({ name, version }) {
    const [scope, base] = splitName(name)
    const namespace = scope === undefined ? '' : `${encodeURIComponent(scope)}/`
    return `pkg:npm/${namespace}${encodeURIComponent(base)}@${encodeURIComponent(version)}`
  },
  installCommand: ({ name, version }, { manager = 'npm' } = {}) =>
    manager === 'npm' ? `npm install ${name}@${version}` : `${manager} add ${name}@${version}`,
  complain,
  complainNew,
  complainTag,
  marking,
  registryClient: npmClient,
  fetches: npmFetches,
}
