import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** A package of a tree: its control data, and where its file lies. */
export interface TreePackage {
  readonly path: string
  readonly bytes: Buffer
  readonly control: string
}

/** Which part of a tree an index is of. */
export interface TreePart {
  readonly suite?: string
  readonly component?: string
  readonly arch?: string
}

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')

/** Writes the index of one component, as aptly and reprepro lay it out, without a signature. */
export async function writeAptIndex(
  root: string,
  packages: readonly Pick<TreePackage, 'path' | 'bytes' | 'control'>[],
  { suite = 'jammy', component = 'main', arch = 'amd64' }: TreePart = {},
): Promise<void> {
  const text = packages
    .map(
      ({ path, bytes, control }) =>
        `${control.trimEnd()}\nFilename: ${path}\nSize: ${bytes.length}\nSHA256: ${sha256(bytes)}\n`,
    )
    .join('\n')
  const index = `${component}/binary-${arch}/Packages`
  const folder = join(root, 'dists', suite)
  await mkdir(join(folder, dirname(index)), { recursive: true })
  await writeFile(join(folder, index), text)
  await writeFile(
    join(folder, 'Release'),
    `Suite: ${suite}\nCodename: ${suite}\nDate: Mon, 02 Nov 2026 10:00:00 UTC\nArchitectures: ${arch}\nComponents: ${component}\nSHA256:\n ${sha256(text)} ${Buffer.byteLength(text)} ${index}\n`,
  )
}

/** Writes an APT tree: the files, and their index. */
export async function writeAptTree(root: string, packages: readonly TreePackage[], part: TreePart = {}): Promise<void> {
  for (const { path, bytes } of packages) {
    await mkdir(join(root, dirname(path)), { recursive: true })
    await writeFile(join(root, path), bytes)
  }
  await writeAptIndex(root, packages, part)
}

/** `pool/main/h/hello/hello_1.0_amd64.deb` */
export const poolPath = (file: string, name: string): string =>
  `pool/main/${name.slice(0, 1)}/${name}/${basename(file)}`
