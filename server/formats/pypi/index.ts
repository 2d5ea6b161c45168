import { relPath } from '../../core/identity.ts'
import { printPurl } from '../../core/purl.ts'
import { comparePep440, isPrePep440, pep440Key } from '../../core/versions/pep440.ts'
import type { Format } from '../format.ts'
import { pypiClient } from './client.ts'
import { marking, type PypiFacts } from './facts.ts'
import { pypiFetches } from './fetches.ts'
import { inner } from './inner.ts'
import { inspect } from './inspect.ts'
import { complainName, complainVersion, fileNameOf, normalName, normalVersion, readFileName } from './names.ts'
import { satisfies } from './requirement.ts'

/** Python packages: wheels and source releases. */
export const pypi: Format<PypiFacts> = {
  id: 'pypi',
  label: 'Python package (.whl, .tar.gz)',
  word: 'pypi',
  endings: ['.whl', '.tar.gz'],
  // a zip begins with a member, a gzip with its method: what these hold, their names say
  recognises: head =>
    head.length >= 30 &&
    ((head[0] === 0x50 && head[1] === 0x4b && head[2] === 3 && head[3] === 4) ||
      (head[0] === 0x1f && head[1] === 0x8b && head[2] === 8)),
  inspect,
  inner,
  compareVersions: comparePep440,
  versionKey: pep440Key,
  isPreRelease: isPrePep440,
  satisfies,
  poolName: (identity, _source, component) =>
    relPath(`${component}/${identity.name.slice(0, 1)}/${identity.name}/${fileNameOf(identity)}`),
  archs: { usual: [], neutral: [], known: [] },
  declaresLicence: () => true,
  hasComponents: false,
  purl: ({ name, version, arch }) =>
    printPurl({ type: 'pypi', name, version, qualifiers: { file_name: fileNameOf({ name, version, arch }) } }),
  installCommand: ({ name, version }) => `pip install ${name}==${version}`,
  registryClient: pypiClient,
  fetches: pypiFetches,
  marking,
  complain({ name, version, arch }) {
    const why = complainName(name) ?? complainVersion(version)
    if (why !== undefined) return why
    if (name !== normalName(name)) return `its name ${JSON.stringify(name)} is not normalised (PEP 503)`
    if (version !== normalVersion(version)) return `its version ${JSON.stringify(version)} is not normalised (PEP 440)`
    if (readFileName(fileNameOf({ name, version, arch }))?.arch === arch) return undefined
    return `${JSON.stringify(arch.slice(0, 80))} is no tag of a wheel (python-abi-platform), and not sdist`
  },
}
