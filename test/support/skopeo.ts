import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256, type BuiltImage } from './oci-images.ts'
import { lacking, run } from './tools.ts'

export const noSkopeo = lacking('skopeo').length > 0

/**
 * The image as a folder that clients read. Source: OCI image specification 1.1, "Image Layout".
 * @param within  the images of an index
 */
export async function layoutOf(work: string, image: BuiltImage, within: readonly BuiltImage[] = []): Promise<string> {
  const { manifest, digest, mediaType } = image
  // podman makes the name of an image of it, which has no capital letters
  const folder = join(work, `layout-${randomUUID()}`)
  await mkdir(join(folder, 'blobs/sha256'), { recursive: true })
  for (const blob of [image, ...within].flatMap(({ manifest, config, layers }) => [manifest, config, ...layers]))
    await writeFile(join(folder, 'blobs/sha256', sha256(blob).slice('sha256:'.length)), blob)
  await writeFile(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}')
  const descriptor = { mediaType, digest, size: manifest.length }
  await writeFile(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [descriptor] }))
  return folder
}

/** What it wrote, in both ways. */
export const said = ({ out, err }: { readonly out: string; readonly err: string }): string => `${out}${err}`

/** skopeo as people run it against one server over plain HTTP. @param work  a folder that the test removes */
export function createSkopeo(work: () => string, url: () => string) {
  const at = (name: string): string => `docker://${new URL(url()).host}/${name}`
  const skopeo = (...args: readonly string[]) => run('skopeo', [...args], { cwd: work() })
  return {
    /** `docker://host/ours/app:v1` */
    at,
    skopeo,
    push: async (image: BuiltImage, name: string, creds: string) =>
      skopeo(
        'copy',
        '--dest-tls-verify=false',
        '--dest-creds',
        creds,
        `oci:${await layoutOf(work(), image)}`,
        at(name),
      ),
    /** Undefined for the manifest where it failed. */
    async pull(name: string, ...more: readonly string[]) {
      const folder = await mkdtemp(join(work(), 'pulled-'))
      const done = await skopeo('copy', '--src-tls-verify=false', ...more, at(name), `dir:${folder}`)
      return { ...done, manifest: done.code === 0 ? await readFile(join(folder, 'manifest.json')) : undefined }
    },
  }
}
