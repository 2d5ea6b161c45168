import { Value } from '@sinclair/typebox/value'
import type { ReleaseView } from '../../../server/machine/protocol.ts'
import { findText, type Ports } from '../ports.ts'
import { isSignedBy, releaseOf, SIGNED, SignedManifest, UpdateManifest } from '../update/manifest.ts'
import { listReleases, RELEASES } from '../update/work.ts'
import { bad, unknown, warning, type Finding } from './finding.ts'

/** In an image: the name of the release that it was made with, which is as good as the image itself. */
const IMAGE = '/usr/share/gatehouse/image'

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function judge({ name, version }: ReleaseView, text: string | undefined, keys: readonly string[]): Finding[] {
  const what = 'Releases'
  if (text === undefined)
    return [
      warning(
        what,
        `Nobody verified a signature of ${version} (${name}): provision.sh laid it.`,
        'Compare the SHA-256 of its bundle with what its vendor says, or install it as a signed update.',
      ),
    ]
  if (keys.length === 0)
    return [
      unknown(
        what,
        `The signature of ${version} (${name}) cannot be verified again: no release here has the key of a vendor.`,
        'Install a signed update.',
      ),
    ]
  const signed = parsed(text)
  if (Value.Check(SignedManifest, signed)) {
    const manifest = parsed(signed.manifest)
    const isOfIt =
      Value.Check(UpdateManifest, manifest) &&
      name === releaseOf(manifest) &&
      keys.some(key => isSignedBy(Buffer.from(signed.manifest), signed.signature, key))
    if (isOfIt) return []
  }
  return [
    bad(
      what,
      `The signature that was kept with ${version} (${name}) is not right.`,
      'Install the update again, from the file that its vendor signed.',
    ),
  ]
}

/** Whether each release came with the image, or its signature was verified and still is right. */
export async function lookAtReleases(ports: Ports): Promise<Finding[]> {
  const [releases, image] = await Promise.all([listReleases(ports), findText(ports, IMAGE)])
  if (releases.length === 0)
    return [unknown('Releases', `There is no release in ${RELEASES}.`, 'Run provision.sh again.')]
  const read = (file: string) => Promise.all(releases.map(({ name }) => findText(ports, `${RELEASES}/${name}/${file}`)))
  const [signed, found] = await Promise.all([read(SIGNED), read('release-key.pub')])
  const keys = found.filter(key => key !== undefined)
  return releases.flatMap((release, n) => (release.name === image?.trim() ? [] : judge(release, signed[n], keys)))
}
