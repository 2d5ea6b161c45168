import { dirname, join } from 'node:path'
import { CARRIED, type ListedFile } from '../formats/tree.ts'
import type { FileStep } from '../lib/file-steps.ts'
import type { GenerationDeps, Plan } from './generation-plan.ts'
import { isFile } from './shared-files.ts'

interface Written {
  readonly root: string
  readonly files: readonly ListedFile[]
  /** Root files linked from the live generation. */
  readonly carried: ReadonlySet<string>
}

/** Reads files of a tree. */
const readIn =
  (joiner: GenerationDeps['joiner'], root: string) =>
  async (path: string): Promise<Buffer> => {
    const [bytes] = await joiner.read([join(root, path)])
    if (bytes === undefined) throw new Error(`${path} was not read`)
    return bytes
  }

/** Writes the root files; links those whose files did not change. @returns the linked ones */
export async function writeRoot(
  { layout, writer, joiner }: GenerationDeps,
  { distribution, signer, signedBy, at, live, words }: Plan,
  { root, files }: Pick<Written, 'root' | 'files'>,
): Promise<ReadonlySet<string>> {
  const before = new Set(live?.files.map(file => `${file.path} ${file.sha256}`))
  // added and removed files both change the set of names and digests
  const gone = new Set(before)
  for (const file of files) gone.delete(`${file.path} ${file.sha256}`)
  const isSame = (some: readonly ListedFile[]): boolean =>
    live?.signed_by === signedBy &&
    some.length > 0 &&
    some.every(file => before.has(`${file.path} ${file.sha256}`)) &&
    ![...gone].some(one => some.some(file => dirname(one) === dirname(file.path)))
  const lay = async (mayCarry: typeof isSame): Promise<ReadonlySet<string>> => {
    const carried = new Set<string>()
    const steps: FileStep[] = []
    const made = { signer, at, words, isSame: mayCarry, read: readIn(joiner, root) }
    for (const [path, bytes] of await writer.root(files, distribution, made)) {
      const to = join(root, path)
      if (bytes === CARRIED) {
        steps.push({ do: 'link', from: join(layout.generation(distribution.codename, live?.n ?? 0), path), to })
        carried.add(path)
      } else steps.push({ do: 'write', path: to, bytes })
    }
    await joiner.take(steps)
    return carried
  }
  try {
    return await lay(isSame)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return lay(() => false) // the live generation has lost its root
  }
}

/**
 * Checks the folder before clients see it: every listed file is complete, and the root is signed by the active keys.
 */
export async function verifyTree(
  { writer, joiner }: GenerationDeps,
  { signer, distribution }: Plan,
  { root, files, carried }: Written,
): Promise<void> {
  await joiner.take(files.filter(isFile).map(({ path, size }) => ({ do: 'expect', path: join(root, path), size })))
  if (!(await writer.verifyRoot(readIn(joiner, root), signer, distribution, carried)))
    throw new Error('the signatures of the new tree do not verify')
}
