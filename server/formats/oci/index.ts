import { relPath } from '../../core/identity.ts'
import { compareTexts } from '../../core/versions/numerals.ts'
import type { Format } from '../format.ts'
import { ociClient } from './client.ts'
import type { OciFacts } from './facts.ts'
import { ociFetches } from './fetches.ts'
import { inner, inspect } from './inspect.ts'
import { complain } from './names.ts'
import { ociSigning } from './signing.ts'

/**
 * Container images and other OCI artifacts: a manifest and the blobs that it names. Its version is the manifest's
 * digest, so one is neither newer nor older than another; tags say which is meant.
 */
export const oci: Format<OciFacts> = {
  id: 'oci',
  label: 'OCI image or artifact',
  word: 'oci',
  endings: [],
  // a manifest comes by the protocol of registries alone: any JSON could be one
  recognises: () => false,
  inspect,
  inner,
  compareVersions: compareTexts,
  versionKey: version => version,
  partsOf: ({ manifests }) => [...new Set(manifests.map(({ digest }) => digest))],
  satisfies(have, { name, op, version }) {
    if (have.name !== name) return false
    if (op === undefined || version === undefined) return true
    const order = compareTexts(have.version ?? '', version)
    return { '<': order < 0, '<=': order <= 0, '=': order === 0, '>=': order >= 0, '>': order > 0 }[op]
  },
  poolName: ({ name, version }, _source, component) =>
    relPath(`${component}/${name}/${version.replace(':', '-')}.json`),
  archs: { usual: [], neutral: [], known: [] },
  declaresLicence: ({ kind }) => kind === 'image',
  hasComponents: false,
  // Source: purl specification, type "oci": the name is the last segment of the repository
  purl({ name, version, arch }, { codename }) {
    const last = name.slice(name.lastIndexOf('/') + 1)
    const [, architecture] = arch.split('/')
    const where = encodeURIComponent(`${codename}/${name}`)
    return `pkg:oci/${last}@${encodeURIComponent(version)}?${architecture === undefined ? '' : `arch=${architecture}&`}repository_url=${where}`
  },
  // its clients take names that begin with the place of the registry
  installCommand: ({ name, version }, { place } = {}) =>
    `docker pull ${place === undefined ? '' : `${place}/`}${name}@${version}`,
  complain,
  signing: ociSigning,
  registryClient: ociClient,
  fetches: ociFetches,
}
