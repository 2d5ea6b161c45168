import { mkdir, mkdtemp, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** A folder, and the environment variable that names it. */
interface Root {
  readonly root: string
  readonly variable: string
}

type Fault = Error & { readonly code?: string }

const WHO = (): string => (process.getuid === undefined ? 'this user' : `the user with uid ${process.getuid()}`)

function saying({ root, variable }: Root, path: string, error: Fault): Error {
  const { code = error.message } = error
  const why =
    code === 'ENOTDIR' || code === 'EEXIST'
      ? `${path} is no folder. Remove what is there, or set ${variable} to a folder.`
      : code === 'ENOSPC' || code === 'EDQUOT'
        ? `there is no room left at ${path}. Free some, or set ${variable} to another disk.`
        : code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
          ? `${WHO()} may not write to ${path} (${code}). Give the folder to that user, or set ${variable} to one that can be written to.`
          : `${path} cannot be made (${code}). Set ${variable} to a folder on a disk of this machine.`
  return new Error(`${variable}=${root}: ${why}`, { cause: error })
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    found => found.isDirectory(),
    () => false,
  )

/**
 * Makes one level after another: the recursive `mkdir` of Node never ends where a parent exists but refuses with
 * ENOENT, as `/proc` does.
 */
async function makeFolder(root: Root, path: string): Promise<void> {
  if (await isFolder(path)) return
  const parent = dirname(path)
  if (parent !== path) await makeFolder(root, parent)
  await mkdir(path).catch(async (error: Fault) => {
    if (!(await isFolder(path))) throw saying(root, path, error) // another start may have made it
  })
}

/**
 * Creates REPOS_ROOT, or the folder of another variable, if it is missing and checks that it can be written to.
 * @throws one sentence that names the folder, what is wrong with it, and the way out
 */
export async function openRoot(root: string, variable = 'REPOS_ROOT'): Promise<void> {
  await makeFolder({ root, variable }, root)
  try {
    await rmdir(await mkdtemp(join(root, '.try-')))
  } catch (error) {
    throw saying({ root, variable }, root, error as Fault)
  }
}
