import { readFile } from 'node:fs/promises'
import { isServed } from '../../core/manifest.ts'
import { fieldsOf } from '../../lib/fields.ts'
import type { RegistryDeps } from '../deps.ts'
import type { RegistryAnswer, RegistryRequest } from '../protocol.ts'
import { refOf } from '../refs.ts'
import { json, refused } from './answers.ts'

/** The type of the statement in a bundle: what kind of provenance it is. */
function typeOf(bundle: unknown): unknown {
  const payload = fieldsOf(fieldsOf(bundle)['dsseEnvelope'])['payload']
  if (typeof payload !== 'string') return undefined
  try {
    return fieldsOf(JSON.parse(Buffer.from(payload, 'base64').toString()) as unknown)['predicateType']
  } catch {
    return undefined
  }
}

/** The provenance that a version was published with, as it came: `@s/n@1.0.0`. It is kept, and not verified here. */
export async function attestations(
  { catalog, layout }: Pick<RegistryDeps, 'catalog' | 'layout'>,
  asked: Pick<RegistryRequest, 'registry'>,
  wanted: string,
): Promise<RegistryAnswer> {
  const at = wanted.lastIndexOf('@')
  const [name, version] = [wanted.slice(0, at), wanted.slice(at + 1)]
  const found = at < 1 ? undefined : await catalog.findKnown(refOf(asked, name, version))
  const kept =
    found !== undefined && isServed(found.state)
      ? found.files.find(({ path }) => path.endsWith('.sigstore'))
      : undefined
  if (kept === undefined)
    return refused(404, `There is no provenance of ${wanted.slice(0, 300)} in the registry ${asked.registry.codename}.`)
  const bundle: unknown = JSON.parse(await readFile(layout.blob(kept.blob.sha256), 'utf8'))
  return json({ attestations: [{ predicateType: typeOf(bundle), bundle }] })
}
